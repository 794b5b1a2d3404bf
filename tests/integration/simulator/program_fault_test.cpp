// SPDX-License-Identifier: Apache-2.0
// What is wrong with a lowered trace is found while it runs, and told in one sentence.
#include "support/program_builder.hpp"
#include "support/simulation.hpp"
#include "trnsim/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace trnsim {
namespace {

using test::affine;
using test::lowered_operand;

/// A load on ring 0, and copies on two engines, all over the same 256 bytes of SBUF.
struct Lowered {
    test::ProgramBuilder builder{program::Form::Lowered};
    std::uint32_t load =
        builder.add({.op = Opcode::DmaCopy,
                     .engines = {Engine::Dma},
                     .operands = {lowered_operand(Role::Dst, Space::Sbuf, Dtype::Float32, 64),
                                  lowered_operand(Role::Src, Space::Hbm, Dtype::Float32, 64)},
                     .attributes = {.dge = DgeMode::None},
                     .ring = 0});
    std::uint32_t on_vector = copy(Engine::Vector);
    std::uint32_t on_scalar = copy(Engine::Scalar);

    std::uint32_t copy(Engine engine) {
        return builder.add(Opcode::TensorCopy,
                           {engine},
                           {lowered_operand(Role::Dst, Space::Psum, Dtype::Float32, 64),
                            lowered_operand(Role::Data, Space::Sbuf, Dtype::Float32, 64)});
    }

