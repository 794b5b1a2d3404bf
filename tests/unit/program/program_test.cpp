// SPDX-License-Identifier: Apache-2.0
// Sizes of buffers and source positions as text.
#include "trnsim/program/program.hpp"

#include <gtest/gtest.h>

namespace trnsim::program {
namespace {

TEST(ProgramTest, AnInstructionWithoutASourceIsCalledByItsTemplate) {
    Program program;
    program.files = {"kernel.py"};
    program.templates.resize(2);
    program.templates[0].source = {{.file = 0, .line = 41}};
    EXPECT_EQ(program.source_text(program.templates[0]), "kernel.py:41");
    EXPECT_EQ(program.source_text(program.templates[1]), "template 1");
}

TEST(BufferTest, OnChipTheFirstSizeIsThePartitions) {
    const Buffer tile{.space = Space::Sbuf, .dtype = Dtype::Bfloat16, .shape = {64, 2, 256}};
    EXPECT_EQ(tile.partitions(), 64);
    EXPECT_EQ(tile.free_elements(), 512);
    EXPECT_EQ(tile.free_bytes(), 1024);
}

TEST(BufferTest, OnChipAVectorHasOneElementPerPartition) {
    const Buffer vector{.space = Space::Psum, .dtype = Dtype::Float32, .shape = {128}};
    EXPECT_EQ(vector.partitions(), 128);
    EXPECT_EQ(vector.free_elements(), 1);
}

TEST(BufferTest, InHbmAllElementsAreFree) {
    const Buffer matrix{.space = Space::Hbm, .dtype = Dtype::Float32, .shape = {64, 256}};
    EXPECT_EQ(matrix.partitions(), 1);
    EXPECT_EQ(matrix.free_elements(), 64 * 256);
    const Buffer scalar{.space = Space::Hbm, .dtype = Dtype::Float32};
    EXPECT_EQ(scalar.free_elements(), 1);
}

TEST(ProgramTest, SourceTextNamesTheInnermostFrame) {
    Program program;
    program.files = {"kernel.py", "library.py"};
    EXPECT_EQ(program.source_text({{1, 7}, {0, 41}}), "library.py:7");
    EXPECT_EQ(program.source_text(std::vector<SourceFrame>{}), "?");
}

}  // namespace
}  // namespace trnsim::program
