// SPDX-License-Identifier: Apache-2.0
// Reading a file that should hold JSON.
#include "trnsim/report/json_text.hpp"

#include "trnsim/base/error.hpp"
#include "trnsim/base/units.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

namespace trnsim::report {
namespace {

constexpr std::size_t kChunk = 64 * kKib;
constexpr std::size_t kMostOfStreams = 256 * kKib * kKib;

/// How much of it there may be.
std::size_t most_bytes(const std::string& path) {
    std::error_code unknown;
    return std::filesystem::is_regular_file(path, unknown) ? std::numeric_limits<std::size_t>::max()
                                                           : kMostOfStreams;
}

}  // namespace

std::string read_json_text(const std::string& path, std::string_view advice) {
    std::ifstream file(path, std::ios::binary);
    const std::size_t most = most_bytes(path);
    std::string text;
    std::size_t begin = std::string::npos;
    while (file) {
        const std::size_t size = text.size();
        text.resize(size + kChunk);
        file.read(text.data() + size, static_cast<std::streamsize>(kChunk));
        text.resize(size + static_cast<std::size_t>(file.gcount()));
        begin = begin == std::string::npos ? text.find_first_not_of(" \t\r\n", size) : begin;
        if (begin != std::string::npos && text[begin] != '{' && text[begin] != '[') {
            throw UserError(
                fmt::format("{}: no JSON from byte {} on; {}", path, begin + 1, advice));
        }
        if (text.size() > most) {
            throw UserError(fmt::format("{}: a stream of more than 256 MiB; {}", path, advice));
        }
    }
    if (!file.eof()) {
        throw UserError(fmt::format("{}: the file cannot be read: {}; {}",
                                    path,
                                    std::generic_category().message(errno),
                                    advice));
    }
    return text;
}

}  // namespace trnsim::report
