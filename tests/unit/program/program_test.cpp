// SPDX-License-Identifier: Apache-2.0
// Sizes of buffers and source positions as text.
#include "trnsim/program/program.hpp"

#include "random_program.hpp"
#include "trnsim/program/cursor.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

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

TEST(ProgramTest, ANodeIsExecutedAsOftenAsTheCursorComesToIt) {
    std::mt19937 random(7);
    for (int i = 0; i < 100; ++i) {
        const Program program = random_program(random);
        std::vector<std::int64_t> seen(program.nodes.size());
        Cursor cursor(program);
        while (const Step* step = cursor.next()) {
            ++seen[step->node];
        }
        const std::vector<std::int64_t> executions = program.executions();
        ASSERT_EQ(executions.size(), seen.size());
        for (std::size_t node = 0; node < seen.size(); ++node) {
            const Node::Kind kind = program.nodes[node].kind;
            if (kind == Node::Kind::Run || kind == Node::Kind::Alloc) {
                EXPECT_EQ(executions[node], seen[node]) << "program " << i << ", node " << node;
            } else {
                EXPECT_EQ(executions[node], executions[program.nodes[node].match]);
            }
        }
    }
}

TEST(ProgramTest, ALoopIsExecutedAsOftenAsItsBody) {
    Program program;
    program.loops = {{.count = 3}, {.count = 5}};
    program.nodes = {{.kind = Node::Kind::Loop, .index = 0, .match = 4},
                     {.kind = Node::Kind::Loop, .index = 1, .match = 3},
                     {.kind = Node::Kind::Run},
                     {.kind = Node::Kind::End, .index = 1, .match = 1},
                     {.kind = Node::Kind::End, .index = 0, .match = 0},
                     {.kind = Node::Kind::Run}};
    EXPECT_EQ(program.executions(), (std::vector<std::int64_t>{3, 15, 15, 15, 3, 1}));
}

}  // namespace
}  // namespace trnsim::program
