// SPDX-License-Identifier: Apache-2.0
// A lowered trace is played as it is.
#include "trnsim/lowering/replay.hpp"

#include "recorded_queues.hpp"
#include "support/program_builder.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace trnsim::lowering {
namespace {

using neuron_core::queue_of;
using neuron_core::queue_of_ring;
using test::address;
using test::affine;
using test::lowered_operand;
using test::ProgramBuilder;
using test::waits_of;

const ChipSpec& trn2() {
    static const ChipSpec chip =
        spec::load_chip(TRNSIM_SOURCE_DIR "/configs/chips/trainium2.json").spec;
    return chip;
}

/// A lowered trace after its replay.
class Played {
public:
    explicit Played(program::Program program)
        : program_(std::move(program)), replay_(program_, trn2()) {
        queues_.drain(replay_);
    }

    [[nodiscard]] const Replay& replay() const { return replay_; }
    [[nodiscard]] const auto& entries() const { return queues_.entries(); }
    [[nodiscard]] auto names() const { return queues_.names(); }
    [[nodiscard]] auto of(neuron_core::QueueId queue) const { return queues_.of(queue); }

private:
    const program::Program program_;
    Replay replay_;
    test::RecordedQueues queues_;
};

/// Templates of a lowered program.
struct Lowered {
    ProgramBuilder builder{program::Form::Lowered};

    std::uint32_t copy(Engine engine = Engine::Vector) {
        return builder.add(Opcode::TensorCopy,
                           {engine},
                           {lowered_operand(Role::Dst, Space::Sbuf, Dtype::Float32, 64),
                            lowered_operand(Role::Data, Space::Sbuf, Dtype::Float32, 64)});
    }
    std::uint32_t load(int ring) {
        return builder.add(
            {.op = Opcode::DmaCopy,
             .engines = {Engine::Dma},
             .operands = {lowered_operand(Role::Dst, Space::Sbuf, Dtype::Float32, 64),
                          lowered_operand(Role::Src, Space::Hbm, Dtype::Float32, 64)},
             .attributes = {.dge = DgeMode::None},
             .ring = ring});
    }
    std::uint32_t matmul() {
        return builder.add(Opcode::NcMatmul,
                           {Engine::Tensor},
                           {lowered_operand(Role::Dst, Space::Psum, Dtype::Float32, 64),
                            lowered_operand(Role::Stationary, Space::Sbuf, Dtype::Bfloat16, 128),
                            lowered_operand(Role::Moving, Space::Sbuf, Dtype::Bfloat16, 64)});
    }

    [[nodiscard]] Played play() const { return Played(builder.build()); }

