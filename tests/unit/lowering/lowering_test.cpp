// SPDX-License-Identifier: Apache-2.0
// Lowering decides by policy, and says what it decided.
#include "trnsim/lowering/lowering.hpp"

#include "loads_and_stores.hpp"
#include "lowered_program.hpp"
#include "support/program_builder.hpp"
#include "trnsim/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::lowering {
namespace {

using neuron_core::queue_of;
using neuron_core::queue_of_ring;
using test::affine;
using test::at;
using test::LoadsAndStores;
using test::LoweredProgram;
using test::ProgramBuilder;
using test::waits_of;
using testing::ElementsAre;

std::string error_of(const program::Program& program, const Policies& policies = {}) {
    try {
        const LoweredProgram lowered(program, policies);
    } catch (const ProgramError& error) {
        return error.what();
    }
    return "no error";
}

TEST(LoweringTest, KeepsProgramOrderInEveryQueue) {
    ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, tile, tile);
    const auto reciprocal = builder.unary(Opcode::Reciprocal, Engine::Vector, tile, tile);
    builder.alloc(tile).loop(2).run(copy).run(reciprocal).run(reciprocal).end();
    EXPECT_THAT(
        LoweredProgram(builder.build()).names(),
        ElementsAre(
            "tensor_copy", "reciprocal", "reciprocal", "tensor_copy", "reciprocal", "reciprocal"));
}

TEST(LoweringTest, WhatDependsOnAProducerWaitsForItsLatestEnd) {
    ProgramBuilder builder;
    const auto first = builder.tile("first", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto second = builder.tile("second", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto set = builder.add(
        Opcode::Memset, {Engine::Gpsimd}, {builder.whole(Role::Dst, first)}, {.value = 0.0});
    const auto other = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, second)}, {.value = 0.0});
    builder.alloc(first).alloc(second).loop(3).run(set).run(other).end().run(other);
    program::Program program = builder.build();
    const auto waits = [](const program::Program& of) {
        std::vector<std::string> found;
        const LoweredProgram lowered(of);
        for (const auto& instruction : lowered.of(queue_of(Engine::Vector))) {
            found.push_back(waits_of(instruction));
        }
        return found;
    };
    EXPECT_THAT(waits(program), ElementsAre("", "", "", ""));

    program.runs[0].producer = affine(4, {1});
    program.runs[1].depends_on = {affine(4, {1})};
    program.runs[2].depends_on = {affine(5)};  // The second iteration's, which has been waited for.
    EXPECT_THAT(waits(program), ElementsAre("3>=1", "3>=2", "3>=3", ""));
    program.runs[0].producer = affine(9);  // Of several executions the latest counts.
    program.runs[1].depends_on = {};
    program.runs[2].depends_on = {affine(9)};
    EXPECT_THAT(waits(program), ElementsAre("", "", "", "3>=3"));
    program.runs[1].producer = affine(10);  // Its own queue executes one after the other.
    program.runs[2].depends_on = {affine(10)};
    EXPECT_THAT(waits(program), ElementsAre("", "", "", ""));

    program.runs[2].depends_on = {affine(7)};
    EXPECT_EQ(error_of(program),
              "kernel.py:102: memset: depends on producer 7, but no run before it is that one; "
              "order them as they are executed");
}

TEST(LoweringTest, TheEndOfAnIterationCountsToItsLastInstruction) {
    ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, tile, tile);
    const auto last = builder.unary(Opcode::Reciprocal, Engine::Vector, tile, tile);
    builder.alloc(tile).loop(2).run(copy).run(last).end().run(copy);
    program::Program program = builder.build();
    program.loops.at(0).kind = program::LoopKind::Runtime;
    const LoweredProgram lowered(std::move(program));
    const auto barriers = lowered.of(queue_of(Engine::Sync));
    ASSERT_EQ(barriers.size(), 2U);
    for (const neuron_core::QueuedInstruction& barrier : barriers) {
        EXPECT_EQ(barrier.what->name, "LOOP_BARRIER");
        EXPECT_EQ(barrier.what->source, last);
    }
}

TEST(LoweringTest, WhateverComesAfterARegisterIsSetWaitsForIt) {
    ProgramBuilder builder;
    const auto count = builder.tile("count", Space::Sbuf, Dtype::Int32, {1, 1});
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto before = builder.unary(Opcode::TensorCopy, Engine::Vector, tile, tile);
    const auto load =
        builder.add(Opcode::RegisterLoad, {Engine::Sync}, {builder.whole(Role::Data, count)});
    const auto move = builder.add(Opcode::RegisterMove, {Engine::Sync}, {});
    const auto after = builder.unary(Opcode::Reciprocal, Engine::Scalar, tile, tile);
    builder.alloc(count).alloc(tile).run(before).run(load).run(move).run(after).run(after);
    const LoweredProgram lowered(builder.build());
    const std::string set = std::to_string(test::done_semaphore(queue_of(Engine::Sync)));
    EXPECT_EQ(waits_of(lowered.of(queue_of(Engine::Vector)).at(0)), "");
    EXPECT_EQ(waits_of(lowered.of(queue_of(Engine::Sync)).at(1)), "");  // In order on its queue.
    EXPECT_THAT(waits_of(lowered.of(queue_of(Engine::Scalar)).at(0)),
                testing::HasSubstr(set + ">=2"));
    EXPECT_THAT(waits_of(lowered.of(queue_of(Engine::Scalar)).at(1)),
                testing::Not(testing::HasSubstr(set + ">=")));  // Its queue has waited.
}

