// SPDX-License-Identifier: Apache-2.0
// Whole files come back; what never ends, or is no JSON, is left.
#include "trnsim/report/json_text.hpp"

#include "error_of.hpp"
#include "support/own_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace trnsim::report {
namespace {

using test::error_of;
using testing::StartsWith;

class JsonTextTest : public testing::Test {
protected:
    /// A file with that in it.
    [[nodiscard]] std::string file_with(const std::string& text) const {
        std::string path = folder_ / "text.json";
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }

private:
    test::OwnFolder folder_;
};

TEST_F(JsonTextTest, IsTheWholeFile) {
    const std::string text = " \n{\"a\": \"" + std::string(200'000, 'x') + "\"}\n";
    EXPECT_EQ(read_json_text(file_with(text), ""), text);
    EXPECT_EQ(read_json_text(file_with("[]"), ""), "[]");
    EXPECT_EQ(read_json_text(file_with(""), ""), "");
}

TEST_F(JsonTextTest, EndsWhereNoJsonBegins) {
    const std::string path = file_with(std::string(70'000, ' ') + "no");
    EXPECT_EQ(error_of([&] { (void)read_json_text(path, "give another"); }),
              path + ": no JSON from byte 70001 on; give another");
}

TEST_F(JsonTextTest, OfADeviceIsItsBeginning) {
    EXPECT_EQ(error_of([] { (void)read_json_text("/dev/zero", "give another"); }),
              "/dev/zero: no JSON from byte 1 on; give another");
}

TEST_F(JsonTextTest, NamesAFileThatCannotBeRead) {
    EXPECT_THAT(error_of([] { (void)read_json_text("no/such/file.json", ""); }),
                StartsWith("no/such/file.json: the file cannot be read: No such file"));
    EXPECT_THAT(error_of([] { (void)read_json_text(testing::TempDir(), ""); }),
                testing::HasSubstr("the file cannot be read: Is a directory"));
}

}  // namespace
}  // namespace trnsim::report
