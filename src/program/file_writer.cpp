// SPDX-License-Identifier: Apache-2.0
// Writing a trace to a file: whole or not at all.
#include "trnsim/base/error.hpp"
#include "trnsim/base/replaced_file.hpp"
#include "trnsim/program/writer.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <streambuf>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace trnsim::program {
namespace {

namespace fs = std::filesystem;

/// The default level makes files half as large again, the highest takes forty times as long.
/// [ASSUMED]
constexpr int kCompressionLevel = 12;

/// 512 KiB, which every reader sets aside: few traces are longer. The level's own 4 MiB make files
/// no smaller and take 0.15 ms more to read. [ASSUMED]
constexpr int kWindowLog = 19;

/// A stream buffer that compresses what it is given into another stream, as one zstd frame.
class ZstdBuffer : public std::streambuf {
public:
    explicit ZstdBuffer(std::ostream& target)
        : target_(target), compressor_(ZSTD_createCStream()), packed_(ZSTD_CStreamOutSize()) {
        if (compressor_ == nullptr) {
            throw std::bad_alloc();
        }
        ZSTD_CCtx_setParameter(compressor_.get(), ZSTD_c_checksumFlag, 1);
        ZSTD_CCtx_setParameter(compressor_.get(), ZSTD_c_compressionLevel, kCompressionLevel);
        ZSTD_CCtx_setParameter(compressor_.get(), ZSTD_c_windowLog, kWindowLog);
    }

    /// Ends the frame.
    void finish() { compress({}, ZSTD_e_end); }

protected:
    std::streamsize xsputn(const char* text, std::streamsize size) override {
        compress({text, static_cast<std::size_t>(size)}, ZSTD_e_continue);
        return size;
    }

    int_type overflow(int_type character) override {
        if (!traits_type::eq_int_type(character, traits_type::eof())) {
            const char byte = traits_type::to_char_type(character);
            compress({&byte, 1}, ZSTD_e_continue);
        }
        return traits_type::not_eof(character);
    }

private:
    struct FreeStream {
        void operator()(ZSTD_CStream* stream) const { ZSTD_freeCStream(stream); }
    };

    void compress(std::string_view text, ZSTD_EndDirective directive) {
        ZSTD_inBuffer input{text.data(), text.size(), 0};
        std::size_t left = 0;
        do {
            ZSTD_outBuffer output{packed_.data(), packed_.size(), 0};
            left = ZSTD_compressStream2(compressor_.get(), &output, &input, directive);
            if (ZSTD_isError(left) != 0U) {
                throw std::runtime_error(ZSTD_getErrorName(left));
            }
            target_.write(packed_.data(), static_cast<std::streamsize>(output.pos));
        } while (input.pos < input.size || (directive == ZSTD_e_end && left > 0));
    }

    std::ostream& target_;
    std::unique_ptr<ZSTD_CStream, FreeStream> compressor_;
    std::vector<char> packed_;
};

[[noreturn]] void fail(const fs::path& path, const std::error_code& reason) {
    throw UserError(
        fmt::format("{}: cannot be written: {}; check where it goes and that there is room",
                    path.string(),
                    reason.message()));
}

[[noreturn]] void fail(const fs::path& path) {
    fail(path, std::error_code(errno, std::generic_category()));
}

/// `target` is the name for messages.
void write_to(const Program& program,
              const fs::path& path,
              const fs::path& target,
              bool compressed) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    if (!file) {
        fail(target);
    }
    if (compressed) {
        ZstdBuffer buffer(file);
        std::ostream output(&buffer);
        write(program, output);
        buffer.finish();
    } else {
        write(program, file);
    }
    file.close();
    if (!file) {
        fail(target);
    }
}

/// Removes the unfinished file unless it was renamed.
class Unfinished {
public:
    explicit Unfinished(fs::path target) : path_(std::move(target)) {
        path_ += fmt::format(".{}.partial", ::getpid());
    }
    ~Unfinished() {
        std::error_code ignored;
        fs::remove(path_, ignored);
    }
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;

    [[nodiscard]] const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

}  // namespace

void write_file(const Program& program, const std::string& path) {
    if (path == "-") {
        write(program, std::cout);
        std::cout.flush();
        if (!std::cout) {
            fail("standard output");
        }
        return;
    }
    std::error_code reason;
    const fs::path target = link_target(path);
    if (fs::exists(target, reason) && !fs::is_regular_file(target, reason)) {
        write_to(program, target, target, false);  // A pipe or a device cannot be replaced.
        return;
    }
    const Unfinished unfinished(target);
    write_to(program, unfinished.path(), target, true);
    if (const std::optional<mode_t> kept = permissions_of(target)) {
        fs::permissions(unfinished.path(), fs::perms{*kept}, reason);
    }
    fs::rename(unfinished.path(), target, reason);
    if (reason) {
        fail(target, reason);
    }
}

}  // namespace trnsim::program