TEST(LoweringTest, ALoadOfTheArrayWaitsForARegisterToo) {
    ProgramBuilder builder;
    const auto left = builder.tile("left", Space::Sbuf, Dtype::Bfloat16, {128, 128});
    const auto sum = builder.tile("sum", Space::Psum, Dtype::Float32, {128, 128});
    builder.alloc(left).alloc(sum);
    builder.run(builder.add(Opcode::RegisterMove, {Engine::Sync}, {}));
    builder.run(builder.matmul(sum, left, left));
    const LoweredProgram lowered(builder.build());
    const std::string set = std::to_string(test::done_semaphore(queue_of(Engine::Sync)));
    EXPECT_EQ(waits_of(lowered.of(queue_of(Engine::Tensor)).at(0)), set + ">=1");
}

TEST(LoweringTest, ABarrierWaitsForTheOneBeforeItWhateverTheirEngines) {
    ProgramBuilder builder;
    for (const Engine engine : {Engine::Gpsimd, Engine::Vector, Engine::Gpsimd}) {
        builder.run(builder.add(Opcode::CoreBarrier, {engine}, {}));
    }
    const LoweredProgram lowered(builder.build());
    const auto ends = [](Engine engine) {
        return std::to_string(test::done_semaphore(queue_of(engine))) + ">=1";
    };
    EXPECT_EQ(waits_of(lowered.of(queue_of(Engine::Gpsimd)).at(0)), "");
    EXPECT_EQ(waits_of(lowered.of(queue_of(Engine::Vector)).at(0)), ends(Engine::Gpsimd));
    EXPECT_EQ(waits_of(lowered.of(queue_of(Engine::Gpsimd)).at(1)), ends(Engine::Vector));
}

TEST(LoweringTest, TensorsInHbmHaveToFitThereTogether) {
    const auto with_tensors = [](int count) {
        ProgramBuilder builder;
        constexpr std::int64_t kGib = std::int64_t{1} << 30U;
        for (int i = 0; i < count; ++i) {
            builder.tile("x" + std::to_string(i), Space::Hbm, Dtype::Float32, {kGib});
        }
        return builder.build();
    };
    EXPECT_EQ(error_of(with_tensors(24)), "no error") << "4 GiB each";
    EXPECT_EQ(error_of(with_tensors(25)),
              "HBM: the tensors of the program take 100.0 GiB, but trn2 has 96 GiB; make them "
              "smaller");
}

TEST(LoweringTest, UsesTheQueuesThatItFillsAndNoOthersUntilItHas) {
    const LoadsAndStores p(2);
    const program::Program program = p.builder.build();
    const Lowering lowering(program, test::chip_named("trainium2"), {});
    EXPECT_TRUE(lowering.uses(queue_of_ring(0)));
    EXPECT_TRUE(lowering.uses(queue_of_ring(3)));
    EXPECT_FALSE(lowering.uses(queue_of_ring(2)));
    EXPECT_FALSE(lowering.uses(queue_of(Engine::Vector)));
    const LoweredProgram lowered(program);
    EXPECT_FALSE(lowered.lowering().uses(queue_of_ring(0)));
    EXPECT_FALSE(lowered.lowering().uses(queue_of_ring(3)));
}

