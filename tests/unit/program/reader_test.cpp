// SPDX-License-Identifier: Apache-2.0
// The reader as a whole: order of records, text encoding, compression, files.
#include "trnsim/program/reader.hpp"

#include "trace_text.hpp"
#include "trnsim/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace trnsim::program {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string compressed(const std::string& text) {
    std::string packed(ZSTD_compressBound(text.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
    return packed;
}

/// A file that is removed when the test ends.
class TemporaryFile {
public:
    explicit TemporaryFile(const std::string& content)
        : path_(testing::TempDir() + "reader_test_" + std::to_string(::getpid()) + ".nkt") {
        std::ofstream(path_, std::ios::binary) << content;
    }
    ~TemporaryFile() { std::filesystem::remove(path_); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

std::string message_of_file(const std::string& path) {
    try {
        static_cast<void>(read_file(path));
    } catch (const TraceError& error) {
        return error.what();
    }
    return "no error";
}

TEST(ReaderTest, StandardInputThatCannotBeReadIsNotAnEmptyFile) {
    ASSERT_NE(std::freopen("/", "r", stdin), nullptr);
    EXPECT_EQ(message_of_file("-"),
              "standard input:1: the input cannot be read (Is a directory); check the disk or the "
              "pipe");
    std::cin.clear();
    ASSERT_NE(std::freopen("/dev/null", "r", stdin), nullptr);
    EXPECT_THAT(message_of_file("-"), HasSubstr("the file is empty"));
    std::cin.clear();
}

TEST(ReaderTest, KeepsLoopsAsLoops) {
    const Program program = read_text(sample());
    using Kind = Node::Kind;
    const std::vector<Node> expected{{.kind = Kind::Loop, .index = 0, .match = 5},
                                     {.kind = Kind::Alloc, .index = 1},
                                     {.kind = Kind::Alloc, .index = 2},
                                     {.kind = Kind::Run, .index = 0},
                                     {.kind = Kind::Run, .index = 1},
                                     {.kind = Kind::End, .index = 0, .match = 0}};
    EXPECT_EQ(program.nodes, expected);
    EXPECT_EQ(program.instruction_count, 4);
    EXPECT_EQ(program.max_depth, 1);
    EXPECT_EQ(program.loops[0].index, "m");
    EXPECT_EQ(program.loops[0].count, 2);
    EXPECT_EQ(program.loops[0].kind, LoopKind::Affine);
    EXPECT_EQ(program.source_text(program.loops[0].source), "kernel.py:40");
}

TEST(ReaderTest, ALoopMayKeepItsInstructionsInOrder) {
    const std::string loop = R"("count":2,"kind":"affine")";
    EXPECT_FALSE(read_text(sample()).loops[0].is_in_order);
    EXPECT_TRUE(
        read_text(edited(sample(), loop, loop + R"(,"in_order":true)")).loops[0].is_in_order);
    EXPECT_FALSE(
        read_text(edited(sample(), loop, loop + R"(,"in_order":false)")).loops[0].is_in_order);
    EXPECT_THAT(error_of(edited(sample(), loop, loop + R"(,"in_order":1)")),
                testing::HasSubstr("in_order"));
}

TEST(ReaderTest, RejectsAnEmptyFile) {
    EXPECT_EQ(error_of(""), "t.nkt:1: the file is empty; a trace begins with a header");
}

TEST(ReaderTest, RejectsAFileWithoutASummaryAsTruncated) {
    const std::string text = sample();
    const std::string cut = text.substr(0, text.find(R"({"record":"summary")"));
    EXPECT_EQ(error_of(cut),
              "t.nkt:14: the file ends without a summary: it is truncated; write it again");
}

TEST(ReaderTest, RejectsARecordCutInTheMiddle) {
    const std::string text = sample();
    EXPECT_EQ(error_of(text.substr(0, text.size() - 2)),
              "t.nkt:15: the line is not one JSON value; write one record, complete, on a line");
}

TEST(ReaderTest, AcceptsALastLineWithoutLineFeedAndCarriageReturns) {
    std::string text = sample();
    text.pop_back();
    EXPECT_EQ(error_of(text), "no error");
    std::string dos;
    for (const char character : sample()) {
        dos += character == '\n' ? "\r\n" : std::string(1, character);
    }
    EXPECT_EQ(error_of(dos), "no error");
}

TEST(ReaderTest, RejectsEmptyLines) {
    const std::string message = "the line is empty, each holds one record; remove it";
    EXPECT_EQ(error_of("\n" + sample()), "t.nkt:1: " + message);
    EXPECT_EQ(error_of(sample() + "\n"), "t.nkt:16: " + message);
    EXPECT_EQ(error_of(sample() + " \t\r\n"), "t.nkt:16: " + message);
}

TEST(ReaderTest, RejectsTextThatIsNotUtf8) {
    EXPECT_EQ(error_of(edited(sample(), "library.py", "libr\xE4ry.py")),
              "t.nkt:3: the line is not UTF-8; save the file as UTF-8");
}

TEST(ReaderTest, RejectsControlCharactersInStrings) {
    const std::string expected = "t.nkt:3: a string holds a control character; write it as \\u00XX";
    EXPECT_EQ(error_of(edited(sample(), "library.py", std::string("lib\0py", 6))), expected);
    EXPECT_EQ(error_of(edited(sample(), "library.py", "lib\tpy")), expected);
}

TEST(ReaderTest, RejectsNulBytesBetweenRecords) {
    EXPECT_THAT(error_of(std::string(64, '\0')), StartsWith("t.nkt:1: the line does not begin"));
    EXPECT_THAT(error_of(sample() + std::string(1, '\0')),
                StartsWith("t.nkt:16: the line does not begin"));
}

TEST(ReaderTest, RejectsJsonThatIsNoRecord) {
    EXPECT_EQ(error_of("[1,2]\n"),
              "t.nkt:1: the line is JSON but not an object; write {\"record\":…}");
    EXPECT_EQ(error_of("{}\n"), "t.nkt:1: the first key is not \"record\"; put it first");
    EXPECT_EQ(error_of("{\"format\":\"nkt\",\"record\":\"header\"}\n"),
              "t.nkt:1: the first key is not \"record\"; put it first");
    EXPECT_EQ(error_of("{\"record\":7}\n"), "t.nkt:1: \"record\" is an integer; write a string");
    EXPECT_EQ(error_of("{\"record\":null}\n"), "t.nkt:1: \"record\" is null; write a string");
    EXPECT_EQ(error_of("{\"record\":[]}\n"), "t.nkt:1: \"record\" is an array; write a string");
    EXPECT_EQ(error_of("{\"record\":{}}\n"), "t.nkt:1: \"record\" is an object; write a string");
    EXPECT_EQ(error_of("{\"record\":\"\\q\"}\n"),
              "t.nkt:1: a string holds an unknown escape or half a surrogate pair; correct it");
    EXPECT_EQ(error_of("{\"record\":\"a\" \"b\"}\n"),
              "t.nkt:1: the line is not one JSON value; write one record, complete, on a line");
    EXPECT_EQ(
        error_of("\xEF\xBB\xBF{\"record\":\"header\"}\n"),
        "t.nkt:1: the line begins with a byte order mark; save the file as UTF-8 without one");
    EXPECT_EQ(error_of("{\"record\":\"a\n"),
              "t.nkt:1: a string is not closed; add the quotation mark");
    EXPECT_EQ(error_of("\x7F"
                       "ELF\"\n"),
              "t.nkt:1: the line does not begin with a brace, as every record does; correct it, or "
              "name a trace");
    EXPECT_EQ(error_of(std::string(2000, '[') + std::string(2000, ']')),
              "t.nkt:1: the JSON is nested too deeply; no record is");
}

TEST(ReaderTest, RejectsNumbersBeyond64Bits) {
    EXPECT_EQ(error_of(edited(sample(), "\"instructions\":4", "\"instructions\":1e999")),
              "t.nkt:15: a number is malformed or beyond 64 bits; correct it");
    EXPECT_EQ(
        error_of(edited(sample(), "\"instructions\":4", "\"instructions\":4e0")),
        "t.nkt:15: summary: \"instructions\" is a number with a fraction or exponent; write an "
        "integer");
    EXPECT_EQ(
        error_of(edited(sample(), "\"instructions\":4", "\"instructions\":9223372036854775808")),
        "t.nkt:15: summary: \"instructions\" is beyond 2^63, allowed is 0 to 1000000000000");
}

TEST(ReaderTest, RejectsUnknownRecordsAndNamesTheNearest) {
    EXPECT_EQ(error_of(edited(sample(), "\"record\":\"end\"", "\"record\":\"ends\"")),
              "t.nkt:14: unknown record \"ends\"; did you mean \"end\"?");
    EXPECT_EQ(
        error_of(edited(sample(), "\"record\":\"end\"", "\"record\":\"collective\"")),
        "t.nkt:14: unknown record \"collective\"; allowed: run, alloc, loop, end, header, file, "
        "buffer, template, note, core, summary");
}

TEST(ReaderTest, RejectsUnknownKeysAndNamesTheNearest) {
    EXPECT_EQ(error_of(edited(sample(), "\"count\":2", "\"cuont\":2")),
              "t.nkt:9: loop: unknown key \"cuont\"; did you mean \"count\"?");
    EXPECT_EQ(
        error_of(edited(sample(), "{\"record\":\"end\"}", "{\"record\":\"end\",\"of\":\"m\"}")),
        "t.nkt:14: end: unknown key \"of\"; allowed: record");
}

TEST(ReaderTest, RejectsMissingAndRepeatedKeys) {
    EXPECT_EQ(error_of(edited(sample(), "\"count\":2,", "")),
              "t.nkt:9: loop: key \"count\" is missing; add it");
    EXPECT_EQ(error_of(edited(sample(), "\"count\":2,", "\"count\":2,\"count\":2,")),
              "t.nkt:9: loop: key \"count\" is given twice; keep one");
}

TEST(ReaderTest, WantsOneHeaderFirst) {
    const std::string text = sample();
    const std::size_t second = text.find('\n') + 1;
    EXPECT_EQ(error_of(text.substr(second)),
              "t.nkt:1: the first record is not a header; begin with one");
    EXPECT_EQ(error_of(text.substr(0, second) + text), "t.nkt:2: a second header; a trace has one");
}

TEST(ReaderTest, WantsTheSummaryLast) {
    EXPECT_EQ(error_of(sample() + "{\"record\":\"end\"}\n"),
              "t.nkt:16: a record after the summary, which is the last; remove it");
}

TEST(ReaderTest, ComparesTheSummaryWithTheProgram) {
    EXPECT_EQ(
        error_of(edited(sample(), "\"instructions\":4", "\"instructions\":5")),
        "t.nkt:15: summary: \"instructions\" is 5, but the program above runs 4; the trace was "
        "changed or cut, write it again");
}

TEST(ReaderTest, RejectsRecordsBeyond16MiB) {
    constexpr std::size_t kLimit = std::size_t{16} << 20;
    const std::string frame = edited(sample(), "kernel.py", "");
    const std::string line = R"({"record":"file","id":0,"path":""})";
    const std::string longest(kLimit - line.size(), 'x');
    EXPECT_EQ(error_of(edited(sample(), "kernel.py", longest)), "no error");
    EXPECT_EQ(error_of(edited(sample(), "kernel.py", longest + "x")),
              "t.nkt:2: the record is longer than 16 MiB, the limit; split it");
    EXPECT_EQ(error_of(std::string(3 * kLimit, ' ')),
              "t.nkt:1: the record is longer than 16 MiB, the limit; split it");
}

TEST(ReaderTest, ReadsZstdByItsMagicNumber) {
    EXPECT_EQ(read_text(compressed(sample())), read_text(sample()));
}

TEST(ReaderTest, ReadsSeveralZstdFramesAsOneText) {
    const std::string text = sample();
    EXPECT_EQ(read_text(compressed(text.substr(0, 500)) + compressed(text.substr(500))),
              read_text(text));
}

TEST(ReaderTest, NamesWhatElseCompressedAFile) {
    using namespace std::string_literals;
    const auto asked = [](const std::string& program) {
        return HasSubstr("the file is compressed by " + program +
                         ", but a trace is text or zstd; decompress it");
    };
    EXPECT_THAT(error_of("\x1F\x8B\x08\0\0"s), asked("gzip"));
    EXPECT_THAT(error_of("\xFD"
                         "7zXZ\0"s),
                asked("xz"));
    EXPECT_THAT(error_of("BZh91AY"), asked("bzip2"));
}

TEST(ReaderTest, RejectsTruncatedAndDamagedZstd) {
    const std::string packed = compressed(sample());
    EXPECT_THAT(error_of(packed.substr(0, packed.size() - 5)),
                HasSubstr("the zstd data ends within a frame: the file is truncated"));
    std::string damaged = packed;
    damaged[6] = static_cast<char>(damaged[6] ^ 0x55);
    EXPECT_THAT(error_of(damaged), StartsWith("t.nkt:"));
    EXPECT_THAT(error_of(packed + "not zstd"),
                HasSubstr("the zstd data after this line is damaged"));
}

TEST(ReaderTest, ReadsFiles) {
    const TemporaryFile file(sample());
    EXPECT_EQ(read_file(file.path()), read_text(sample()));
}

TEST(ReaderTest, NamesTheFileAndTheLine) {
    const TemporaryFile file(edited(sample(), "\"count\":2", "\"count\":0"));
    EXPECT_EQ(message_of_file(file.path()),
              file.path() + ":9: loop: \"count\" is 0, allowed is 1 to 1000000000000");
}

TEST(ReaderTest, RejectsMissingFilesAndDirectories) {
    EXPECT_EQ(
        message_of_file("no/such/file.nkt"),
        "no/such/file.nkt: cannot be opened: No such file or directory; check the name and the "
        "permissions");
    EXPECT_EQ(message_of_file("."), ".: is a directory; name a trace in it");
}

TEST(ReaderTest, QuotesNamesFromTheTraceShortAndWithoutControlCharacters) {
    const std::string text = edited(sample(), R"("record":"end")", R"("record":"a\u0007b")");
    EXPECT_THAT(error_of(text), StartsWith("t.nkt:14: unknown record \"a\\u0007b\"; allowed: "));
    const std::string longer =
        edited(sample(), R"("record":"end")", R"("record":")" + std::string(1000, 'x') + "\"");
    EXPECT_THAT(error_of(longer),
                StartsWith("t.nkt:14: unknown record \"" + std::string(60, 'x') + "…\";"));
}

}  // namespace
}  // namespace trnsim::program
