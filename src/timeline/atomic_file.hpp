// SPDX-License-Identifier: Apache-2.0
// A file that appears under its name complete, or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trnsim::timeline {

/// Collects writes in memory and passes them on in large pieces to "<path>.partial-<pid>", where
/// links lead. Keeps the permissions of the file that it replaces.
class AtomicFile {
public:
    /// \throws UserError if the file cannot be created
    explicit AtomicFile(const std::string& path);
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    /// Removes the partial file unless commit() succeeded.
    ~AtomicFile();

    /// \throws UserError if the disk is full
    void write(std::string_view bytes);

    /// "<path>.partial-<pid>" in the place where links lead.
    [[nodiscard]] static std::string partial_path(const std::string& path);

    /// Renames the partial file to its path. \throws UserError if that is not possible
    void commit();

private:
    void flush();
    [[noreturn]] void report(int error, std::string_view what) const;

    std::string path_;
    std::string partial_path_;
    std::string buffer_;
    std::int64_t flushed_bytes_ = 0;
    int descriptor_ = -1;
};

}  // namespace trnsim::timeline