TEST(LoweringTest, PlannedLoadsAndStoresAreOnOneRing) {
    ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128, 64});
    const auto out = builder.output("out", Dtype::Float32, {128, 64});
    const auto planned = builder.tile("planned", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto changed = builder.tile("changed", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto later = builder.tile("later", Space::Sbuf, Dtype::Float32, {128, 64});
    builder.alloc(planned).alloc(changed).alloc(later);
    builder.run(builder.copy(planned, in)).run(builder.copy(changed, in));
    builder.run(builder.unary(Opcode::TensorCopy, Engine::Vector, changed, planned));
    builder.run(builder.copy(out, changed));
    builder.run(builder.copy(later, in));
    builder.run(builder.unary(Opcode::TensorCopy, Engine::Vector, changed, later));
    const auto rings = [&](LoadTiming loads, RingAssignment assignment) {
        const LoweredProgram lowered(
            builder.build(), {.loads = loads, .ring_assignment = assignment, .dma_rings = 2});
        std::vector<std::string> transfers(2);
        for (int ring = 0; ring < 2; ++ring) {
            for (const auto& transfer : lowered.of(queue_of_ring(ring))) {
                transfers[static_cast<std::size_t>(ring)] +=
                    transfer.what->transfer.bytes_read_hbm.value > 0 ? "load " : "store ";
            }
        }
        return transfers;
    };
    EXPECT_THAT(rings(LoadTiming::JustInTime, RingAssignment::AsPlanned),
                ElementsAre("load load store ", "load "));
    EXPECT_THAT(rings(LoadTiming::JustInTime, RingAssignment::PerSite),
                ElementsAre("load load load ", "store "));
    EXPECT_THAT(rings(LoadTiming::AsSoonAsPossible, RingAssignment::AsPlanned),
                ElementsAre("load load load ", "store "))
        << "nothing is planned";
}

TEST(LoweringTest, StepsAreOrderedAsIfPlannedLoadsWereThereWithTheirLastByte) {
    // On paper the bytes of x have moved after 1.5 us and are visible after 2.1; Scalar's copy of
    // 1,900 columns ends in between.
    ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128, 64});
    const auto x = builder.tile("x", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto from = builder.tile("from", Space::Sbuf, Dtype::Float32, {128, 1900});
    const auto wide = builder.tile("wide", Space::Sbuf, Dtype::Float32, {128, 1900});
    const auto y = builder.tile("y", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto z = builder.tile("z", Space::Sbuf, Dtype::Float32, {128, 1900});
    builder.alloc(x).alloc(from).alloc(wide).alloc(y).alloc(z);
    builder.run(builder.unary(Opcode::TensorCopy, Engine::Scalar, wide, from));
    builder.run(builder.copy(x, in));
    builder.run(builder.unary(Opcode::TensorCopy, Engine::Vector, z, wide));
    builder.run(builder.unary(Opcode::Reciprocal, Engine::Vector, y, x));
    const auto first_on_vector = [&](LoadTiming loads) {
        const LoweredProgram lowered(builder.build(), {.loads = loads, .reorder_window = 4});
        return lowered.of(queue_of(Engine::Vector)).at(0).what->name;
    };
    EXPECT_EQ(first_on_vector(LoadTiming::JustInTime), "reciprocal");
    EXPECT_EQ(first_on_vector(LoadTiming::AsSoonAsPossible), "tensor_copy");
}

/// Copies that Vector, GpSimd or Scalar may run.
program::Program open_copies(int count) {
    ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 512});
    const auto copy =
        builder.add(Opcode::TensorCopy,
                    {Engine::Vector, Engine::Gpsimd, Engine::Scalar},
                    {builder.whole(Role::Dst, tile), builder.whole(Role::Data, tile)});
    builder.alloc(tile).loop(count).run(copy).end();
    return builder.build();
}

TEST(LoweringTest, TheFirstAllowedEngineRunsEverythingByDefault) {
    const LoweredProgram queues(open_copies(6));
    EXPECT_EQ(queues.of(queue_of(Engine::Vector)).size(), 6U);
}

TEST(LoweringTest, BalancedEnginesEndTheirWorkAtAboutTheSameTime) {
    const LoweredProgram queues(open_copies(600), {.engine_choice = EngineChoice::Balanced});
    std::vector<double> work;
    for (const Engine engine : {Engine::Vector, Engine::Gpsimd, Engine::Scalar}) {
        double sum = 0.0;
        for (const auto& instruction : queues.of(queue_of(engine))) {
            sum += instruction.what->cost.interval.nanoseconds();
        }
        work.push_back(sum);
    }
    const auto [least, most] = std::ranges::minmax(work);
    EXPECT_LT(most - least, 1000.0) << "more than the longest instruction apart";
    EXPECT_GT(least, 0.0);
}

/// Activations of these functions on the Scalar Engine.
program::Program activations(const std::vector<std::string>& functions) {
    ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    builder.alloc(tile);
    for (const std::string& function : functions) {
        builder.run(builder.add(Opcode::Activation,
                                {Engine::Scalar},
                                {builder.whole(Role::Dst, tile), builder.whole(Role::Data, tile)},
                                {.function = function}));
    }
    return builder.build();
}

TEST(LoweringTest, ATableIsLoadedWhenAFunctionNeedsAnotherOne) {
    EXPECT_THAT(LoweredProgram(activations({"exp", "exp", "gelu", "exp"})).names(),
                ElementsAre("ACT_TABLE_LOAD",
                            "activation",
                            "activation",
                            "ACT_TABLE_LOAD",
                            "activation",
                            "ACT_TABLE_LOAD",
                            "activation"));
}

TEST(LoweringTest, TheFirstTableIsLoadedBeforeAllElse) {
    ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Scalar, tile, tile);
    const auto exp = builder.add(Opcode::Activation,
                                 {Engine::Scalar},
                                 {builder.whole(Role::Dst, tile), builder.whole(Role::Data, tile)},
                                 {.function = "exp"});
    builder.alloc(tile).run(copy).run(exp);
    EXPECT_THAT(LoweredProgram(builder.build()).names(),
                ElementsAre("ACT_TABLE_LOAD", "tensor_copy", "activation"));
}

