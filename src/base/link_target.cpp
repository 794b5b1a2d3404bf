// SPDX-License-Identifier: Apache-2.0
// Where symbolic links lead.
#include "trnsim/base/link_target.hpp"

#include <filesystem>
#include <system_error>

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

}  // namespace trnsim
