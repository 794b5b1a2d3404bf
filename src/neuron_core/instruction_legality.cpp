// SPDX-License-Identifier: Apache-2.0
// Which engine executes which instruction, by generation.
#include "generations.hpp"
#include "streamed_operands.hpp"
#include "trnsim/dma/dma_timing.hpp"
#include "trnsim/neuron_core/instruction_timing.hpp"

#include <string_view>

namespace trnsim::neuron_core {
namespace {

constexpr std::int64_t kStreamTransposeSize = 32;  ///< VectorE transposes 32x32 blocks. [NKI-ISA]

bool is_at_least(const ChipSpec& chip, NeuronCoreVersion version) {
    return chip.neuron_core_version >= version;
}

bool uses_operator(const InstructionTemplate& instruction, std::string_view op) {
    return instruction.attributes.op0 == op || instruction.attributes.op1 == op;
}

bool tensor_can_run(const InstructionTemplate& instruction) {
    switch (instruction.op) {
        case Opcode::NcMatmul:
        case Opcode::NcMatmulMx:
        case Opcode::NcMatmulSparse:
            return true;
        case Opcode::NcTranspose:
            return instruction.at(Role::Dst).space == Space::Psum &&
                   instruction.at(Role::Data).space == Space::Sbuf;
        default:
            return false;
    }
}

bool vector_can_run(const ChipSpec& chip, const InstructionTemplate& instruction) {
    switch (instruction.op) {
        case Opcode::NcTranspose: {
            const Operand& data = instruction.at(Role::Data);
            return data.partitions <= kStreamTransposeSize &&
                   data.elements() <= kStreamTransposeSize;
        }
        case Opcode::TensorTensor:
            return !uses_operator(instruction, "power");
        case Opcode::TensorScalar:
            return !uses_operator(instruction, "rsqrt");
        case Opcode::RandGetState:
        case Opcode::RandSetState:
            return is_at_least(chip, NeuronCoreVersion::V4);
        case Opcode::TensorCopy:
        case Opcode::ScalarTensorTensor:
        case Opcode::TensorScalarReduce:
        case Opcode::TensorScalarCumulative:
        case Opcode::TensorReduce:
        case Opcode::TensorTensorScan:
        case Opcode::TensorCopyPredicated:
        case Opcode::SelectReduce:
        case Opcode::RangeSelect:
        case Opcode::Memset:
        case Opcode::Reciprocal:
        case Opcode::Exponential:
        case Opcode::BnStats:
        case Opcode::BnAggr:
        case Opcode::Max8:
        case Opcode::NcFindIndex8:
        case Opcode::NcMatchReplace8:
        case Opcode::NcStreamShuffle:
        case Opcode::Dropout:
        case Opcode::Rng:
        case Opcode::Rand2:
        case Opcode::SetRngSeed:
        case Opcode::QuantizeMx:
            return true;
        default:
            return false;
    }
}

/// The ScalarE form of tensor_scalar: multiply and add, either alone or in this order. [NKI-ISA]
bool is_scale_and_add(const Attributes& attributes) {
    const bool is_single =
        attributes.op1 == "none" && (attributes.op0 == "multiply" || attributes.op0 == "add");
    return is_single || (attributes.op0 == "multiply" && attributes.op1 == "add");
}

bool scalar_can_run(const ChipSpec& chip, const InstructionTemplate& instruction) {
    switch (instruction.op) {
        case Opcode::Activation:
        case Opcode::ActivationReduce:
        case Opcode::Activate2:
        case Opcode::Reciprocal:  // As an activation, by the compiler. [NKI-SHARED]
            return true;
        case Opcode::TensorCopy:
            return chip.neuron_core.scalar_engine.runs_copies;
        case Opcode::TensorScalar:
            return chip.neuron_core.scalar_engine.runs_copies &&
                   is_scale_and_add(instruction.attributes);
        default:
            return false;
    }
}

bool gpsimd_can_run(const ChipSpec& chip, const InstructionTemplate& instruction) {
    if (touches(Space::Psum, instruction)) {
        return false;
    }
    switch (instruction.op) {
        case Opcode::TensorScalar:
            return uses_operator(instruction, "rsqrt");
        case Opcode::Rng:
            return is_at_least(chip, NeuronCoreVersion::V3);
        case Opcode::TensorCopy:
        case Opcode::TensorTensor:
        case Opcode::Memset:
        case Opcode::RandGetState:
        case Opcode::RandSetState:
        case Opcode::Iota:
        case Opcode::AffineSelect:
        case Opcode::LocalGather:
        case Opcode::NcNGather:
        case Opcode::TensorPartitionReduce:
        case Opcode::SequenceBounds:
        case Opcode::NonzeroWithCount:
        case Opcode::Topk:
            return true;
        default:
            return false;
    }
}

bool may_trigger(const DgeSpec& spec, Engine engine, const InstructionTemplate& instruction) {
    const DgeMode mode = dma::resolve_dge(spec, instruction);
    return dma::dge_mode(spec, mode).available && dma::can_trigger(engine, mode);
}

}  // namespace

bool can_run(const ChipSpec& chip, Engine engine, const InstructionTemplate& instruction) {
    if (!is_at_least(chip, first_generation(instruction.op))) {
        return false;
    }
    if (is_dma(instruction.op)) {
        return engine == Engine::Dma || may_trigger(chip.neuron_core.dge, engine, instruction);
    }
    switch (instruction.op) {
        case Opcode::RegisterMove:
        case Opcode::RegisterLoad:
        case Opcode::RegisterStore:
        case Opcode::CoreBarrier:
            return engine != Engine::Dma;
        default:
            break;
    }
    switch (engine) {
        case Engine::Tensor:
            return tensor_can_run(instruction);
        case Engine::Vector:
            return vector_can_run(chip, instruction);
        case Engine::Scalar:
            return scalar_can_run(chip, instruction);
        case Engine::Gpsimd:
            return gpsimd_can_run(chip, instruction);
        default:
            return false;
    }
}

}  // namespace trnsim::neuron_core