/// A copy that waits for a load, and one that could overtake it; before both a loop in order.
program::Program copy_behind_a_load(bool is_in_order) {
    ProgramBuilder builder;
    const auto late = builder.tile("late", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto ready = builder.tile("ready", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto load = builder.copy(late, builder.input("in", Dtype::Float32, {128, 64}));
    const auto fill = builder.unary(Opcode::TensorCopy, Engine::Gpsimd, ready, ready);
    const auto first = builder.unary(Opcode::TensorCopy, Engine::Vector, late, late);
    const auto second = builder.unary(Opcode::Reciprocal, Engine::Vector, ready, ready);
    builder.alloc(late).alloc(ready).loop(1, true).run(fill).end().run(load);
    builder.loop(1, is_in_order).loop(1).run(first).run(second).end().end();
    return builder.build();
}

TEST(LoweringTest, ALoopInOrderKeepsItsOrderInAnyWindow) {
    const Policies window{.reorder_window = 16};
    const auto on_vector = [&](bool is_in_order) {
        const LoweredProgram lowered(copy_behind_a_load(is_in_order), window);
        std::vector<std::string> names;
        for (const auto& instruction : lowered.of(queue_of(Engine::Vector))) {
            names.emplace_back(instruction.what->name);
        }
        return names;
    };
    EXPECT_THAT(on_vector(false), ElementsAre("reciprocal", "tensor_copy"));
    EXPECT_THAT(on_vector(true), ElementsAre("tensor_copy", "reciprocal"));
}

TEST(LoweringTest, WhoReadsTheSumOfAnActivationWaitsForItsReadoutAndNobodyElse) {
    ProgramBuilder builder;
    const auto from = builder.tile("from", Space::Sbuf, Dtype::Float32, {128, 512});
    const auto result = builder.tile("result", Space::Sbuf, Dtype::Float32, {128, 512});
    const auto sum = builder.tile("sum", Space::Sbuf, Dtype::Float32, {128, 1});
    const auto reduce = builder.exp_and_sum(result, from, sum);
    const auto of_result = builder.unary(Opcode::TensorCopy, Engine::Vector, from, result);
    const auto of_sum = builder.unary(Opcode::TensorCopy, Engine::Gpsimd, sum, sum);
    builder.alloc(from).alloc(result).alloc(sum).run(reduce).run(of_result).run(of_sum);
    const LoweredProgram lowered(builder.build());
    EXPECT_THAT(lowered.names(),
                ElementsAre("ACT_TABLE_LOAD",
                            "activation_reduce",
                            "ACTIVATION_READ_ACCUMULATOR",
                            "tensor_copy",
                            "tensor_copy"));
    const auto ends = std::to_string(test::done_semaphore(queue_of(Engine::Scalar)));
    EXPECT_EQ(waits_of(lowered.of(queue_of(Engine::Scalar)).at(2)), "");
    EXPECT_EQ(waits_of(lowered.of(queue_of(Engine::Vector)).at(0)), ends + ">=2");
    EXPECT_EQ(waits_of(lowered.of(queue_of(Engine::Gpsimd)).at(0)), ends + ">=3");
}

TEST(LoweringTest, AnActivationTouchesTheBanksOfItsResultAndItsReadoutThatOfTheSum) {
    ProgramBuilder builder;
    const auto from = builder.tile("from", Space::Sbuf, Dtype::Float32, {128, 512});
    const auto result = builder.tile("result", Space::Psum, Dtype::Float32, {128, 512}, {{0, 0}});
    const auto sum = builder.tile("sum", Space::Psum, Dtype::Float32, {128, 1}, {{0, 3 * 2048}});
    const auto reduce = builder.exp_and_sum(result, from, sum);
    builder.alloc(from).alloc(result).alloc(sum).run(reduce);
    const LoweredProgram lowered(builder.build());
    const auto& on_scalar = lowered.of(queue_of(Engine::Scalar));
    ASSERT_EQ(on_scalar.size(), 3U);
    EXPECT_EQ(on_scalar[1].psum_banks, 1U << 0U);
    EXPECT_EQ(on_scalar[2].psum_banks, 1U << 3U);
}

TEST(LoweringTest, BalancedEnginesCountTheReadoutOfASumAsWorkOfScalar) {
    // Vector has more to do than the activation, and less than it with its readout.
    const auto engine_behind = [](bool has_sum) {
        ProgramBuilder builder;
        const auto from = builder.tile("from", Space::Sbuf, Dtype::Float32, {128, 512});
        const auto result = builder.tile("result", Space::Sbuf, Dtype::Float32, {128, 512});
        const auto sum = builder.tile("sum", Space::Sbuf, Dtype::Float32, {128, 1});
        const auto wide = builder.tile("wide", Space::Sbuf, Dtype::Float32, {128, 1500});
        const auto small = builder.tile("small", Space::Sbuf, Dtype::Float32, {128, 64});
        const auto exp =
            has_sum
                ? builder.exp_and_sum(result, from, sum)
                : builder.add(Opcode::Activation,
                              {Engine::Scalar},
                              {builder.whole(Role::Dst, result), builder.whole(Role::Data, from)},
                              {.function = "exp"});
        const auto on_vector = builder.unary(Opcode::TensorCopy, Engine::Vector, wide, wide);
        const auto copy =
            builder.add(Opcode::TensorCopy,
                        {Engine::Vector, Engine::Scalar},
                        {builder.whole(Role::Dst, small), builder.whole(Role::Data, small)});
        builder.alloc(from).alloc(result).alloc(sum).alloc(wide).alloc(small);
        builder.run(exp).run(on_vector).run(copy);
        const LoweredProgram lowered(builder.build(), {.engine_choice = EngineChoice::Balanced});
        return lowered.of(queue_of(Engine::Vector)).size() == 2 ? Engine::Vector : Engine::Scalar;
    };
    EXPECT_EQ(engine_behind(false), Engine::Scalar);
    EXPECT_EQ(engine_behind(true), Engine::Vector);
}

TEST(LoweringTest, CountsItsTableLoadsAndTheProgramsInstructions) {
    const LoweredProgram lowered(activations({"exp", "gelu", "exp"}));
    EXPECT_EQ(lowered.lowering().table_loads(), 3);
    EXPECT_EQ(lowered.lowering().executed(), 3);
}

TEST(LoweringTest, CopiesNeedNoTable) {
    EXPECT_THAT(LoweredProgram(activations({"copy", "copy"})).names(),
                ElementsAre("activation", "activation"));
}

TEST(LoweringTest, ReadsOfATensorNeverWrittenWaitForNothing) {
    const LoadsAndStores program(2);
    const LoweredProgram queues(program.builder.build());
    EXPECT_EQ(waits_of(queues.entries()[0].instruction), "");
    EXPECT_EQ(waits_of(queues.entries()[1].instruction), "");
}

TEST(LoweringTest, AStoreWaitsForTheLoadOfItsTile) {
    const LoadsAndStores program(1);
    const LoweredProgram queues(program.builder.build());
    EXPECT_EQ(waits_of(queues.entries()[1].instruction),
              std::to_string(test::done_semaphore(queue_of_ring(0))) + ">=1");
}

TEST(LoweringTest, WhatIsReadBackFromHbmWaitsForItsStore) {
    ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128, 64});
    const auto scratch = builder.tile("scratch", Space::Hbm, Dtype::Float32, {128, 64});
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto load = builder.copy(tile, in);
    const auto store = builder.copy(scratch, tile);
    const auto again = builder.copy(tile, scratch);
    builder.alloc(scratch).alloc(tile).run(load).run(store);
    builder.alloc(tile).run(again, {at(affine(1))});
    const LoweredProgram queues(builder.build());
    const auto& stored = queues.entries()[1];
    EXPECT_THAT(waits_of(queues.entries()[2].instruction),
                testing::HasSubstr(std::to_string(test::done_semaphore(stored.queue)) + ">=1"));
}