    [[nodiscard]] std::string error(const RunOptions& options = {}) const {
        try {
            static_cast<void>(test::run(builder.build(), test::chip("trn2"), options));
        } catch (const ProgramError& error) {
            return error.what();
        }
        return "no error";
    }
};

TEST(ProgramFault, ASemaphoreNeverRaisedIsADeadlockThatNamesWhoWaits) {
    Lowered p;
    p.builder.run(p.load, {}, {}, {{1, 16, false}});
    p.builder.run(p.on_vector, {}, {{1, affine(17)}});
    EXPECT_EQ(
        p.error(),
        "deadlock at 15.367 us: device.neuron_core_0.vector_engine stands before "
        "kernel.py:102 tensor_copy: waits "
        "for semaphore 1 >= 17, value 16, last raised by kernel.py:101 dma_copy at 15.367 us; "
        "raise the "
        "semaphore or drop the wait");
}

TEST(ProgramFault, ADeadlockIsToldTheSameWithProgress) {
    Lowered p;
    p.builder.run(p.load, {}, {}, {{1, 16, false}});
    p.builder.run(p.on_vector, {}, {{1, affine(17)}});
    EXPECT_EQ(p.error(),
              p.error({.policies = {}, .timeline = nullptr, .progress = [](auto, auto) {}}));
}

TEST(ProgramFault, WhatLastsTooLongIsToldAtOnce) {
    ChipSpec slow = test::chip("trn2");
    slow.dma.descriptor_overhead_ns = from_nanoseconds(1e9);
    test::ProgramBuilder builder;
    const std::uint32_t from = builder.input("from", Dtype::Float32, {1 << 24, 64});
    const std::uint32_t to = builder.output("to", Dtype::Float32, {1 << 24, 64});
    builder.loop(3).run(builder.copy(to, from)).end();
    for (const bool has_progress : {false, true}) {
        RunOptions options;
        if (has_progress) {
            options.progress = [](auto, auto) {};
        }
        try {
            static_cast<void>(test::run(builder.build(), slow, options));
            ADD_FAILURE() << "no error";
        } catch (const ProgramError& error) {
            EXPECT_STREQ(error.what(),
                         "the program runs for longer than 40 hours of simulated time; make it "
                         "smaller or the chip faster");
        }
    }
}

TEST(ProgramFault, TheFirstFaultIsToldAndNotWhatFollowsFromIt) {
    // The second tile does not fit. Other queues ask for more before the simulation has stopped.
    test::ProgramBuilder builder;
    const auto memory = builder.input("memory", Dtype::Float32, {128, 64});
    const auto small = builder.tile("small", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto large = builder.tile("large", Space::Sbuf, Dtype::Float32, {128, 55000});
    const auto fill = builder.add(
        Opcode::Memset, {Engine::Gpsimd}, {builder.whole(Role::Dst, large)}, {.value = 1.0});
    builder.alloc(small).run(builder.copy(small, memory));
    builder.alloc(large).run(fill);
    try {
        static_cast<void>(test::run(builder.build(), test::chip("trn2")));
        FAIL() << "a tile of 220,032 bytes fits";
    } catch (const ProgramError& error) {
        EXPECT_STREQ(error.what(),
                     "SBUF: a tile of large (kernel.py:3) takes 220032 bytes per partition, but "
                     "212992 are usable; make it smaller");
    }
}

TEST(ProgramFault, AnEventFartherAwayThanAStepOfProgressIsReached) {
    // One transfer in HBM of far more than 200 us, during which nothing happens.
    test::ProgramBuilder builder;
    const auto from = builder.input("from", Dtype::Float32, {1024, 1024, 256});
    const auto to = builder.output("to", Dtype::Float32, {1024, 1024, 256});
    builder.run(builder.copy(to, from));
    int calls = 0;
    const RunResult result =
        test::run(builder.build(),
                  test::chip("trn2"),
                  {.policies = {}, .timeline = nullptr, .progress = [&](auto, auto) { ++calls; }});
    EXPECT_GT(result.total.microseconds(), 1000.0);
    EXPECT_GT(calls, 0);
    EXPECT_EQ(result.total, test::run(builder.build(), test::chip("trn2")).total);
}

TEST(ProgramFault, TwoQueuesThatWaitForEachOtherAreADeadlock) {
    Lowered p;
    p.builder.run(p.on_vector, {}, {{1, affine(1)}}, {{2, 1, false}});
    p.builder.run(p.on_scalar, {}, {{2, affine(1)}}, {{1, 1, false}});
    EXPECT_THAT(p.error(),
                testing::AllOf(
                    testing::HasSubstr("vector_engine stands before kernel.py:102 tensor_copy"),
                    testing::HasSubstr("scalar_engine stands before kernel.py:103 tensor_copy")));
}

TEST(ProgramFault, AnUnorderedReadIsARaceThatNamesBoth) {
    Lowered p;
    p.builder.run(p.load, {}, {}, {{1, 16, false}});
    p.builder.run(p.on_vector);
    EXPECT_THAT(p.error(),
                testing::AllOf(testing::StartsWith("race: "),
                               testing::HasSubstr("kernel.py:101 dma_copy"),
                               testing::HasSubstr("kernel.py:102 tensor_copy")));
}

TEST(ProgramFault, AnOrderedReadIsNone) {
    Lowered p;
    p.builder.run(p.load, {}, {}, {{1, 16, false}});
    p.builder.run(p.on_vector, {}, {{1, affine(16)}}, {{2, 1, false}});
    p.builder.run(p.on_scalar, {}, {{2, affine(1)}});
    EXPECT_EQ(p.error(), "no error");
}

TEST(ProgramFault, QueuesListedOneAfterTheOtherRunTogether) {
    // More instructions than queues hold, each waiting for one that comes far later in the file.
    constexpr std::int64_t kEach = 20'000;
    Lowered p;
    const auto listen = p.builder.add(Opcode::RegisterMove, {Engine::Vector}, {});
    const auto speak = p.builder.add(Opcode::RegisterMove, {Engine::Scalar}, {});
    p.builder.loop(kEach).run(listen, {}, {{1, affine(1, {1})}}).end();
    p.builder.loop(kEach).run(speak, {}, {}, {{1, 1, false}}).end();
    EXPECT_EQ(p.error(), "no error");
}

TEST(ProgramFault, TwoProducersOfOneCountOrderWhoWaitsForBoth) {
    Lowered p;
    p.builder.run(p.load, {}, {}, {{1, 16, false}});
    p.builder.run(p.on_scalar, {}, {{1, affine(16)}}, {{1, 1, false}});
    p.builder.run(p.on_vector, {}, {{1, affine(17)}});
    EXPECT_EQ(p.error(), "no error");
}

TEST(ProgramFault, NothingIsPrinted) {
    Lowered p;
    p.builder.run(p.load);
    p.builder.run(p.on_vector);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_THAT(p.error(), testing::StartsWith("race: "));
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace trnsim
