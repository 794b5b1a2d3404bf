// SPDX-License-Identifier: Apache-2.0
// Loops whose trips a register says: one iteration after the other. [NKI-DYNAMIC-LOOPS]
#include "support/program_builder.hpp"
#include "support/recorded_timeline.hpp"
#include "support/simulation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace trnsim {
namespace {

/// Loads a tile, computes and stores it, `tiles` times in each of `trips` iterations.
program::Program streamed(program::LoopKind kind, std::int64_t trips, std::int64_t tiles = 1) {
    test::ProgramBuilder builder;
    const auto input = builder.input("x", Dtype::Float32, {128, 2048});
    const auto output = builder.output("y", Dtype::Float32, {128, 2048});
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 2048});
    const auto result = builder.tile("result", Space::Sbuf, Dtype::Float32, {128, 2048});
    const auto load = builder.copy(tile, input, DgeMode::Hardware);
    const auto compute = builder.unary(Opcode::TensorCopy, Engine::Vector, result, tile);
    const auto store = builder.copy(output, result, DgeMode::Hardware);
    const auto newest = test::at(test::affine(0, {tiles, 1}));
    builder.loop(trips).loop(tiles).alloc(tile).run(load, {newest});
    builder.alloc(result).run(compute, {newest, newest}).run(store, {test::at(), newest});
    builder.end().end();
    program::Program program = builder.build();
    program.loops.front().kind = kind;
    return program;
}

TEST(RuntimeLoop, NothingOfAnIterationBeginsBeforeAllOfTheOneBeforeHasEnded) {
    test::RecordedTimeline timeline;
    RunOptions options{.policies = {}, .timeline = &timeline, .progress = {}};
    options.policies.dma_rings = 1;  // Transfers of a ring overlap elsewhere.
    static_cast<void>(
        test::run(streamed(program::LoopKind::Runtime, 4), test::chip("trn2"), options));
    auto transfers = timeline.of("dma_copy");
    std::ranges::sort(transfers, {}, &test::RecordedTimeline::Entry::start);
    ASSERT_EQ(transfers.size(), 8U);
    for (std::size_t i = 1; i < transfers.size(); ++i) {
        EXPECT_GE(transfers[i].start, transfers[i - 1].start + transfers[i - 1].duration) << i;
    }
}

TEST(RuntimeLoop, IterationsTakeEquallyLong) {
    const ChipSpec chip = test::chip("trn2");
    const auto total = [&](std::int64_t trips) {
        return test::run(streamed(program::LoopKind::Runtime, trips), chip).total;
    };
    EXPECT_EQ(total(7) - total(6), total(5) - total(4));
}

ChipSpec with_barrier(std::int64_t nanoseconds) {
    ChipSpec chip = test::chip("trn2");
    chip.neuron_core.sync_engine.loop_barrier_ns = Picoseconds{nanoseconds * 1000};
    return chip;
}

TEST(RuntimeLoop, TilesOfAnIterationOverlap) {
    const RunOptions options{.policies = lowering::default_policies("nki")};
    const auto total = [&](std::int64_t trips, std::int64_t tiles) {
        return test::run(
                   streamed(program::LoopKind::Runtime, trips, tiles), with_barrier(0), options)
            .total;
    };
    EXPECT_LT(total(4, 4), total(16, 1));
}

TEST(RuntimeLoop, ABarrierIsBetweenEveryTwoIterations) {
    for (const std::int64_t trips : {1, 2, 5}) {
        const auto total = [trips](std::int64_t nanoseconds) {
            return test::run(streamed(program::LoopKind::Runtime, trips), with_barrier(nanoseconds))
                .total;
        };
        EXPECT_EQ(total(5000) - total(1000), Picoseconds{(trips - 1) * 4'000'000}) << trips;
    }
}

TEST(RuntimeLoop, ThePolicyLetsIterationsOverlap) {
    RunOptions options;
    options.policies.drain_iterations = false;
    const ChipSpec chip = test::chip("trn2");
    EXPECT_EQ(test::run(streamed(program::LoopKind::Runtime, 8), chip, options).total,
              test::run(streamed(program::LoopKind::Sequential, 8), chip).total);
}

TEST(RuntimeLoop, OtherLoopsOverlapTheirIterations) {
    const ChipSpec chip = test::chip("trn2");
    const auto total = [&](program::LoopKind kind) {
        return test::run(streamed(kind, 16), chip).total;
    };
    EXPECT_LT(total(program::LoopKind::Sequential), total(program::LoopKind::Runtime));
}

}  // namespace
}  // namespace trnsim
