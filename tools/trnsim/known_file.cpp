// SPDX-License-Identifier: Apache-2.0
// Tells the files apart that the commands read and write.
#include "known_file.hpp"

#include "trnsim/base/error.hpp"
#include "trnsim/report/instruction_table.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

namespace trnsim::cli {
namespace {

namespace fs = std::filesystem;
using Kind = KnownFile::Kind;

constexpr std::string_view kNoCommand = "no command reads it";

std::optional<KnownFile> known_json(const std::string& name, const std::string& text) {
    switch (report::file_kind(text)) {
        case report::FileKind::Result:
            return KnownFile{
                Kind::Result, "a result of run --json", "trnsim diff compares two of them"};
        case report::FileKind::Calls:
            return KnownFile{Kind::Other,
                             "what run --json wrote of a script's kernel calls",
                             "each \"result\" in it, in a file of its own, is one for trnsim diff"};
        case report::FileKind::Instructions:
            return KnownFile{Kind::Instructions,
                             "a table of run --instructions",
                             "trnsim diff compares two of them, or one with a profile"};
        case report::FileKind::Profile:
            return KnownFile{Kind::Instructions,
                             "a Neuron profile",
                             "trnsim diff compares it with a table of run --instructions"};
        case report::FileKind::Comparison:
            return KnownFile{
                Kind::Other, "what trnsim compare --json wrote", std::string{kNoCommand}};
        case report::FileKind::Difference:
            return KnownFile{Kind::Other, "what trnsim diff --json wrote", std::string{kNoCommand}};
        case report::FileKind::Validation:
            return KnownFile{
                Kind::Other, "what trnsim validate --json wrote", std::string{kNoCommand}};
        case report::FileKind::Description:
            return KnownFile{Kind::Other,
                             "what trnsim describe --json wrote",
                             "trnsim describe --save writes a chip file"};
        case report::FileKind::Chip:
            return KnownFile{Kind::Chip,
                             "a chip file",
                             fmt::format("--chip {} simulates that chip, and trnsim describe {} "
                                         "shows it",
                                         name,
                                         name)};
        case report::FileKind::OtherJson:
        case report::FileKind::NoJson:
            break;
    }
    return std::nullopt;
}

/// By how the file begins: timelines are protocol buffers, traces start with their header.
std::optional<KnownFile> known_contents(const std::string& name) {
    constexpr std::string_view kZstd = "\x28\xB5\x2F\xFD";
    constexpr std::string_view kTrace = R"({"record")";
    constexpr std::string_view kTimeline = "\x0A";
    constexpr std::string_view kSweep = "chip,";
    std::ifstream file(name, std::ios::binary);
    std::string text(kTrace.size(), '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.starts_with(kZstd) || text == kTrace) {
        return KnownFile{Kind::Trace, "a trace", fmt::format("trnsim run {} simulates it", name)};
    }
    if (text.starts_with(kTimeline) && name.ends_with(".pftrace")) {
        return KnownFile{Kind::Other, "a timeline", "open it in https://ui.perfetto.dev"};
    }
    if (text.starts_with(kSweep)) {
        return KnownFile{Kind::Other, "a table of trnsim sweep", std::string{kNoCommand}};
    }
    if (!file) {
        return std::nullopt;
    }
    text.append(std::istreambuf_iterator<char>(file), {});
    return known_json(name, text);
}

/// \throws UserError that tells what a name is, and what is needed
[[noreturn]] void refuse(const std::string& name,
                         const KnownFile& file,
                         std::string_view needed,
                         std::string_view advice) {
    throw UserError(fmt::format("{}: is {}, but {}; {}", name, file.what, needed, advice));
}

}  // namespace

std::optional<KnownFile> known_file(const std::string& name) {
    if (name.find("::") != std::string::npos) {
        return KnownFile{
            Kind::Kernel, "a kernel", fmt::format("trnsim run '{}' simulates it", name)};
    }
    if (name.ends_with(".py")) {
        return KnownFile{Kind::Script,
                         "a Python file",
                         fmt::format("trnsim run {} simulates the kernels that it calls, and {}::"
                                     "function is one of them",
                                     name,
                                     name)};
    }
    std::error_code error;
    if (fs::is_directory(name, error)) {
        return KnownFile{Kind::Other, "a directory", "name a file in it"};
    }
    // A pipe is read once, by whom it is for.
    return fs::is_regular_file(name, error) ? known_contents(name) : std::nullopt;
}

void require_program(const std::string& name) {
    if (const std::size_t colon = name.find(".py:");
        colon != std::string::npos && name.find("::") == std::string::npos) {
        throw UserError(
            fmt::format("{}: is no file, and a kernel is named with two colons; write "
                        "{}::{}",
                        name,
                        name.substr(0, colon + 3),
                        name.substr(colon + 4)));
    }
    const auto file = known_file(name);
    if (file && file->kind != Kind::Kernel && file->kind != Kind::Trace) {
        refuse(name, *file, "a trace or file.py::function is needed", file->use);
    }
}

void require_chip(const std::string& name) {
    if (name.find_first_of("./:") == std::string::npos) {
        return;  // A chip's own name, whatever the folder holds.
    }
    const auto file = known_file(name);
    if (file && file->kind != Kind::Chip) {
        refuse(
            name,
            *file,
            fmt::format("a chip is needed, {} or a chip file", fmt::join(spec::chip_names(), ", ")),
            file->use);
    }
}

void require_comparable(const std::string& name) {
    constexpr std::string_view kNeeded =
        "trnsim diff compares results, tables of instructions and profiles";
    const auto file = known_file(name);
    if (!file || file->kind == Kind::Result || file->kind == Kind::Instructions) {
        return;
    }
    if (file->kind == Kind::Kernel || file->kind == Kind::Trace) {
        refuse(
            name,
            *file,
            kNeeded,
            fmt::format("simulate it with trnsim run '{}' --json FILE, and name that file", name));
    }
    refuse(name, *file, kNeeded, file->use);
}

}  // namespace trnsim::cli
