// SPDX-License-Identifier: Apache-2.0
// First iterations that stand before their loop, because they allocate what all of them share.
#include "merging_programs.hpp"
#include "support/program_builder.hpp"
#include "symbolic_values.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace trnsim::lowering {
namespace {

using test::affine;
using test::at;
using test::Counts;
using test::executed;
using test::kRows;
using test::merged;
using test::ProgramBuilder;
using test::times;

constexpr std::int64_t kWidth = 128;

/// Loads tiles, and packs them side by side into one that the first of them allocates.
struct Pack {
    explicit Pack(std::int64_t iterations) : trips(iterations) {}

    std::int64_t trips;
    ProgramBuilder builder;
    std::uint32_t in = builder.input("in", Dtype::Float32, {64, kRows, kWidth});
    std::uint32_t x = builder.tile("x", Space::Sbuf, Dtype::Float32, {kRows, kWidth});
    std::uint32_t all = builder.tile("all", Space::Sbuf, Dtype::Float32, {kRows, 64 * kWidth});
    std::uint32_t load = builder.add(
        Opcode::DmaCopy,
        {Engine::Dma},
        {builder.whole(Role::Dst, x), test::tile_in(builder, Role::Src, in, kRows* kWidth)});
    std::uint32_t copy =
        builder.add(Opcode::TensorCopy,
                    {Engine::Vector},
                    {builder.part(Role::Dst, all, kWidth), builder.whole(Role::Data, x)});

    /// One iteration, or all of the loops around it; its copy goes to `place`.
    void body(const program::Affine& iteration, bool allocates_all, const program::Affine& place) {
        builder.alloc(x).run(load, {at(iteration), at({}, times(iteration, kRows * kWidth))});
        if (allocates_all) {
            builder.alloc(all);
        }
        builder.run(copy, {at({}, times(place, kWidth)), at(iteration)});
    }

    program::Program whole() {
        builder.alloc(all).loop(trips);
        body(affine(0, {1}), false, affine(0, {1}));
        return builder.end().build();
    }

