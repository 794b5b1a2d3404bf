// SPDX-License-Identifier: Apache-2.0
// A DMA that an engine triggers is an instruction of that engine's queue.
#include "support/program_builder.hpp"
#include "support/recorded_timeline.hpp"
#include "support/simulation.hpp"
#include "trnsim/neuron_core/queued_instruction.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace trnsim {
namespace {

constexpr std::int64_t kRounds = 50;

/// In every iteration one instruction of `engine` and one load, which have nothing to do with each
/// other.
RunResult run_beside(Engine engine, DgeMode dge, std::optional<Engine> trigger) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto left = builder.tile("left", Space::Sbuf, Dtype::Float32, {128, 512});
    const auto right = builder.tile("right", Space::Sbuf, Dtype::Float32, {128, 512});
    const auto memory = builder.input("memory", Dtype::Float32, {128, 64});
    const auto work = builder.unary(Opcode::TensorCopy, engine, right, left);
    const auto load =
        builder.add(Opcode::DmaCopy,
                    {Engine::Dma},
                    {builder.whole(Role::Dst, tile), builder.whole(Role::Src, memory)},
                    {.dge = dge, .trigger = trigger});
    builder.alloc(tile).alloc(left).alloc(right);
    builder.loop(kRounds).run(work).run(load).end();
    return test::run(builder.build(), test::chip("trn2"));
}

Picoseconds active(const RunResult& result, Engine engine) {
    return result.engines.at(engine).active;
}

TEST(DmaTrigger, HardwareTriggersTakeTheTimeOfTheSequencerThatIsNamedBesideItsComputing) {
    const auto alone = run_beside(Engine::Scalar, DgeMode::Hardware, Engine::Sync);
    const auto both = run_beside(Engine::Scalar, DgeMode::Hardware, Engine::Scalar);
    const Picoseconds trigger = test::chip("trn2").neuron_core.dge.hardware.sequencer_ns;
    EXPECT_LT(active(alone, Engine::Scalar), kRounds * trigger);
    EXPECT_EQ(active(both, Engine::Scalar), kRounds * trigger) << "each hides a copy";
    EXPECT_EQ(active(alone, Engine::Sync), kRounds * trigger);
    EXPECT_EQ(both.engines.at(Engine::Scalar).instructions, 2 * kRounds);
    EXPECT_EQ(both.dma.transfers, kRounds);
    EXPECT_EQ(both.dma.bytes, alone.dma.bytes);
}

TEST(DmaTrigger, DescriptorsBySoftwareTakeGpsimdsTime) {
    const auto alone = run_beside(Engine::Gpsimd, DgeMode::None, std::nullopt);
    const auto both = run_beside(Engine::Gpsimd, DgeMode::Software, std::nullopt);
    const auto& software = test::chip("trn2").neuron_core.dge.software;
    const Picoseconds generation = software.issue_interval_ns + 128 * software.per_descriptor_ns;
    EXPECT_EQ(active(both, Engine::Gpsimd), active(alone, Engine::Gpsimd) + kRounds * generation);
}

TEST(DmaTrigger, WhatNobodyTriggersTakesNobodysTime) {
    const auto result = run_beside(Engine::Vector, DgeMode::None, std::nullopt);
    EXPECT_EQ(result.engines.at(Engine::Vector).instructions, kRounds);
    for (const Engine engine : {Engine::Sync, Engine::Scalar, Engine::Gpsimd, Engine::Tensor}) {
        EXPECT_EQ(active(result, engine), Picoseconds{});
    }
}

/// One long copy on `engine` and a load behind it, maybe with the same copy behind that.
program::Program copy_and_load(Engine engine,
                               DgeMode dge,
                               std::optional<Engine> trigger,
                               bool copies_again = false) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto left = builder.tile("left", Space::Sbuf, Dtype::Float32, {128, 8192});
    const auto right = builder.tile("right", Space::Sbuf, Dtype::Float32, {128, 8192});
    const auto memory = builder.input("memory", Dtype::Float32, {128, 64});
    const auto work = builder.unary(Opcode::TensorCopy, engine, right, left);
    const auto load =
        builder.add(Opcode::DmaCopy,
                    {Engine::Dma},
                    {builder.whole(Role::Dst, tile), builder.whole(Role::Src, memory)},
                    {.dge = dge, .trigger = trigger});
    builder.alloc(tile).alloc(left).alloc(right).run(work).run(load);
    if (copies_again) {
        builder.run(work);
    }
    return builder.build();
}

