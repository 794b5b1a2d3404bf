// SPDX-License-Identifier: Apache-2.0
// A folder that no other test has, not even another process of the same one.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <unistd.h>

namespace trnsim::test {

/// Empty at first; goes with all that is in it.
class OwnFolder {
public:
    OwnFolder() { std::filesystem::create_directories(path_); }
    ~OwnFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    OwnFolder(const OwnFolder&) = delete;
    OwnFolder& operator=(const OwnFolder&) = delete;
    OwnFolder(OwnFolder&&) = delete;
    OwnFolder& operator=(OwnFolder&&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::string operator/(const std::string& name) const {
        return (path_ / name).string();
    }

private:
    std::filesystem::path path_ =
        std::filesystem::path(testing::TempDir()) / ("trnsim_test_" + std::to_string(::getpid()));
};

}  // namespace trnsim::test