    /// The first iteration on its own; its copy goes to `place`.
    program::Program first_apart(std::int64_t place = 0) {
        body({}, true, affine(place));
        builder.loop(trips - 1);
        body(affine(1, {1}), false, affine(1, {1}));
        return builder.end().build();
    }
};

TEST(LoopRerollingTest, AFirstIterationThatAllocatesForAllIsMergedWithTheOthers) {
    const program::Program apart = Pack(16).first_apart();
    EXPECT_EQ(executed(merged(apart)), executed(merged(Pack(16).whole())));
    EXPECT_EQ(executed(merged(apart)), (Counts{{"dma_copy 512", 4}, {"tensor_copy 512", 4}}));
    EXPECT_EQ(test::symbolic_values(merged(apart)), test::symbolic_values(apart));
}

TEST(LoopRerollingTest, OneThatDoesSomethingElseStaysApart) {
    const program::Program apart = Pack(16).first_apart(40);
    EXPECT_EQ(merged(apart), apart);
}

TEST(LoopRerollingTest, AFirstIterationOfALoopThatKeepsItsOrderStaysApart) {
    Pack pack(16);
    pack.body({}, true, {});
    pack.builder.loop(15, true);
    pack.body(affine(1, {1}), false, affine(1, {1}));
    const program::Program program = pack.builder.end().build();
    EXPECT_EQ(merged(program), program);
}

TEST(LoopRerollingTest, AFirstIterationWithEdgesOfTheScheduleStaysApart) {
    for (const std::size_t run : {0U, 1U, 2U, 3U}) {
        program::Program program = Pack(16).first_apart();
        program.runs[run].producer = affine(3);
        EXPECT_EQ(merged(program), program) << run;
    }
}

TEST(LoopRerollingTest, AFirstIterationThatIsALoopIsTakenInAfterItsOwn) {
    // for i in 2: for j in 8, of which i = 0 stands alone, and there j = 0; it goes to 16 i + j.
    Pack pack(0);
    pack.body({}, true, {});
    pack.builder.loop(7);
    pack.body(affine(1, {1}), false, affine(1, {1}));
    pack.builder.end().loop(1).loop(8);
    pack.body(affine(8, {8, 1}), false, affine(16, {16, 1}));
    const program::Program program = pack.builder.end().end().build();
    const program::Program after = merged(program);
    EXPECT_EQ(executed(after), (Counts{{"dma_copy 512", 4}, {"tensor_copy 512", 4}}));
    EXPECT_EQ(after.loops.back().count * after.max_depth, 2 * 2) << "one nest of 2 x 2";
    EXPECT_EQ(test::symbolic_values(after), test::symbolic_values(program));
}

TEST(LoopRerollingTest, TwoIterationsThatStandBeforeTheirLoopAreBothTakenIn) {
    Pack pack(0);
    pack.body({}, true, {});
    pack.body(affine(1), false, affine(1));
    pack.builder.loop(14);
    pack.body(affine(2, {1}), false, affine(2, {1}));
    const program::Program program = pack.builder.end().build();
    EXPECT_EQ(executed(merged(program)), (Counts{{"dma_copy 512", 4}, {"tensor_copy 512", 4}}));
    EXPECT_EQ(test::symbolic_values(merged(program)), test::symbolic_values(program));
}

TEST(LoopRerollingTest, ALoopThatGoesOnWhereAnotherOneEndedIsOneWithIt) {
    Pack pack(0);
    pack.builder.alloc(pack.all).loop(7);
    pack.body(affine(0, {1}), false, affine(0, {1}));
    pack.builder.end().loop(9);
    pack.body(affine(7, {1}), false, affine(7, {1}));
    const program::Program program = pack.builder.end().build();
    EXPECT_EQ(executed(merged(program)), (Counts{{"dma_copy 512", 4}, {"tensor_copy 512", 4}}));
    EXPECT_EQ(test::symbolic_values(merged(program)), test::symbolic_values(program));
}

TEST(LoopRerollingTest, SoAreALoopAnIterationAndALoopThatGoOn) {
    Pack pack(0);
    pack.builder.alloc(pack.all).loop(7);
    pack.body(affine(0, {1}), false, affine(0, {1}));
    pack.builder.end();
    pack.body(affine(7), false, affine(7));
    pack.builder.loop(8);
    pack.body(affine(8, {1}), false, affine(8, {1}));
    const program::Program program = pack.builder.end().build();
    EXPECT_EQ(executed(merged(program)), (Counts{{"dma_copy 512", 4}, {"tensor_copy 512", 4}}));
    EXPECT_EQ(test::symbolic_values(merged(program)), test::symbolic_values(program));
}

TEST(LoopRerollingTest, ALoopThatDoesNotGoOnThereStaysApart) {
    for (const std::int64_t place : {6, 8}) {
        Pack pack(0);
        pack.builder.alloc(pack.all).loop(7);
        pack.body(affine(0, {1}), false, affine(0, {1}));
        pack.builder.end().loop(9);
        pack.body(affine(7, {1}), false, affine(place, {1}));
        const program::Program program = pack.builder.end().build();
        EXPECT_EQ(merged(program), program) << place;
    }
}

TEST(LoopRerollingTest, ALoopThatGoesOnAfterOneThatKeepsItsOrderStaysApart) {
    Pack pack(0);
    pack.builder.alloc(pack.all).loop(7, true);
    pack.body(affine(0, {1}), false, affine(0, {1}));
    pack.builder.end().loop(9);
    pack.body(affine(7, {1}), false, affine(7, {1}));
    const program::Program program = pack.builder.end().build();
    EXPECT_EQ(merged(program), program);
}

TEST(LoopRerollingTest, AFirstIterationOfALoopThatWasSplitIsTakenIn) {
    // for i in 4: for j in 4, of which i = 0 stands alone, and there j = 0.
    Pack pack(0);
    pack.body({}, true, {});
    pack.builder.loop(3);
    pack.body(affine(1, {1}), false, affine(1, {1}));
    pack.builder.end().loop(3).loop(4);
    pack.body(affine(4, {4, 1}), false, affine(4, {4, 1}));
    const program::Program program = pack.builder.end().end().build();
    EXPECT_EQ(executed(merged(program)), executed(merged(Pack(16).whole())));
    EXPECT_EQ(test::symbolic_values(merged(program)), test::symbolic_values(program));
}

TEST(LoopRerollingTest, WhatAMemsetWritesCountsWithTheIterations) {
    const auto fill = [](double first) {
        ProgramBuilder builder;
        const auto all = builder.tile("all", Space::Sbuf, Dtype::Float32, {kRows, 16});
        InstructionTemplate memset;
        memset.op = Opcode::Memset;
        memset.engines = {Engine::Vector};
        memset.operands = {builder.part(Role::Dst, all, 1)};
        memset.attributes.value = first;
        const auto set = builder.add(memset);
        builder.alloc(all).run(set).loop(15).run(set, {at({}, affine(1, {1}))}).end();
        return executed(merged(builder.build()));
    };
    EXPECT_EQ(fill(1.0), (Counts{{"memset 16", 1}}));
}

}  // namespace
}  // namespace trnsim::lowering