/// When the load behind one long instruction begins.
Picoseconds start_of_load(std::optional<Engine> trigger) {
    const program::Program program = copy_and_load(Engine::Vector, DgeMode::None, trigger);
    return test::executions(program, test::chip("trn2"), "dma_copy").at(0).start;
}

TEST(DmaTrigger, AnEngineTriggersWhenItsEarlierInstructionsHaveBegun) {
    const Picoseconds start = test::chip("trn2").runtime.kernel_start_ns;
    EXPECT_EQ(start_of_load(std::nullopt), start);
    EXPECT_EQ(start_of_load(Engine::Gpsimd), start) << "in another queue, and heard at once";
    EXPECT_EQ(start_of_load(Engine::Vector), start) << "behind the copy that still reads";
}

TEST(DmaTrigger, TheInstructionBehindATriggerStandsBehindTheOneThatStillRan) {
    const RunResult result = test::run(
        copy_and_load(Engine::Scalar, DgeMode::Hardware, Engine::Scalar, true), test::chip("trn2"));
    for (const CriticalPathEntry& entry : result.critical_path) {
        EXPECT_EQ(entry.what.find("DMA_DIRECT2D"), std::string::npos)
            << entry.what << " " << entry.time;
    }
}

TEST(DmaTrigger, ScratchOfTheOldApiIsStoredInScalarsTime) {  // [TRACES-TRN2]
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto scratch = builder.output("scratch", Dtype::Float32, {128, 64});
    const auto store = builder.copy(scratch, tile);
    const auto load = builder.copy(tile, scratch);
    const auto clear =
        builder.add(Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, tile)});
    builder.alloc(tile).run(clear).loop(kRounds).run(store).run(load).end();
    const program::Program program = builder.build();
    const Picoseconds trigger = test::chip("trn2").neuron_core.dge.hardware.sequencer_ns;
    const auto of = [&](const std::string& chip, const std::string& api) {
        return test::run(program, test::chip(chip), lowering::default_policies(api));
    };
    const RunResult old_api = of("trn2", "neuronxcc.nki");
    EXPECT_EQ(active(old_api, Engine::Scalar), kRounds * trigger);
    EXPECT_EQ(active(old_api, Engine::Sync), kRounds * trigger);
    EXPECT_EQ(active(of("trn2", "nki"), Engine::Scalar), Picoseconds{});
    EXPECT_EQ(active(of("trn1", "neuronxcc.nki"), Engine::Scalar), Picoseconds{}) << "no hardware";
}

TEST(DmaTrigger, AnArgumentThatIsUpdatedIsNoScratch) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto argument = builder.input("argument", Dtype::Float32, {128, 64});
    const auto load = builder.copy(tile, argument);
    const auto store = builder.copy(argument, tile);
    builder.alloc(tile).run(load).run(store);
    const RunResult result =
        test::run(builder.build(), test::chip("trn2"), lowering::default_policies("neuronxcc.nki"));
    EXPECT_EQ(active(result, Engine::Scalar), Picoseconds{});
}

TEST(DmaTrigger, AResultThatIsNotReadAgainIsNoScratch) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto result = builder.output("result", Dtype::Float32, {128, 64});
    const auto store = builder.copy(result, tile);
    builder.alloc(tile).run(store);
    const RunResult stored =
        test::run(builder.build(), test::chip("trn2"), lowering::default_policies("neuronxcc.nki"));
    EXPECT_EQ(active(stored, Engine::Scalar), Picoseconds{});
}

/// Eight copies of one tile, the one of that number large, and a load into the tile that Scalar
/// triggers: it overwrites what they read, each on a ring of its own.
program::Program load_behind_copies(int large) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 2048});
    const auto memory = builder.input("memory", Dtype::Float32, {128, 2048});
    builder.alloc(tile);
    for (int i = 0; i < 8; ++i) {
        const std::int64_t size = i == large ? 2048 : 64;
        const auto to =
            builder.tile("to" + std::to_string(i), Space::Sbuf, Dtype::Float32, {128, size});
        const auto copy =
            builder.add(Opcode::DmaCopy,
                        {Engine::Dma},
                        {builder.whole(Role::Dst, to), builder.part(Role::Src, tile, size)},
                        {.dge = DgeMode::None});
        builder.alloc(to).run(copy);
    }
    const auto load =
        builder.add(Opcode::DmaCopy,
                    {Engine::Dma},
                    {builder.whole(Role::Dst, tile), builder.whole(Role::Src, memory)},
                    {.dge = DgeMode::None, .trigger = Engine::Scalar});
    builder.run(load);
    return builder.build();
}

