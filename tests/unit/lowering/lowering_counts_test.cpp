// SPDX-License-Identifier: Apache-2.0
// What is counted of the lowering's decisions is what is on the queues.
#include "trnsim/lowering/lowering_counts.hpp"

#include "lowered_program.hpp"
#include "support/program_builder.hpp"
#include "support/random_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace trnsim::lowering {
namespace {

using neuron_core::queue_of;
using test::LoweredProgram;

std::int64_t named(const LoweredProgram& lowered, const std::string& name) {
    return std::ranges::count(lowered.names(), name);
}

/// Waits for a load on Vector, and has other work for it meanwhile.
program::Program load_and_other_work(std::int64_t columns = 64, std::int64_t fills = 2) {
    test::ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128, columns});
    const auto loaded = builder.tile("loaded", Space::Sbuf, Dtype::Float32, {128, columns});
    const auto other = builder.tile("other", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto fill = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, other)}, {.value = 1.0});
    builder.alloc(loaded).alloc(other);
    builder.run(builder.copy(loaded, in));
    builder.run(builder.unary(Opcode::Reciprocal, Engine::Vector, loaded, loaded));
    builder.loop(fills).run(fill).end();
    return builder.build();
}

TEST(LoweringCountsTest, WhatPassesAnEarlierInstructionOfItsQueueIsEarly) {
    const LoweredProgram lowered(load_and_other_work(), {.reorder_window = 8});
    const LoweringCounts counts = lowered.lowering().counts();
    EXPECT_EQ(counts.engines.steps, 3);
    EXPECT_EQ(counts.engines.early, 2);
    EXPECT_EQ(counts.dma.steps, 1);
    EXPECT_EQ(counts.dma.early, 0);
    EXPECT_EQ(counts.tensor.steps, 0);
}

TEST(LoweringCountsTest, InProgramOrderNothingIsEarly) {
    const LoweredProgram lowered(load_and_other_work(), {.reorder_window = 1});
    EXPECT_EQ(lowered.lowering().counts().engines.early, 0);
    EXPECT_EQ(lowered.lowering().counts().engines.steps, 3);
}

TEST(LoweringCountsTest, WhoCountsOnHalfTheDmaRateHasTwiceTheWorkReadyForALoad) {
    const auto early = [](double rate) {
        const LoweredProgram lowered(load_and_other_work(8192, 1000),
                                     {.reorder_window = 4096, .planned_dma_rate = rate});
        return static_cast<double>(lowered.lowering().counts().engines.early);
    };
    EXPECT_GT(early(1.0), 50);
    EXPECT_NEAR(early(0.5) / early(1.0), 2.0, 0.4);  // But for the first byte and the completion.
}

/// Copies that Vector and Scalar may run, and one that only Vector does.
program::Program copies() {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 512});
    const auto copy =
        builder.add(Opcode::TensorCopy,
                    {Engine::Vector, Engine::Scalar},
                    {builder.whole(Role::Dst, tile), builder.whole(Role::Data, tile)});
    builder.alloc(tile).loop(10).run(copy).end();
    builder.run(builder.unary(Opcode::Reciprocal, Engine::Vector, tile, tile));
    return builder.build();
}

TEST(LoweringCountsTest, MovedIsWhatTheFirstEngineDoesNotRun) {
    const LoweredProgram first(copies());
    EXPECT_EQ(first.lowering().counts().choices, 10);
    EXPECT_EQ(first.lowering().counts().moved, 0);
    const LoweredProgram balanced(copies(), {.engine_choice = EngineChoice::Balanced});
    EXPECT_EQ(balanced.lowering().counts().choices, 10);
    EXPECT_EQ(balanced.lowering().counts().moved,
              static_cast<std::int64_t>(balanced.of(queue_of(Engine::Scalar)).size()));
    EXPECT_GT(balanced.lowering().counts().moved, 0);
}

TEST(LoweringCountsTest, TheOrderCoversEveryStepAndTheRestIsOnTheQueues) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const LoweredProgram lowered(
            test::random_program(seed),
            {.engine_choice = EngineChoice::Balanced, .matmul_window = 16, .reorder_window = 4});
        const LoweringCounts counts = lowered.lowering().counts();
        EXPECT_EQ(counts.tensor.steps + counts.engines.steps + counts.dma.steps,
                  lowered.lowering().executed());
        EXPECT_LE(counts.moved, counts.choices);
        EXPECT_EQ(counts.stationary_loads, named(lowered, "LoadStationary"));
        EXPECT_EQ(counts.stationary_loads + counts.stationary_reuses, named(lowered, "nc_matmul"));
        EXPECT_EQ(counts.spill_saves, named(lowered, "spill save"));
        EXPECT_EQ(counts.spill_reloads, named(lowered, "spill reload"));
    }
}

TEST(LoweringCountsTest, SpillsAreCountedOneByOne) {
    ChipSpec chip = test::chip_named("trainium2");
    chip.neuron_core.sbuf.usable_partition_kib = 2;
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 256});
    const auto fill = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, tile)}, {.value = 1.0});
    const auto look =
        builder.add(Opcode::RegisterLoad, {Engine::Vector}, {builder.part(Role::Data, tile, 1, 1)});
    for (int instance = 0; instance < 3; ++instance) {
        builder.alloc(tile).run(fill, {test::at(test::affine(instance))});
    }
    for (int instance = 0; instance < 3; ++instance) {
        builder.run(look, {test::at(test::affine(instance))});
    }
    const LoweredProgram lowered(builder.build(), {}, chip);
    const LoweringCounts counts = lowered.lowering().counts();
    EXPECT_GT(counts.spill_saves, 0);
    EXPECT_EQ(counts.spill_saves, named(lowered, "spill save"));
    EXPECT_EQ(counts.spill_reloads, named(lowered, "spill reload"));
}

}  // namespace
}  // namespace trnsim::lowering