/// Where a store of some columns of some partitions goes in a tensor of rows of 64.
struct Store {
    std::int64_t columns = 64;
    std::int64_t element = 0;
    std::int64_t partition = 0;
    std::int32_t partitions = 16;
};

/// Whether the second of two stores on one ring waits for the first, of all columns from row 1 on.
bool waits_on_its_ring(const Store& second, const Store& first = {.element = 64}) {
    ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto out = builder.output("out", Dtype::Float32, {128, 64});
    builder.alloc(tile);
    for (const Store& store : {first, second}) {
        const auto copy =
            builder.add(Opcode::DmaCopy,
                        {Engine::Dma},
                        {builder.rows(Role::Dst, out, store.partitions, store.columns),
                         builder.part(Role::Src, tile, store.columns, store.partitions)},
                        {.dge = DgeMode::None});
        builder.run(copy, {at({}, affine(store.element)), at({}, {}, affine(store.partition))});
    }
    const LoweredProgram lowered(builder.build(), {.dma_rings = 1, .trigger_in_queues = false});
    const auto on_ring = lowered.of(queue_of_ring(0));
    EXPECT_EQ(on_ring.size(), 2U);
    return waits_of(on_ring.back()) ==
           std::to_string(test::done_semaphore(queue_of_ring(0))) + ">=1";
}

TEST(LoweringTest, TransfersOfARingWaitForEachOtherOnlyWhereBytesChangeTheirDmaEngine) {
    EXPECT_FALSE(waits_on_its_ring({.element = 64})) << "the same";
    EXPECT_FALSE(waits_on_its_ring({.columns = 16, .element = 64 + 40})) << "parts of its rows";
    EXPECT_FALSE(waits_on_its_ring({.columns = 16, .element = 128, .partition = 1}))
        << "from row 1";
    EXPECT_FALSE(waits_on_its_ring({.element = std::int64_t{64} * 64, .partition = 8}))
        << "other rows";
    EXPECT_TRUE(waits_on_its_ring({.element = 64, .partition = 8}));
    EXPECT_TRUE(waits_on_its_ring({.columns = 16, .element = 128})) << "row 1 from partition 0";
    EXPECT_TRUE(waits_on_its_ring({.columns = 32, .element = 64 + 40})) << "over ends of rows";
    const Store row{.element = 64, .partition = 3, .partitions = 1};
    const Store over_its_end{.columns = 32, .element = 64 + 40, .partition = 3, .partitions = 1};
    EXPECT_FALSE(waits_on_its_ring(over_its_end, row)) << "all of it in one partition";
}