TEST(DmaTrigger, WaitsThatDoNotFitIntoATriggerAreMadeBeforeIt) {
    const ChipSpec chip = test::chip("trn2");
    static_assert(neuron_core::QueuedInstruction::kMaxWaits < 8);
    for (int large = 0; large < 8; ++large) {
        test::RecordedTimeline timeline;
        const RunResult result = test::run(
            load_behind_copies(large),
            chip,
            RunOptions{.policies = {.dma_rings = 16}, .timeline = &timeline, .progress = {}});
        EXPECT_EQ(result.dma.rings.size(), 9U);
        EXPECT_EQ(timeline.of("EVENT_SEMAPHORE").size(), 1U);
        const auto triggers = timeline.of("DMA_DIRECT2D");
        const auto copies = timeline.of("dma_copy");  // The large one ends last but for the load.
        ASSERT_EQ(triggers.size(), 1U);
        ASSERT_EQ(copies.size(), 9U);
        EXPECT_EQ(copies[8].start, triggers[0].start);
        EXPECT_EQ(triggers[0].start,
                  copies[7].start + copies[7].duration + chip.neuron_core.semaphore_file.wakeup_ns)
            << "the copy of number " << large << " has ended";
    }
}

TEST(DmaTrigger, AnEngineInOrderTriggersBehindWhatItStillWaitsFor) {
    test::ProgramBuilder builder;
    const auto left = builder.tile("left", Space::Sbuf, Dtype::Float32, {128, 8192});
    const auto right = builder.tile("right", Space::Sbuf, Dtype::Float32, {128, 8192});
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto slow = builder.copy(left, builder.input("slow", Dtype::Float32, {128, 8192}));
    const auto work = builder.unary(Opcode::TensorCopy, Engine::Scalar, right, left);
    const auto memory = builder.input("memory", Dtype::Float32, {128, 64});
    const auto load =
        builder.add(Opcode::DmaCopy,
                    {Engine::Dma},
                    {builder.whole(Role::Dst, tile), builder.whole(Role::Src, memory)},
                    {.dge = DgeMode::Hardware, .trigger = Engine::Scalar});
    builder.alloc(left).alloc(right).alloc(tile).run(slow).run(work).run(load);
    const auto starts = [&](const lowering::Policies& policies) {
        test::RecordedTimeline timeline;
        static_cast<void>(
            test::run(builder.build(),
                      test::chip("trn2"),
                      RunOptions{.policies = policies, .timeline = &timeline, .progress = {}}));
        return std::pair{timeline.of("tensor_copy").at(0).start,
                         timeline.of("DMA_DIRECT2D").at(0).start};
    };
    const auto [copied, triggered] = starts({.matmul_window = 256, .reorder_window = 1});
    EXPECT_EQ(triggered, copied) << "behind it, and at once";
    const auto [later, earlier] = starts({.reorder_window = 16});
    EXPECT_LT(earlier, later) << "an engine that is not kept in order";
}

/// Loads of so many bytes a partition, as fast as a ring begins them.
RunResult stream(std::int64_t bytes, std::int64_t interval) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Uint8, {128, bytes});
    const auto memory = builder.input("memory", Dtype::Uint8, {128, bytes});
    const auto load = builder.copy(tile, memory, DgeMode::None);
    builder.loop(kRounds).alloc(tile).run(load).end();
    ChipSpec chip = test::chip("trn2");
    chip.dma.ring_interval_ns = from_nanoseconds(static_cast<double>(interval));
    return test::run(builder.build(), chip, {.buffer_factor = 64});
}

TEST(DmaPace, OfSmallTransfersIsTheirRingsAndTheAdviceSaysSo) {
    const RunResult small = stream(512, 1050);
    ASSERT_EQ(small.advice.size(), 1U);
    EXPECT_EQ(small.advice[0].text,
              "a ring begins one in 1.05 us, of any size; move more than 64 KiB with each");
    EXPECT_EQ(small.advice[0].time, (kRounds - 1) * from_nanoseconds(1050));
    EXPECT_TRUE(stream(512, 70).advice.empty()) << "less than a fifth of the run";
    EXPECT_TRUE(stream(16384, 1050).advice.empty()) << "the engines need longer";
}

}  // namespace
}  // namespace trnsim
