// SPDX-License-Identifier: Apache-2.0
// Blocks of tiles: which become tiles of their own, and that nothing else changes.
#include "trnsim/lowering/analysis/block_splitting.hpp"

#include "support/program_builder.hpp"
#include "support/random_program.hpp"
#include "symbolic_values.hpp"
#include "trnsim/lowering/loads/planned_accesses.hpp"
#include "trnsim/program/cursor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace trnsim::lowering {
namespace {

using test::affine;
using test::at;
using test::ProgramBuilder;
using testing::ElementsAre;

constexpr std::int64_t kTiles = 4;
constexpr std::int64_t kColumns = 64;

/// Blocks of four tiles of 64 columns, loaded and copied tile by tile.
struct Blocks {
    ProgramBuilder builder;
    std::uint32_t x = builder.tile("x", Space::Sbuf, Dtype::Float32, {128, kTiles, kColumns});
    std::uint32_t in = builder.input("in", Dtype::Float32, {128, kColumns});
    std::uint32_t y = builder.tile("y", Space::Sbuf, Dtype::Float32, {128, kColumns});
    std::uint32_t load =
        builder.add(Opcode::DmaCopy,
                    {Engine::Dma},
                    {builder.part(Role::Dst, x, kColumns), builder.whole(Role::Src, in)});
    std::uint32_t copy = copy_of(kColumns);

    Blocks() {
        builder.alloc(y).loop(3).alloc(x);
        builder.loop(kTiles).run(load, {at(affine(0, {1}), affine(0, {0, kColumns}))}).end();
    }
    std::uint32_t copy_of(std::int64_t columns) {
        return builder.add(
            Opcode::TensorCopy,
            {Engine::Vector},
            {builder.part(Role::Dst, y, columns), builder.part(Role::Data, x, columns)});
    }
    /// Copies from a column of the block on, and its next tile with each of `trips`.
    program::Program build(std::uint32_t what, std::int64_t column, std::int64_t trips = kTiles) {
        builder.loop(trips).run(what, {at(), at(affine(0, {1}), affine(column, {0, kColumns}))});
        return builder.end().end().build();
    }
};

program::Program split(const program::Program& program) {
    return split_blocks(program, loaded_sites(program));
}

TEST(BlockSplittingTest, EachTileOfABlockIsATileOfItsOwn) {
    Blocks blocks;
    const program::Program program = split(blocks.build(blocks.copy, 0));
    EXPECT_THAT(program.buffers[blocks.x].shape, ElementsAre(128, kColumns));
    std::vector<std::int64_t> copied;
    std::int64_t allocations = 0;
    program::Cursor cursor(program);
    while (const program::Step* step = cursor.next()) {
        allocations += step->is_alloc && step->run == blocks.x ? 1 : 0;
        if (!step->is_alloc && program.runs[step->run].instruction == blocks.copy) {
            copied.push_back(step->at[1].instance);
            EXPECT_EQ(step->at[1].offset, 0);
        }
    }
    EXPECT_EQ(allocations, 3 * kTiles);
    EXPECT_THAT(copied, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST(BlockSplittingTest, PartsOfATileStayInIt) {
    Blocks blocks;
    const program::Program program = split(blocks.build(blocks.copy_of(16), 48));
    EXPECT_THAT(program.buffers[blocks.x].shape, ElementsAre(128, kColumns));
}

TEST(BlockSplittingTest, ABlockStaysWholeIfAnAccessTouchesTwoOfItsTiles) {
    {
        Blocks blocks;
        const program::Program program = blocks.build(blocks.copy_of(16), 56, kTiles - 1);
        EXPECT_EQ(split(program), program);
    }
    Blocks blocks;
    blocks.builder.loop(kColumns).run(blocks.copy_of(1),
                                      {at(), at(affine(0, {1}), affine(1, {0, 1}))});
    const program::Program program = blocks.builder.end().end().build();
    EXPECT_EQ(split(program), program) << "the last one is in the second tile";
}

TEST(BlockSplittingTest, OnlyTheSitesAskedForAreSplit) {
    Blocks blocks;
    const program::Program program = blocks.build(blocks.copy, 0);
    EXPECT_EQ(split_blocks(program, std::vector<bool>(program.buffers.size())), program);
}

TEST(BlockSplittingTest, RandomProgramsComputeTheSame) {
    int changed = 0;
    for (unsigned seed = 0; seed < 8; ++seed) {
        const program::Program program = test::random_program(
            seed, {.sbuf_sites = 2, .sbuf_elements = 128, .items = 12, .loaded_sites = 2});
        const program::Program after = split(program);
        changed += after == program ? 0 : 1;
        EXPECT_EQ(test::symbolic_values(after), test::symbolic_values(program)) << "seed " << seed;
    }
    EXPECT_GT(changed, 4);
}

}  // namespace
}  // namespace trnsim::lowering
