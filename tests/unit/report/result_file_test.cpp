// SPDX-License-Identifier: Apache-2.0
// Files that are no results are told apart with what is wrong with them.
#include "trnsim/report/result_file.hpp"

#include "error_of.hpp"
#include "sample_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace trnsim::report {
namespace {

using test::error_of;
using testing::HasSubstr;
using testing::StartsWith;

ResultFile::Json sample_file() {
    return ResultFile::Json::parse(to_json(make_report(matmul_subject(), matmul_result())));
}

std::string error_of_text(const std::string& text) {
    return error_of([&text] { const ResultFile file("a.json", text); });
}

TEST(ResultFileTest, ReadsWhatWasWritten) {
    const ResultFile file("a.json", sample_file().dump());
    EXPECT_EQ(file.number("/summary/latency_us"), 1036.838);
    EXPECT_EQ(file.text("/chip"), "trainium2");
    EXPECT_EQ(file.texts("/arguments").size(), 5U);
}

TEST(ResultFileTest, RejectsATruncatedFileAndSaysWhere) {
    const std::string text = sample_file().dump();
    EXPECT_THAT(error_of_text(text.substr(0, 100)), StartsWith("a.json: no JSON from byte 101 on"));
    EXPECT_THAT(error_of_text(""), HasSubstr("no JSON from byte 1 on"));
}

TEST(ResultFileTest, RejectsOtherJson) {
    EXPECT_THAT(error_of_text("[1, 2]"), HasSubstr("the key \"schema_version\" is missing"));
    EXPECT_THAT(error_of_text("{\"record\": \"header\"}"),
                HasSubstr("give a file that trnsim run"));
}

TEST(ResultFileTest, RejectsAnotherSchemaVersion) {
    ResultFile::Json json = sample_file();
    json["schema_version"] = 2;
    EXPECT_EQ(error_of_text(json.dump()),
              "a.json: schema_version: 2, but this trnsim reads 1; write the file again with it");
}

TEST(ResultFileTest, NamesAKeyThatIsMissingOrOfAnotherType) {
    for (const char* key : {"chip", "summary", "engines", "attribution", "warnings"}) {
        ResultFile::Json json = sample_file();
        json.erase(key);
        EXPECT_THAT(error_of_text(json.dump()),
                    HasSubstr(std::string("the key \"") + key + "\" is missing"));
        json[key] = 5;
        EXPECT_THAT(error_of_text(json.dump()),
                    HasSubstr(std::string("/") + key + ": type number, but type"));
    }
}

TEST(ResultFileTest, NamesAValueThatIsMissingOrOfAnotherType) {
    ResultFile::Json json = sample_file();
    json["summary"]["latency_us"] = "fast";
    json["summary"].erase("total_time");
    const ResultFile file("a.json", json.dump());
    EXPECT_THAT(error_of([&file] { (void)file.number("/summary/latency_us"); }),
                HasSubstr("a.json: /summary/latency_us: type string, but a number is needed"));
    EXPECT_THAT(error_of([&file] { (void)file.number("/summary/total_time"); }),
                HasSubstr("a.json: /summary/total_time: is missing"));
}

TEST(ResultFileTest, NamesAFileThatCannotBeRead) {
    EXPECT_THAT(error_of([] { (void)ResultFile::read("no/such/file.json"); }),
                StartsWith("no/such/file.json: the file cannot be read: No such file"));
}

}  // namespace
}  // namespace trnsim::report
