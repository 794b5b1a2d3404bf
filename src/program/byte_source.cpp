// SPDX-License-Identifier: Apache-2.0
// Blocks of a stream, decompressed when they are zstd.
#include "byte_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include <zstd_errors.h>

namespace trnsim::program {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{32} << 10;
constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";  ///< RFC 8878, section 3.1.1.

/// First bytes of files that other programs have compressed, and theirs.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOtherMagic{{
    {"\x1F\x8B", "gzip"},  // RFC 1952, section 2.3.1
    {"\xFD"
     "7zXZ",
     "xz"},
    {"BZh", "bzip2"},
}};

/// std::cin takes an error of standard input for its end.
bool is_broken(const std::istream& input) {
    return input.bad() || (input.rdbuf() == std::cin.rdbuf() && std::ferror(stdin) != 0);
}

}  // namespace

ByteSource::ByteSource(std::istream& input, const Place& place)
    : input_(input), place_(place), block_(kBlockBytes) {
    refill();
    const std::string_view first(block_.data(), end_);
    for (const auto& [magic, program] : kOtherMagic) {
        if (first.starts_with(magic)) {
            place_.fail(fmt::format(
                "the file is compressed by {}, but a trace is text or zstd; decompress it",
                program));
        }
    }
    if (first.starts_with(kZstdMagic)) {
        decompressor_.reset(ZSTD_createDStream());
        if (decompressor_ == nullptr) {
            throw std::bad_alloc();
        }
    }
}

std::size_t ByteSource::read(std::span<char> target) {
    return decompressor_ == nullptr ? read_plain(target) : read_zstd(target);
}

void ByteSource::refill() {
    errno = 0;
    input_.read(block_.data(), static_cast<std::streamsize>(block_.size()));
    if (is_broken(input_)) {
        const std::error_code reason(errno, std::generic_category());
        place_.fail(fmt::format("the input cannot be read{}; check the disk or the pipe",
                                reason ? fmt::format(" ({})", reason.message()) : ""));
    }
    begin_ = 0;
    end_ = static_cast<std::size_t>(input_.gcount());
}

std::size_t ByteSource::read_plain(std::span<char> target) {
    std::size_t filled = 0;
    while (filled < target.size()) {
        if (begin_ == end_) {
            refill();
            if (end_ == 0) {
                break;
            }
        }
        const std::size_t taken = std::min(end_ - begin_, target.size() - filled);
        std::copy_n(block_.data() + begin_, taken, target.data() + filled);
        begin_ += taken;
        filled += taken;
    }
    return filled;
}

std::size_t ByteSource::read_zstd(std::span<char> target) {
    ZSTD_outBuffer output{target.data(), target.size(), 0};
    while (output.pos < output.size) {
        if (begin_ == end_) {
            refill();
        }
        ZSTD_inBuffer input{block_.data(), end_, begin_};
        const std::size_t before = output.pos;
        const std::size_t result = ZSTD_decompressStream(decompressor_.get(), &output, &input);
        if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge) {
            place_.fail(
                "the zstd data needs a window of more than 128 MiB to read; compress it "
                "without --long and --ultra");
        }
        if (ZSTD_isError(result) != 0U) {
            place_.fail(fmt::format("the zstd data after this line is damaged ({}); write it again",
                                    ZSTD_getErrorName(result)));
        }
        const bool progress = input.pos > begin_ || output.pos > before;
        begin_ = input.pos;
        if (!progress && end_ == 0) {
            if (mid_frame_) {
                place_.fail(
                    "the zstd data ends within a frame: the file is truncated; write it again");
            }
            break;
        }
        mid_frame_ = result != 0;
    }
    return output.pos;
}

}  // namespace trnsim::program
