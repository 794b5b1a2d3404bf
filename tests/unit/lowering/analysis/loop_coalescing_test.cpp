// SPDX-License-Identifier: Apache-2.0
// Loops over n x m iterations, written as a loop over m in one over n.
#include "merging_programs.hpp"
#include "support/program_builder.hpp"
#include "symbolic_values.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace trnsim::lowering {
namespace {

using program::Affine;
using test::affine;
using test::at;
using test::Counts;
using test::executed;
using test::kRows;
using test::merged;
using test::ProgramBuilder;

constexpr std::int64_t kWidth = 128;
constexpr std::int64_t kTile = kRows * kWidth;

/// Loads tiles and stores them again, 16 in all.
struct Passing {
    ProgramBuilder builder;
    std::uint32_t in = builder.input("in", Dtype::Float32, {64, kRows, kWidth});
    std::uint32_t out = builder.output("out", Dtype::Float32, {64, kRows, kWidth});
    std::uint32_t x = builder.tile("x", Space::Sbuf, Dtype::Float32, {kRows, kWidth});
    std::uint32_t y = builder.tile("y", Space::Sbuf, Dtype::Float32, {kRows, kWidth});
    std::uint32_t load =
        builder.add(Opcode::DmaCopy,
                    {Engine::Dma},
                    {builder.whole(Role::Dst, x), test::tile_in(builder, Role::Src, in, kTile)});
    std::uint32_t copy = builder.unary(Opcode::TensorCopy, Engine::Vector, y, x);
    std::uint32_t store =
        builder.add(Opcode::DmaCopy,
                    {Engine::Dma},
                    {test::tile_in(builder, Role::Dst, out, kTile), builder.whole(Role::Src, y)});

    /// The body of the loops; `rows` of the tensors is where it loads and stores.
    ProgramBuilder& body(const Affine& iteration, const Affine& rows) {
        const program::Position place = at({}, test::times(rows, kTile));
        return builder.alloc(x)
            .run(load, {at(iteration), place})
            .alloc(y)
            .run(copy, {at(iteration), at(iteration)})
            .run(store, {place, at(iteration)});
    }
    ProgramBuilder& body(const Affine& iteration) { return body(iteration, iteration); }

