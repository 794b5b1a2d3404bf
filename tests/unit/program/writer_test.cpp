// SPDX-License-Identifier: Apache-2.0
// The writer: what it writes reads back the same, and files appear whole or not at all.
#include "trnsim/program/writer.hpp"

#include "random_program.hpp"
#include "trace_text.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/program/reader.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

namespace trnsim::program {
namespace {

namespace fs = std::filesystem;

std::string written(const Program& program) {
    std::ostringstream output;
    write(program, output);
    return output.str();
}

/// A folder that is removed when the test ends.
class WriteFileTest : public testing::Test {
protected:
    WriteFileTest()
        : folder_(fs::path(testing::TempDir()) / ("writer_test_" + std::to_string(::getpid()))) {
        fs::create_directory(folder_);
    }
    ~WriteFileTest() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string path(std::string_view name) const { return folder_ / name; }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
    }

    fs::path folder_;
};

std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(WriterTest, ReproducesCanonicalTraces) {
    EXPECT_EQ(written(read_text(sample())), sample());
    EXPECT_EQ(written(read_text(lowered_sample())), lowered_sample());
}

TEST(WriterTest, TheExamplesAreCanonical) {
    int examples = 0;
    for (const auto& entry : fs::directory_iterator(TRNSIM_SOURCE_DIR "/examples/traces")) {
        if (entry.path().extension() == ".nkt") {
            EXPECT_EQ(written(read_file(entry.path())), content(entry.path())) << entry.path();
            ++examples;
        }
    }
    EXPECT_GE(examples, 3);
}

TEST(WriterTest, WhatItWritesReadsBackTheSame) {
    std::mt19937 random(7);
    for (int i = 0; i < 200; ++i) {
        const Program program = random_program(random);
        ASSERT_EQ(read_text(written(program)), program) << "program " << i;
    }
}

TEST(WriterTest, LeavesOutDefaults) {
    const std::string verbose = edited(
        edited(edited(sample(), R"("space":"sbuf",)", R"("space":"sbuf","kind":"internal",)"),
               "\"source\":[0,42]",
               R"("attributes":{"dge":"auto"},"source":[0,42])"),
        "{\"m\":65536}",
        R"({"base":0,"m":65536})");
    EXPECT_EQ(written(read_text(verbose)), sample());
}

TEST(WriterTest, KeepsEveryValueOfMemset) {
    const auto value_of = [](double value) -> double {
        Program program =
            read_text(around_template("memset", "\"vector\"", dst('s', 1, 1), "\"value\":1"));
        program.templates[0].attributes.value = value;
        return read_text(written(program)).templates[0].attributes.value.value();
    };
    for (const double value : {0.0,
                               1.0,
                               -1.0,
                               0.1,
                               1e300,
                               5e-324,
                               1e17,
                               123456789012345680.0,
                               std::numeric_limits<double>::max(),
                               3.4028234663852886e38,
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity()}) {
        EXPECT_EQ(value_of(value), value);
    }
    EXPECT_TRUE(std::signbit(value_of(-0.0)));
    EXPECT_TRUE(std::isnan(value_of(std::nan(""))));
}

TEST(WriterTest, KeepsNumbersThatLoopsChange) {
    const std::string text = with_memset_run("\"run\"", R"(,"value":{"base":-7,"m":3})");
    EXPECT_EQ(written(read_text(text)), text);
}

TEST(WriterTest, KeepsEdgesOfTheSchedule) {
    const std::string text =
        with_memset_run("3", R"(,"producer":{"m":2},"depends_on":[7,{"base":1,"m":2}])");
    EXPECT_EQ(written(read_text(text)), text);
}

TEST(WriterTest, KeepsEveryAttribute) {
    const std::string attributes =
        "\"start\":false,\"is_transpose\":true,\"onezero\":\"both\",\"tile_position\":[32,0],"
        "\"tile_size\":[32,128]";
    const std::string operands = operand("dst", 'p', 32, 8, "accumulate") + "," +
                                 operand("stationary", 's', 32, 32) + "," +
                                 operand("moving", 's', 32, 8);
    const Program program =
        read_text(around_template("nc_matmul", "\"tensor\"", operands, attributes));
    EXPECT_EQ(read_text(written(program)), program);
    EXPECT_NE(written(program).find(attributes), std::string::npos);
}

TEST(WriterTest, EscapesWhatJsonDoesNotAllow) {
    Program program = read_text(sample());
    program.header.kernel =
        "a\"b\\c\nd\x01"
        "e/é";
    EXPECT_NE(written(program).find(R"("kernel":"a\"b\\c\u000ad\u0001e/é")"), std::string::npos);
    EXPECT_EQ(read_text(written(program)), program);
}

TEST_F(WriteFileTest, WritesZstdWhateverTheName) {
    const Program program = read_text(sample());
    for (const std::string name : {"a.nkt", "a.nkt.zst", "a.txt"}) {
        write_file(program, path(name));
        EXPECT_EQ(content(path(name)).substr(0, 4), "\x28\xB5\x2F\xFD");
        EXPECT_EQ(read_file(path(name)), program);
    }
}

TEST_F(WriteFileTest, WritesTextIntoPipes) {
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    std::string text;
    std::thread reader([&] { text = content(path("pipe")); });
    write_file(read_text(sample()), path("pipe"));
    reader.join();
    EXPECT_EQ(text, sample());
}

TEST_F(WriteFileTest, CompressesMoreThanOneBlock) {
    Program program = read_text(sample());
    std::mt19937 random(3);
    std::string text(3'000'000, ' ');
    for (char& character : text) {
        character = static_cast<char>('a' + random() % 26);
    }
    program.notes.push_back({.kind = NoteKind::Warning, .text = text});
    write_file(program, path("a.nkt"));
    EXPECT_EQ(read_file(path("a.nkt")), program);
}

TEST_F(WriteFileTest, ReplacesAFileWithoutLeavingAnother) {
    std::ofstream(path("a.nkt")) << "old";
    write_file(read_text(sample()), path("a.nkt"));
    EXPECT_EQ(read_file(path("a.nkt")), read_text(sample()));
    EXPECT_EQ(files(), 1U);
}

TEST_F(WriteFileTest, WritesThroughLinks) {
    std::ofstream(path("real.nkt")) << "old";
    fs::create_symlink(path("real.nkt"), path("link.nkt"));
    write_file(read_text(sample()), path("link.nkt"));
    EXPECT_TRUE(fs::is_symlink(path("link.nkt")));
    EXPECT_EQ(read_file(path("real.nkt")), read_text(sample()));
}

TEST_F(WriteFileTest, DoesNotReplaceDevices) {
    write_file(read_text(sample()), "/dev/null");
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(WriteFileTest, SaysWhyAFileCannotBeWritten) {
    const auto message = [](const std::string& path) -> std::string {
        try {
            write_file(Program(), path);
        } catch (const UserError& error) {
            return error.what();
        }
        return "no error";
    };
    EXPECT_EQ(message(path("no/such/folder.nkt")),
              path("no/such/folder.nkt") +
                  ": cannot be written: No such file or directory; check where it goes and that "
                  "there is room");
    EXPECT_EQ(
        message(folder_),
        folder_.string() +
            ": cannot be written: Is a directory; check where it goes and that there is room");
    EXPECT_EQ(message("/dev/full"),
              "/dev/full: cannot be written: No space left on device; check where it goes and that "
              "there is room");
    EXPECT_EQ(files(), 0U);
}

}  // namespace
}  // namespace trnsim::program
