// SPDX-License-Identifier: Apache-2.0
// Where symbolic links lead, and who may read and write there.
#include "trnsim/base/replaced_file.hpp"

#include <filesystem>
#include <system_error>

#include <sys/stat.h>

namespace trnsim {

std::string link_target(const std::string& path) {
    namespace fs = std::filesystem;
    constexpr int kMostLinks = 40;  // As Linux.
    std::error_code error;
    fs::path found = path;
    for (int links = 0; fs::is_symlink(found, error); ++links) {
        if (links == kMostLinks) {
            return path;
        }
        const fs::path next = fs::read_symlink(found, error);
        found = found.parent_path() / next;
    }
    return found.string();
}

std::optional<mode_t> permissions_of(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) {
        return std::nullopt;
    }
    return status.st_mode & 07777U;
}

}  // namespace trnsim
