// SPDX-License-Identifier: Apache-2.0
// Which engine runs what, and that each asks its own cost function.
#include "trnsim/neuron_core/instruction_timing.hpp"

#include "instructions.hpp"
#include "trnsim/neuron_core/gpsimd_engine_timing.hpp"
#include "trnsim/neuron_core/scalar_engine_timing.hpp"
#include "trnsim/neuron_core/tensor_engine_timing.hpp"
#include "trnsim/neuron_core/vector_engine_timing.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace trnsim::neuron_core {
namespace {

using test::chip;
using test::kF32;
using test::kPsum;
using test::kSbuf;
using test::make;
using test::matmul;
using test::tile;
using test::unary;

InstructionTemplate copy(Space from = kSbuf, Space to = kSbuf) {
    return unary(Opcode::TensorCopy, from, kF32, to, kF32, 128);
}

InstructionTemplate tensor_scalar(const std::string& op0, const std::string& op1 = "none") {
    Attributes attributes;
    attributes.op0 = op0;
    attributes.op1 = op1;
    return unary(Opcode::TensorScalar, kSbuf, kF32, kSbuf, kF32, 128, attributes);
}

InstructionTemplate load(DgeMode mode, std::optional<Engine> trigger = std::nullopt) {
    Attributes attributes;
    attributes.dge = mode;
    attributes.trigger = trigger;
    return make(Opcode::DmaCopy,
                {tile(Role::Dst, kSbuf, kF32, 512), tile(Role::Src, Space::Hbm, kF32, 128L * 512)},
                attributes);
}

TEST(InstructionCost, IsThatOfTheEngine) {
    const ChipSpec& trn2 = chip("trn2");
    const NeuronCoreSpec& core = trn2.neuron_core;
    EXPECT_EQ(cost(trn2, Engine::Tensor, matmul(kF32, 512)),
              multiply_moving_cost(core.tensor_engine, matmul(kF32, 512)));
    EXPECT_EQ(cost(trn2, Engine::Vector, copy()),
              vector_engine_cost(core.vector_engine, core.sbuf, copy()));
    EXPECT_EQ(cost(trn2, Engine::Scalar, copy()),
              scalar_engine_cost(core.scalar_engine, core.sbuf, copy()));
    EXPECT_EQ(cost(trn2, Engine::Gpsimd, copy()), gpsimd_engine_cost(core.gpsimd_engine, copy()));
}

TEST(InstructionCost, OfARegisterMoveIsTheSameOnEverySequencer) {
    const ChipSpec& trn2 = chip("trn2");
    const InstructionTemplate move = make(Opcode::RegisterMove, {});
    for (const Engine engine : kSequencedEngines) {
        EXPECT_EQ(cost(trn2, engine, move), cost(trn2, Engine::Sync, move));
    }
}

TEST(Occupancy, AddsTheReadoutOfTheAccumulatorOnScalarOnly) {
    const ChipSpec& trn2 = chip("trn2");
    InstructionTemplate summed = copy();
    EXPECT_EQ(occupancy(trn2, Engine::Scalar, summed), cost(trn2, Engine::Scalar, summed).interval);
    summed.operands.push_back(test::vector_of(Role::ReduceResult));
    EXPECT_EQ(occupancy(trn2, Engine::Scalar, summed),
              cost(trn2, Engine::Scalar, summed).interval +
                  read_accumulator_cost(trn2.neuron_core.scalar_engine).interval);
    EXPECT_EQ(occupancy(trn2, Engine::Vector, summed), cost(trn2, Engine::Vector, summed).interval);
}

TEST(CanRun, MatmulsOnTheTensorEngineOnly) {
    for (const Engine engine : kSequencedEngines) {
        EXPECT_EQ(can_run(chip("trn2"), engine, matmul(kF32, 512)), engine == Engine::Tensor);
    }
}

TEST(CanRun, CopiesOnThreeEnginesAndNothingFromPsumOnGpsimd) {
    EXPECT_TRUE(can_run(chip("trn2"), Engine::Vector, copy(kPsum)));
    EXPECT_TRUE(can_run(chip("trn2"), Engine::Scalar, copy(kPsum)));
    EXPECT_TRUE(can_run(chip("trn2"), Engine::Gpsimd, copy()));
    EXPECT_FALSE(can_run(chip("trn2"), Engine::Gpsimd, copy(kPsum)));
    EXPECT_FALSE(can_run(chip("trn2"), Engine::Gpsimd, copy(kSbuf, kPsum)));
    EXPECT_FALSE(can_run(chip("trn2"), Engine::Tensor, copy()));
    EXPECT_FALSE(can_run(chip("trn2"), Engine::Sync, copy()));
}

TEST(CanRun, TensorScalarOnScalarForScaleAndAddOnly) {
    EXPECT_TRUE(can_run(chip("trn2"), Engine::Scalar, tensor_scalar("multiply", "add")));
    EXPECT_TRUE(can_run(chip("trn2"), Engine::Scalar, tensor_scalar("add")));
    EXPECT_FALSE(can_run(chip("trn2"), Engine::Scalar, tensor_scalar("add", "multiply")));
    EXPECT_FALSE(can_run(chip("trn2"), Engine::Scalar, tensor_scalar("maximum")));
    EXPECT_TRUE(can_run(chip("trn2"), Engine::Vector, tensor_scalar("maximum")));
}

TEST(CanRun, RsqrtInTensorScalarOnGpsimdOnly) {
    EXPECT_TRUE(can_run(chip("trn2"), Engine::Gpsimd, tensor_scalar("rsqrt")));
    EXPECT_FALSE(can_run(chip("trn2"), Engine::Vector, tensor_scalar("rsqrt")));
    EXPECT_FALSE(can_run(chip("trn2"), Engine::Gpsimd, tensor_scalar("multiply")));
}

TEST(CanRun, VectorTransposesUpTo32x32) {
    const auto blocks = [](std::int32_t partitions, std::int64_t free) {
        return make(Opcode::NcTranspose,
                    {tile(Role::Dst, kSbuf, kF32, partitions, static_cast<std::int32_t>(free)),
                     tile(Role::Data, kSbuf, kF32, free, partitions)});
    };
    EXPECT_TRUE(can_run(chip("trn2"), Engine::Vector, blocks(32, 32)));
    EXPECT_FALSE(can_run(chip("trn2"), Engine::Vector, blocks(33, 32)));
    EXPECT_FALSE(can_run(chip("trn2"), Engine::Vector, blocks(32, 33)));
    EXPECT_FALSE(can_run(chip("trn2"), Engine::Tensor, blocks(32, 32)));
    EXPECT_TRUE(can_run(chip("trn2"), Engine::Tensor, test::transpose(kF32, 128)));
}

std::vector<Engine> triggers(const std::string& name, DgeMode mode) {
    std::vector<Engine> engines;
    std::copy_if(kSequencedEngines.begin(),
                 kSequencedEngines.end(),
                 std::back_inserter(engines),
                 [&](Engine engine) { return can_run(chip(name), engine, load(mode)); });
    return engines;
}

TEST(CanRun, DmaTriggersByTheWayDescriptorsAreMade) {
    EXPECT_EQ(triggers("trn2", DgeMode::Hardware), (std::vector{Engine::Scalar, Engine::Sync}));
    EXPECT_EQ(triggers("trn2", DgeMode::Software), std::vector{Engine::Gpsimd});
    EXPECT_EQ(triggers("trn2", DgeMode::None).size(), kSequencedEngines.size());
    EXPECT_TRUE(triggers("trn1", DgeMode::Hardware).empty());
}

TEST(CanRun, TransfersOnTheDmaEnginesAndNothingElse) {
    EXPECT_TRUE(can_run(chip("trn2"), Engine::Dma, load(DgeMode::Auto)));
    EXPECT_FALSE(can_run(chip("trn2"), Engine::Dma, copy()));
}

TEST(CanRun, NothingBeforeItsGeneration) {
    const InstructionTemplate exponential =
        unary(Opcode::Exponential, kSbuf, kF32, kSbuf, kF32, 64);
    EXPECT_FALSE(can_run(chip("trn2"), Engine::Vector, exponential));
    EXPECT_TRUE(can_run(chip("trn3"), Engine::Vector, exponential));
    const InstructionTemplate state =
        make(Opcode::RandGetState, {tile(Role::Dst, kSbuf, kF32, 24)});
    EXPECT_FALSE(can_run(chip("trn1"), Engine::Gpsimd, state));
    EXPECT_TRUE(can_run(chip("trn2"), Engine::Gpsimd, state));
    EXPECT_FALSE(can_run(chip("trn2"), Engine::Vector, state));
    EXPECT_TRUE(can_run(chip("trn3"), Engine::Vector, state));
}

TEST(CanRun, ReciprocalOnScalarAsAnActivation) {
    const InstructionTemplate reciprocal = unary(Opcode::Reciprocal, kSbuf, kF32, kSbuf, kF32, 64);
    EXPECT_TRUE(can_run(chip("trn1"), Engine::Scalar, reciprocal));
    EXPECT_TRUE(can_run(chip("trn1"), Engine::Vector, reciprocal));
}

/// Every operation has an engine on Trn3, which has them all.
TEST(CanRun, EveryOperationSomewhereOnTrn3) {
    for (const Opcode op : all_opcodes()) {
        InstructionTemplate instruction = unary(op, kSbuf, kF32, kSbuf, kF32, 32);
        for (Operand& operand : instruction.operands) {
            operand.partitions = 32;
        }
        instruction.operands.push_back(tile(Role::Src, kSbuf, kF32, 32, 32));
        bool runs = false;
        for (const Engine engine : kSequencedEngines) {
            runs = runs || can_run(chip("trn3"), engine, instruction);
        }
        EXPECT_TRUE(runs) << name(op);
    }
}

}  // namespace
}  // namespace trnsim::neuron_core
