// SPDX-License-Identifier: Apache-2.0
// A file that appears under its name complete, or not at all.
#include "atomic_file.hpp"

#include "trnsim/base/error.hpp"
#include "trnsim/base/replaced_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trnsim::timeline {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr mode_t kReadableByAll = 0666;  // Before the umask.

}  // namespace

AtomicFile::AtomicFile(const std::string& path)
    : path_(link_target(path)), partial_path_(partial_path(path)) {
    buffer_.reserve(kBufferBytes);
    const std::optional<mode_t> kept = permissions_of(path_);
    descriptor_ = ::open(partial_path_.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                         kept.value_or(kReadableByAll));
    if (descriptor_ < 0) {
        report(errno, "the file cannot be created");
    }
    if (kept) {
        ::fchmod(descriptor_, *kept);  // The umask took some.
    }
}

AtomicFile::~AtomicFile() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
        ::unlink(partial_path_.c_str());
    }
}

std::string AtomicFile::partial_path(const std::string& path) {
    return fmt::format("{}.partial-{}", link_target(path), ::getpid());
}

void AtomicFile::write(std::string_view bytes) {
    if (buffer_.size() + bytes.size() > kBufferBytes) {
        flush();
    }
    buffer_.append(bytes);
}

void AtomicFile::commit() {
    flush();
    if (::rename(partial_path_.c_str(), path_.c_str()) != 0) {
        report(errno, "the finished file cannot get its name");
    }
    const int descriptor = std::exchange(descriptor_, -1);
    if (::close(descriptor) != 0) {
        report(errno, "the file cannot be closed");
    }
}

void AtomicFile::flush() {
    std::string_view rest = buffer_;
    while (!rest.empty()) {
        const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
        if (written < 0) {
            if (errno == EINTR) {
                continue;
            }
            report(errno, fmt::format("writing stopped after {} bytes", flushed_bytes_));
        }
        flushed_bytes_ += written;
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    buffer_.clear();
}

void AtomicFile::report(int error, std::string_view what) const {
    throw UserError(
        fmt::format("{}: {}: {}; name a file in a folder that can be written and has room",
                    path_,
                    what,
                    std::generic_category().message(error)));
}

}  // namespace trnsim::timeline