/// Whether the second iteration of a loop that scatters rows waits for the first.
bool scatter_waits_for_the_one_before(program::LoopKind kind) {
    ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto indices = builder.tile("indices", Space::Sbuf, Dtype::Int32, {128, 1});
    const auto out = builder.output("out", Dtype::Float32, {1024, 64});
    Operand rows = builder.rows(Role::Dst, out, 128, 64);
    rows.indirect = 2;
    const auto scatter = builder.add(
        Opcode::DmaCopy,
        {Engine::Dma},
        {rows, builder.part(Role::Src, tile, 64), builder.part(Role::Index, indices, 1)},
        {.dge = DgeMode::None});
    builder.alloc(tile).alloc(indices).loop(2).run(scatter).end();
    program::Program program = builder.build();
    program.loops.front().kind = kind;
    const LoweredProgram lowered(program, {.dma_rings = 1, .trigger_in_queues = false});
    const auto on_ring = lowered.of(queue_of_ring(0));
    EXPECT_EQ(on_ring.size(), 2U);
    return !waits_of(on_ring.back()).empty();
}

TEST(LoweringTest, ScattersWaitForEachOtherUnlessTheirIterationsAreIndependent) {
    EXPECT_FALSE(scatter_waits_for_the_one_before(program::LoopKind::Affine));
    EXPECT_TRUE(scatter_waits_for_the_one_before(program::LoopKind::Sequential));
    EXPECT_TRUE(scatter_waits_for_the_one_before(program::LoopKind::Python));
}

/// The waits of Scalar's copy behind Vector's, each onto a tile at an address of its own.
std::string waits_behind(Space space,
                         const ProgramBuilder::FixedAddress& first,
                         const ProgramBuilder::FixedAddress& second) {
    ProgramBuilder builder;
    const auto from = builder.tile("from", Space::Sbuf, Dtype::Float32, {32, 64});
    const auto a = builder.tile("a", Space::Sbuf, Dtype::Float32, {32, 64}, first);
    const auto b = builder.tile("b", space, Dtype::Float32, {32, 64}, second);
    const auto write_a = builder.unary(Opcode::TensorCopy, Engine::Vector, a, from);
    const auto write_b = builder.unary(Opcode::TensorCopy, Engine::Scalar, b, from);
    builder.alloc(from).alloc(a).alloc(b).run(write_a).run(write_b);
    const LoweredProgram lowered(builder.build());
    return waits_of(lowered.of(queue_of(Engine::Scalar)).front());
}

TEST(LoweringTest, TilesAtFixedAddressesWaitForOneAnotherWhereTheirBytesMeet) {
    const std::string vector_ended =
        std::to_string(test::done_semaphore(queue_of(Engine::Vector))) + ">=1";
    EXPECT_EQ(waits_behind(Space::Sbuf, {0, 0}, {0, 255}), vector_ended);
    EXPECT_EQ(waits_behind(Space::Sbuf, {0, 0}, {0, 256}), "");
    EXPECT_EQ(waits_behind(Space::Sbuf, {32, 0}, {32, 0}), vector_ended);
    EXPECT_EQ(waits_behind(Space::Sbuf, {0, 0}, {32, 0}), "");
    EXPECT_EQ(waits_behind(Space::Psum, {0, 0}, {0, 0}), "");
}

TEST(LoweringTest, AMatmulResultAcrossBanksIsAnError) {
    ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Bfloat16, {128, 128});
    const auto sums = builder.tile("sums", Space::Psum, Dtype::Float32, {128, 1024});
    const auto matmul = builder.add(Opcode::NcMatmul,
                                    {Engine::Tensor},
                                    {builder.part(Role::Dst, sums, 128),
                                     builder.whole(Role::Stationary, tile),
                                     builder.whole(Role::Moving, tile)});
    builder.alloc(tile).alloc(sums).run(matmul, {at({}, affine(384))});
    EXPECT_EQ(error_of(builder.build()), "no error");
    builder.run(matmul, {at({}, affine(385))});
    EXPECT_EQ(error_of(builder.build()),
              "kernel.py:101: nc_matmul: dst covers bytes 1540 to 2051 of PSUM, across banks "
              "of 2048 bytes; keep the result of one matmul inside a bank");
}

TEST(LoweringTest, AnInstructionKnowsThePsumBanksItTouches) {
    ProgramBuilder builder;
    const auto a = builder.tile("a", Space::Psum, Dtype::Float32, {128, 512});
    const auto b = builder.tile("b", Space::Psum, Dtype::Float32, {128, 1024});
    const auto copy = builder.add(Opcode::TensorCopy,
                                  {Engine::Vector},
                                  {builder.whole(Role::Dst, a), builder.part(Role::Data, b, 512)});
    builder.alloc(a).alloc(b).run(copy).run(copy, {{}, at({}, affine(512))});
    builder.run(copy, {{}, at({}, affine(1))});
    const LoweredProgram queues(builder.build());
    EXPECT_EQ(queues.entries()[0].instruction.psum_banks, 0b011);
    EXPECT_EQ(queues.entries()[1].instruction.psum_banks, 0b101);
    EXPECT_EQ(queues.entries()[2].instruction.psum_banks, 0b111);
}

