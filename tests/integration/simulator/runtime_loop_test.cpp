// SPDX-License-Identifier: Apache-2.0
// Loops whose trips a register says: one iteration after the other. [NKI-DYNAMIC-LOOPS]
#include "support/program_builder.hpp"
#include "support/recorded_timeline.hpp"
#include "support/simulation.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

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

TEST(RuntimeLoop, TilesOfAnIterationOverlap) {
    const auto total = [&](std::int64_t trips, std::int64_t tiles, std::string_view loads) {
        RunOptions options{.policies = lowering::default_policies("nki")};
        lowering::set(options.policies, fmt::format("loads={}", loads));
        return test::run(
                   streamed(program::LoopKind::Runtime, trips, tiles), test::chip("trn2"), options)
            .total;
    };
    const auto planned = total(4, 4, "just_in_time");
    EXPECT_LT(planned, total(16, 1, "just_in_time"));
    EXPECT_LT(planned, total(4, 4, "as_soon_as_possible"));
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
