// SPDX-License-Identifier: Apache-2.0
// Links are followed to the file that they mean, whose permissions can be told.
#include "trnsim/base/replaced_file.hpp"

#include "support/own_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

namespace trnsim {
namespace {

namespace fs = std::filesystem;

class ReplacedFileTest : public testing::Test {
protected:
    void SetUp() override { fs::create_directories(folder_ / "inner"); }

    [[nodiscard]] std::string target(const std::string& name) const {
        return fs::path(link_target(folder_ / name)).lexically_normal().string();
    }

    [[nodiscard]] std::string in_folder(const std::string& name) const { return folder_ / name; }

    const test::OwnFolder folder_;
};

TEST_F(ReplacedFileTest, WhatIsNoLinkIsItself) {
    EXPECT_EQ(target("file"), in_folder("file"));
    EXPECT_EQ(link_target(""), "");
}

TEST_F(ReplacedFileTest, FollowsLinksToWhatIsNotThere) {
    fs::create_symlink("second", folder_ / "first");
    fs::create_symlink("inner/file", folder_ / "second");
    EXPECT_EQ(target("first"), in_folder("inner/file"));
    fs::create_symlink("../file", folder_ / "inner/up");
    EXPECT_EQ(target("inner/up"), in_folder("file"));
    fs::create_symlink("/tmp/elsewhere", folder_ / "away");
    EXPECT_EQ(target("away"), "/tmp/elsewhere");
}

TEST_F(ReplacedFileTest, PermissionsAreThoseOfTheFileThatALinkMeans) {
    std::ofstream(folder_ / "file") << "text";
    fs::permissions(folder_ / "file", fs::perms{0640});
    fs::create_symlink("file", folder_ / "link");
    EXPECT_EQ(permissions_of(folder_ / "link"), mode_t{0640});
    EXPECT_EQ(permissions_of(folder_ / "missing"), std::nullopt);
}

TEST_F(ReplacedFileTest, StaysWhereLinksGoRound) {
    fs::create_symlink("b", folder_ / "a");
    fs::create_symlink("a", folder_ / "b");
    EXPECT_EQ(target("a"), in_folder("a"));
}

}  // namespace
}  // namespace trnsim
