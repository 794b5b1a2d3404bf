// SPDX-License-Identifier: Apache-2.0
// What instructions cost on the GpSimd Engine.
#include "trnsim/neuron_core/gpsimd_engine_timing.hpp"

#include "streamed_operands.hpp"

#include <algorithm>

namespace trnsim::neuron_core {
namespace {

constexpr std::int64_t kSnakePartitions = 16;  ///< Partitions of one processor. [NKI-ARCH-V2]
constexpr double kWordBytes = 4.0;  ///< Per partition and cycle of one processor. [NKI-ARCH-V2]

/// indices x elements x C. The published formula divides by C, which would make a larger start-up
/// cost a shorter instruction; read as a product. [NKI-ISA-2.26] [ASSUMED]
double local_gather_cycles(const GpsimdEngineSpec& spec, const InstructionTemplate& instruction) {
    const auto elements = static_cast<double>(instruction.attributes.elements_per_index);
    const double steps = spec.local_gather_step * elements;
    const double packed =
        std::min(kWordBytes / size_bytes(instruction.at(Role::Data).dtype), elements);
    const double per_element = (spec.local_gather_start + steps) / steps / packed;
    return static_cast<double>(instruction.attributes.indices) * elements * per_element;
}

/// Groups of gather_group_elements outputs, each an instruction of its own with the engine's
/// start-up; the first start-up is the engine's own. [ASSUMED]
double n_gather_cycles(const GpsimdEngineSpec& spec, const InstructionTemplate& instruction) {
    const std::int64_t outputs = instruction.at(Role::Dst).elements();
    const std::int64_t group = spec.gather_group_elements;
    const std::int64_t groups = (outputs + group - 1) / group;
    return static_cast<double>(groups) * spec.gather * static_cast<double>(group) +
           static_cast<double>(((groups - 1) * spec.issue_overhead_cycles).value);
}

/// Of the elements that count; without a number all of the 16 partitions do.
double topk_cycles(const GpsimdEngineSpec& spec, const InstructionTemplate& instruction) {
    const Attributes& attributes = instruction.attributes;
    const std::int64_t elements =
        attributes.n > 0 ? attributes.n : kSnakePartitions * instruction.at(Role::Data).elements();
    return spec.topk * static_cast<double>(elements) + static_cast<double>(attributes.k);
}

double work_cycles(const GpsimdEngineSpec& spec, const InstructionTemplate& instruction) {
    const auto elements = static_cast<double>(streamed_elements(instruction));
    switch (instruction.op) {
        case Opcode::LocalGather:
            return local_gather_cycles(spec, instruction);
        case Opcode::NcNGather:
            return n_gather_cycles(spec, instruction);
        case Opcode::Rng:
            return spec.random * elements;
        case Opcode::TensorPartitionReduce:
            return spec.partition_reduce * elements;
        case Opcode::SequenceBounds:
        case Opcode::NonzeroWithCount:
            return spec.serial * elements;
        case Opcode::Topk:
            return topk_cycles(spec, instruction);
        case Opcode::TensorScalar:
            return spec.rsqrt * elements;
        case Opcode::RandGetState:
        case Opcode::RandSetState:
            return 0.0;
        default:
            return spec.elementwise * elements;
    }
}

}  // namespace

InstructionCost gpsimd_engine_cost(const GpsimdEngineSpec& spec,
                                   const InstructionTemplate& instruction) {
    return cost_from_cycles(
        {.streaming = work_cycles(spec, instruction),
         .issue = static_cast<double>(spec.issue_overhead_cycles.value),
         .completion = static_cast<double>(spec.completion_overhead_cycles.value)},
        spec.clock_ghz);
}

}  // namespace trnsim::neuron_core