    program::Program whole() {
        builder.loop(16);
        return body(affine(0, {1})).end().build();
    }
    /// 8 x 2.
    program::Program nest(const Affine& rows = affine(0, {2, 1}), bool is_in_order = false) {
        builder.loop(8, is_in_order).loop(2, is_in_order);
        return body(affine(0, {2, 1}), rows).end().end().build();
    }
};

const Counts kMerged{{"dma_copy 512", 4}, {"dma_copy 2048", 4}, {"tensor_copy 512", 4}};

TEST(LoopCoalescingTest, ANestIsMergedAsTheLoopThatItCountsAs) {
    ASSERT_EQ(executed(merged(Passing().whole())), kMerged);
    const program::Program nest = Passing().nest();
    EXPECT_EQ(executed(merged(nest)), kMerged);
    EXPECT_EQ(merged(nest).max_depth, merged(Passing().whole()).max_depth);
    EXPECT_EQ(test::symbolic_values(merged(nest)), test::symbolic_values(nest));
}

TEST(LoopCoalescingTest, SoIsOneOfThreeLoops) {
    Passing passing;
    passing.builder.loop(2).loop(4).loop(2);
    const program::Program nest = passing.body(affine(0, {8, 2, 1})).end().end().end().build();
    EXPECT_EQ(executed(merged(nest)), kMerged);
    EXPECT_EQ(test::symbolic_values(merged(nest)), test::symbolic_values(nest));
}

TEST(LoopCoalescingTest, ANestWhoseOuterLoopGoesElsewhereStaysOne) {
    for (const std::int64_t step : {1, 3}) {
        const program::Program nest = Passing().nest(affine(0, {step, 1}));
        EXPECT_NE(executed(merged(nest)), kMerged) << step;
        EXPECT_EQ(test::symbolic_values(merged(nest)), test::symbolic_values(nest)) << step;
    }
}

TEST(LoopCoalescingTest, ANestWithMoreThanALoopInItStaysOne) {
    Passing passing;
    passing.builder.loop(4);
    passing.builder.loop(2);
    passing.body(affine(0, {4, 1})).end();
    passing.builder.loop(2);
    const program::Program nest = passing.body(affine(2, {4, 1})).end().end().build();
    EXPECT_EQ(test::symbolic_values(merged(nest)), test::symbolic_values(nest));
    EXPECT_EQ(executed(merged(nest)), kMerged) << "two loops of which one goes on are one at first";
}

TEST(LoopCoalescingTest, LoopsThatKeepTheirOrderStayApart) {
    const program::Program nest = Passing().nest(affine(0, {2, 1}), true);
    EXPECT_EQ(merged(nest), nest);
}

TEST(LoopCoalescingTest, SoDoesALoopThatKeepsItsOrderAndOneThatDoesNot) {
    for (const std::size_t loop : {0U, 1U}) {
        program::Program nest = Passing().nest();
        nest.loops[loop].is_in_order = true;
        EXPECT_EQ(merged(nest), nest) << loop;
    }
}

TEST(LoopCoalescingTest, WhatAMemsetWritesCountsOnOrKeepsTheLoopsApart) {
    for (const std::int64_t step : {2, 3}) {
        ProgramBuilder builder;
        const auto all = builder.tile("all", Space::Sbuf, Dtype::Float32, {kRows, 16});
        InstructionTemplate memset;
        memset.op = Opcode::Memset;
        memset.engines = {Engine::Vector};
        memset.operands = {builder.part(Role::Dst, all, 1)};
        const auto set = builder.add(memset);
        builder.alloc(all).loop(8).loop(2).run(set, {at({}, affine(0, {2, 1}))}).end().end();
        program::Program nest = builder.build();
        nest.runs.back().value = affine(1, {step, 1});
        EXPECT_EQ(merged(nest).max_depth, step == 2 ? 1 : 2) << step;
    }
}

TEST(LoopCoalescingTest, OnlyLoopsOfIndependentIterationsBecomeOne) {
    for (const std::size_t loop : {0U, 1U}) {
        program::Program nest = Passing().nest();
        nest.loops[loop].kind = program::LoopKind::Sequential;
        const program::Program after = merged(nest);
        EXPECT_NE(executed(after), kMerged) << loop;
        EXPECT_EQ(test::symbolic_values(after), test::symbolic_values(nest)) << loop;
    }
}

TEST(LoopCoalescingTest, NumbersOfProducersCountOn) {
    program::Program nest = Passing().nest();
    nest.runs[0].producer = affine(5, {2, 1});
    nest.runs[1].depends_on = {affine(5, {2, 1})};
    const program::Program after = merged(nest);
    EXPECT_EQ(after.max_depth, 1);
    std::vector<std::int64_t> producers;
    program::Cursor cursor(after);
    while (const program::Step* step = cursor.next()) {
        if (!step->is_alloc && after.runs[step->run].producer) {
            producers.push_back(
                program::evaluate(*after.runs[step->run].producer, step->iterations));
        }
        if (!step->is_alloc && !after.runs[step->run].depends_on.empty()) {
            EXPECT_EQ(program::evaluate(after.runs[step->run].depends_on[0], step->iterations),
                      producers.back());
        }
    }
    ASSERT_EQ(producers.size(), 16U);
    for (std::size_t i = 0; i < producers.size(); ++i) {
        EXPECT_EQ(producers[i], 5 + static_cast<std::int64_t>(i));
    }
    nest.runs[1].depends_on = {affine(5, {1, 1})};
    EXPECT_EQ(merged(nest).max_depth, 2) << "one that does not count on";
}

}  // namespace
}  // namespace trnsim::lowering