TEST(LoweringTest, ARegisterMoveOnTheTensorEngineIsOneInstruction) {
    ProgramBuilder builder;
    builder.run(builder.add(Opcode::RegisterMove, {Engine::Tensor}, {}));
    EXPECT_THAT(LoweredProgram(builder.build()).names(), ElementsAre("register_move"));
}

TEST(LoweringTest, AChipWithTooFewSemaphoresIsAnError) {
    ChipSpec chip = test::chip_named("trainium2");
    chip.neuron_core.semaphore_file.count = 25;
    try {
        const LoweredProgram lowered(LoadsAndStores(1).builder.build(), {}, chip);
        FAIL() << "there is no error";
    } catch (const ConfigError& error) {
        EXPECT_STREQ(
            error.what(),
            "neuron_core.semaphore_file.count: 25, but 26 are needed to order 21 queues; set at "
            "least 26");
    }
}

TEST(LoweringTest, AnInstanceUsedBeforeItIsAllocatedIsAnError) {
    ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, tile, tile);
    builder.loop(3).alloc(tile).run(copy, {at(affine(1, {1})), at(affine(0, {1}))}).end();
    builder.alloc(tile);
    EXPECT_EQ(
        error_of(builder.build()),
        "kernel.py:101: tensor_copy: dst is instance 1 of tile, which is not allocated yet; move "
        "its \"alloc\" record before this one");
}

TEST(LoweringTest, AGatherWaitsForAnyWriteToItsTensorAndAScatterHoldsUpAnyRead) {
    ProgramBuilder builder;
    const auto table = builder.output("table", Dtype::Float32, {4096, 64});
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto index = builder.tile("index", Space::Sbuf, Dtype::Int32, {128, 1});
    const Operand rows = builder.rows(Role::Dst, table, 128, 64);
    const auto store = builder.add(Opcode::DmaCopy,
                                   {Engine::Dma},
                                   {rows, builder.whole(Role::Src, tile)},
                                   {.dge = DgeMode::None});
    Operand anywhere = rows;
    anywhere.indirect = 2;
    const auto scatter =
        builder.add(Opcode::DmaCopy,
                    {Engine::Dma},
                    {anywhere, builder.whole(Role::Src, tile), builder.whole(Role::Index, index)});
    anywhere.role = Role::Src;
    anywhere.access = Access::Read;
    const auto gather =
        builder.add(Opcode::DmaCopy,
                    {Engine::Dma},
                    {builder.whole(Role::Dst, tile), anywhere, builder.whole(Role::Index, index)});
    Operand read = rows;
    read.role = Role::Src;
    read.access = Access::Read;
    const auto load = builder.add(Opcode::DmaCopy,
                                  {Engine::Dma},
                                  {builder.whole(Role::Dst, tile), read},
                                  {.dge = DgeMode::None});
    constexpr std::int64_t kFarRow = std::int64_t{2000} * 64;
    builder.alloc(index).alloc(tile).alloc(tile).alloc(tile);
    builder.run(store, {at({}, affine(kFarRow))});
    builder.run(gather, {at(affine(1))});
    builder.run(scatter, {at(), at(affine(2))});
    builder.run(load, {at(affine(1)), at({}, affine(kFarRow))});
    const LoweredProgram queues(builder.build());
    const std::string stores =
        std::to_string(test::done_semaphore(queues.entries()[0].queue)) + ">=";
    ASSERT_EQ(queues.entries().size(), 6U) << "GpSimd triggers the gather and the scatter";
    EXPECT_THAT(waits_of(queues.entries()[1].instruction), testing::HasSubstr(stores + "1"));
    const std::string scatters =
        std::to_string(test::done_semaphore(queues.entries()[4].queue)) + ">=";
    EXPECT_THAT(waits_of(queues.entries()[5].instruction), testing::HasSubstr(stores + "1"));
    EXPECT_THAT(waits_of(queues.entries()[5].instruction), testing::HasSubstr(scatters + "2"));
}

TEST(LoweringTest, ATransferWaitsForItsTriggerAloneAndTheTriggerForAllElse) {
    ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128, 64});
    const auto out = builder.output("out", Dtype::Float32, {128, 64});
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto load = builder.copy(tile, in, DgeMode::None);
    const auto store = builder.add(Opcode::DmaCopy,
                                   {Engine::Dma},
                                   {builder.whole(Role::Dst, out), builder.whole(Role::Src, tile)},
                                   {.dge = DgeMode::None, .trigger = Engine::Vector});
    builder.alloc(tile).run(load).run(store);
    const LoweredProgram queues(builder.build());
    const auto& entries = queues.entries();
    ASSERT_EQ(entries.size(), 3U);
    EXPECT_EQ(entries[1].queue, neuron_core::queue_of(Engine::Vector));
    EXPECT_EQ(entries[1].instruction.what->name, "DMA_DIRECT2D");
    EXPECT_EQ(waits_of(entries[1].instruction),
              std::to_string(test::done_semaphore(entries[0].queue)) + ">=1");
    EXPECT_EQ(waits_of(entries[2].instruction),
              std::to_string(trigger_semaphore(entries[1].queue)) + ">=1");
    const auto signals = entries[1].instruction.signals();
    ASSERT_EQ(signals.size(), 2U);
    EXPECT_EQ(signals[1].semaphore, trigger_semaphore(entries[1].queue));
    EXPECT_TRUE(signals[1].at_begin) << "whatever of its engine's instructions has still to read";
}