    [[nodiscard]] std::string error() const {
        try {
            const Played played(builder.build());
        } catch (const ProgramError& error) {
            return error.what();
        }
        return "no error";
    }
};

TEST(ReplayTest, PutsEveryInstructionOnTheQueueItNames) {
    Lowered p;
    p.builder.run(p.copy(Engine::Gpsimd)).run(p.load(11)).run(p.copy(Engine::Scalar));
    const Played queues = p.play();
    ASSERT_EQ(queues.entries().size(), 3U);
    EXPECT_EQ(queues.entries()[0].queue, queue_of(Engine::Gpsimd));
    EXPECT_EQ(queues.entries()[1].queue, queue_of_ring(11));
    EXPECT_EQ(queues.entries()[2].queue, queue_of(Engine::Scalar));
}

TEST(ReplayTest, UsesTheQueuesThatItsTemplatesName) {
    Lowered p;
    p.builder.run(p.load(3));
    const Played played = p.play();
    const Replay& replay = played.replay();
    EXPECT_TRUE(replay.uses(queue_of_ring(3)));
    EXPECT_FALSE(replay.uses(queue_of_ring(4)));
    EXPECT_FALSE(replay.uses(queue_of(Engine::Vector)));
}

TEST(ReplayTest, WaitsFollowTheLoop) {
    Lowered p;
    const auto copy = p.copy();
    p.builder.loop(3).run(copy, {}, {{17, affine(16, {16})}}).end();
    const Played played = p.play();
    const auto instructions = played.of(queue_of(Engine::Vector));
    ASSERT_EQ(instructions.size(), 3U);
    EXPECT_EQ(waits_of(instructions[0]), "17>=16");
    EXPECT_EQ(waits_of(instructions[2]), "17>=48");
}

TEST(ReplayTest, SignalsAreTakenAsTheyAre) {
    Lowered p;
    p.builder.run(p.load(0), {}, {}, {{5, 16, false}, {6, 1, true}});
    const Played played = p.play();
    const auto& instruction = played.entries()[0].instruction;
    ASSERT_EQ(instruction.signals().size(), 2U);
    EXPECT_EQ(instruction.signals()[0].semaphore, 5);
    EXPECT_EQ(instruction.signals()[0].add, 16);
    EXPECT_FALSE(instruction.signals()[0].at_read);
    EXPECT_TRUE(instruction.signals()[1].at_read);
}

TEST(ReplayTest, AMatmulWaitsWithItsLoadAndSignalsWithItsProduct) {
    Lowered p;
    p.builder.run(p.matmul(), {}, {{1, affine(1)}}, {{2, 1, false}});
    const Played queues = p.play();
    ASSERT_EQ(queues.names(), (std::vector<std::string>{"LoadStationary", "nc_matmul"}));
    const auto& load = queues.entries()[0].instruction;
    const auto& multiply = queues.entries()[1].instruction;
    EXPECT_EQ(waits_of(load), "1>=1");
    EXPECT_TRUE(load.signals().empty());
    EXPECT_EQ(waits_of(multiply), "");
    EXPECT_EQ(multiply.signals().size(), 1U);
}

TEST(ReplayTest, AnAccumulatingActivationWaitsItselfAndSignalsItsEndWithTheReadout) {
    Lowered p;
    const auto activation =
        p.builder.add(Opcode::ActivationReduce,
                      {Engine::Scalar},
                      {lowered_operand(Role::Dst, Space::Sbuf, Dtype::Float32, 64),
                       lowered_operand(Role::Data, Space::Sbuf, Dtype::Float32, 64),
                       lowered_operand(Role::ReduceResult, Space::Sbuf, Dtype::Float32, 1)},
                      {.reduce_op = "add", .function = "exp"});
    p.builder.run(activation, {}, {{1, affine(1)}}, {{2, 3, false}, {4, 5, true}});
    const Played played = p.play();
    ASSERT_EQ(played.names(),
              (std::vector<std::string>{"activation_reduce", "ACTIVATION_READ_ACCUMULATOR"}));
    const auto& main = played.entries()[0].instruction;
    const auto& readout = played.entries()[1].instruction;
    EXPECT_EQ(waits_of(main), "1>=1");
    EXPECT_EQ(waits_of(readout), "");
    ASSERT_EQ(main.signals().size(), 1U);
    EXPECT_EQ(main.signals()[0].semaphore, 4) << "its sources are read";
    ASSERT_EQ(readout.signals().size(), 1U);
    EXPECT_EQ(readout.signals()[0].semaphore, 2);
    EXPECT_EQ(readout.signals()[0].add, 3);
}

TEST(ReplayTest, CountsExecutedInstructionsOfTheTrace) {
    Lowered p;
    const auto matmul = p.matmul();
    p.builder.loop(5).run(matmul).end();
    const Played played = p.play();
    EXPECT_EQ(played.replay().executed(), 5);
    EXPECT_EQ(played.entries().size(), 10U);
}

TEST(ReplayTest, ASemaphoreThatTheChipDoesNotHaveIsAnError) {
    Lowered waits;
    waits.builder.run(waits.copy(), {}, {{256, affine(1)}});
    EXPECT_EQ(
        waits.error(),
        "kernel.py:101: tensor_copy: semaphore 256, but trn2 has semaphores 0 to 255; use one of "
        "them");
    Lowered signals;
    signals.builder.run(signals.copy(), {}, {}, {{300, 1, false}});
    EXPECT_EQ(
        signals.error(),
        "kernel.py:101: tensor_copy: semaphore 300, but trn2 has semaphores 0 to 255; use one of "
        "them");
}

TEST(ReplayTest, ARingThatTheChipDoesNotHaveIsAnError) {
    Lowered p;
    p.builder.run(p.load(12));
    ChipSpec chip = trn2();
    chip.dma.rings = 4;
    const program::Program program = p.builder.build();
    try {
        const Replay replay(program, chip);
        FAIL() << "there is no error";
    } catch (const ProgramError& error) {
        EXPECT_STREQ(
            error.what(),
            "kernel.py:101: dma_copy: DMA ring 12, but trn2 has rings 0 to 3; use one of them");
    }
}

TEST(ReplayTest, ARegisterMoveOnTheTensorEngineIsOneInstruction) {
    Lowered p;
    p.builder.run(p.builder.add(Opcode::RegisterMove, {Engine::Tensor}, {}));
    EXPECT_EQ(p.play().names(), (std::vector<std::string>{"register_move"}));
}

TEST(ReplayTest, AnAddressBeyondSbufIsAnError) {
    Lowered p;
    p.builder.run(p.copy(), {address(affine(229'376 - 255))});
    EXPECT_EQ(
        p.error(),
        "kernel.py:101: tensor_copy: dst covers bytes 229121 to 229376 of sbuf, which has 229376 "
        "on trn2; move it inside");
}

TEST(ReplayTest, TheLastByteOfSbufIsInside) {
    Lowered p;
    p.builder.run(p.copy(), {address(affine(229'376 - 256))});
    EXPECT_EQ(p.error(), "no error");
}

TEST(ReplayTest, AnAddressBeyondPsumIsAnError) {
    Lowered p;
    p.builder.run(p.matmul(), {address(affine(8 * 2048 - 252))});
    EXPECT_EQ(
        p.error(),
        "kernel.py:101: nc_matmul: dst covers bytes 16132 to 16387 of psum, which has 16384 on "
        "trn2; move it inside");
}

TEST(ReplayTest, AMatmulResultAcrossBanksIsAnError) {
    Lowered p;
    p.builder.run(p.matmul(), {address(affine(2048 - 128))});
    EXPECT_EQ(
        p.error(),
        "kernel.py:101: nc_matmul: dst covers bytes 1920 to 2175 of psum, across banks of 2048 "
        "bytes; keep the result of one matmul inside a bank");
}

TEST(ReplayTest, AMatmulKnowsTheBanksItTouches) {
    Lowered p;
    const auto evict =
        p.builder.add(Opcode::TensorCopy,
                      {Engine::Vector},
                      {lowered_operand(Role::Dst, Space::Sbuf, Dtype::Float32, 1024),
                       lowered_operand(Role::Data, Space::Psum, Dtype::Float32, 1024)});
    p.builder.run(evict, {address(affine(0)), address(affine(2048))});
    EXPECT_EQ(p.play().entries()[0].instruction.psum_banks, 0b110)
        << "engines that read one bank slow each other down, also in a lowered trace";
}

}  // namespace
}  // namespace trnsim::lowering