/// What Scalar does in which order: `tensor_copy` of what a transfer brings that `trigger` begins,
/// `reciprocal` of what is there soon after Vector's one instruction, which takes longer than a
/// transfer. The transfer is of its result, or of what it reads.
std::vector<std::string> order_behind_transfer(std::optional<Engine> trigger, bool is_of_result) {
    ProgramBuilder builder;
    const auto left = builder.tile("left", Space::Sbuf, Dtype::Float32, {128, 8192});
    const auto right = builder.tile("right", Space::Sbuf, Dtype::Float32, {128, 8192});
    const auto moved = builder.tile("moved", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto made = builder.tile("made", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto lengthy = builder.unary(Opcode::TensorCopy, Engine::Vector, right, left);
    const auto make =
        builder.add(Opcode::TensorCopy,
                    {Engine::Gpsimd},
                    {builder.whole(Role::Dst, made), builder.part(Role::Data, right, 64)});
    const auto move = builder.add(
        Opcode::DmaCopy,
        {Engine::Dma},
        {builder.whole(Role::Dst, moved), builder.part(Role::Src, is_of_result ? right : left, 64)},
        {.dge = DgeMode::None, .trigger = trigger});
    const auto first = builder.unary(Opcode::TensorCopy, Engine::Scalar, moved, moved);
    const auto second = builder.unary(Opcode::Reciprocal, Engine::Scalar, made, made);
    builder.alloc(left).alloc(right).alloc(moved).alloc(made);
    builder.run(lengthy).run(make).run(move).run(first).run(second);
    const LoweredProgram lowered(builder.build(), {.reorder_window = 16});
    std::vector<std::string> names;
    for (const auto& instruction : lowered.of(queue_of(Engine::Scalar))) {
        names.emplace_back(instruction.what->name);
    }
    return names;
}

TEST(LoweringTest, ATransferIsExpectedWhenItsTriggerCanBegin) {
    const auto at_once = ElementsAre("tensor_copy", "reciprocal");
    const auto late = ElementsAre("reciprocal", "tensor_copy");
    EXPECT_THAT(order_behind_transfer(std::nullopt, false), at_once);
    EXPECT_THAT(order_behind_transfer(Engine::Sync, false), at_once);
    EXPECT_THAT(order_behind_transfer(Engine::Vector, false), late) << "Vector is busy";
    EXPECT_THAT(order_behind_transfer(Engine::Sync, true), late) << "its source is not there yet";
}

/// In which order an engine triggers two transfers, of which the first waits for Vector.
std::vector<std::uint32_t> order_of_triggers(Engine engine, program::LoopKind loop) {
    ProgramBuilder builder;
    const auto from = builder.tile("from", Space::Sbuf, Dtype::Float32, {128, 8192});
    const auto late = builder.tile("late", Space::Sbuf, Dtype::Float32, {128, 8192});
    const auto first = builder.tile("first", Space::Sbuf, Dtype::Float32, {128, 8192});
    const auto second = builder.tile("second", Space::Sbuf, Dtype::Float32, {128, 8192});
    const auto make = builder.unary(Opcode::TensorCopy, Engine::Vector, late, from);
    const auto move = [&](std::uint32_t to, std::uint32_t what) {
        return builder.add(Opcode::DmaCopy,
                           {Engine::Dma},
                           {builder.whole(Role::Dst, to), builder.whole(Role::Src, what)},
                           {.dge = DgeMode::None, .trigger = engine});
    };
    const auto waiting = move(first, late);
    const auto ready = move(second, from);
    builder.loop(1).alloc(from).alloc(late).alloc(first).alloc(second);
    builder.run(make).run(waiting).run(ready).end();
    program::Program program = builder.build();
    program.loops.front().kind = loop;
    const LoweredProgram lowered(std::move(program), {.reorder_window = 16});
    std::vector<std::uint32_t> order;
    for (const auto& instruction : lowered.of(queue_of(engine))) {
        order.push_back(instruction.what->source - waiting);
    }
    return order;
}

TEST(LoweringTest, InOnePieceOfCodeSyncTriggersInProgramOrder) {
    using program::LoopKind;
    for (const LoopKind unrolled : {LoopKind::Python, LoopKind::Static}) {
        EXPECT_THAT(order_of_triggers(Engine::Sync, unrolled), ElementsAre(0, 1));
        EXPECT_THAT(order_of_triggers(Engine::Gpsimd, unrolled), ElementsAre(1, 0));
    }
    for (const LoopKind seen : {LoopKind::Affine, LoopKind::Sequential}) {
        EXPECT_THAT(order_of_triggers(Engine::Sync, seen), ElementsAre(1, 0));
    }
}

}  // namespace
}  // namespace trnsim::lowering
