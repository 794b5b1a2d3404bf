// SPDX-License-Identifier: Apache-2.0
// What the cost of an element-wise instruction depends on: elements, [P,1] operands, strides,
// memories.
#pragma once

#include "trnsim/isa/instruction.hpp"
#include "trnsim/neuron_core/instruction_cost.hpp"
#include "trnsim/neuron_core/sbuf_spec.hpp"

#include <cstdint>
#include <optional>

namespace trnsim::neuron_core {

/// Elements per partition that stream through the engine: those of the longest operand.
[[nodiscard]] std::int64_t streamed_elements(const InstructionTemplate& instruction);

/// Operands that are one value per partition: biases, scales, bounds, scalar operands from memory.
[[nodiscard]] std::int64_t vector_operands(const InstructionTemplate& instruction);

/// Slowdown by long innermost strides, 1 to 2 (see SbufSpec): the operand that then takes longest
/// sets it, so that of few elements, like the results of a reduction, none does.
[[nodiscard]] double stride_factor(const SbufSpec& sbuf, const InstructionTemplate& instruction);

/// Bytes from one element of the innermost dimension to the next; 0 for a single or repeated
/// element.
[[nodiscard]] std::int64_t innermost_stride_bytes(const Operand& operand);

[[nodiscard]] bool is_in(Space space, const Operand* operand);
[[nodiscard]] bool touches(Space space, const InstructionTemplate& instruction);

/// An instruction's cycles: those that elements stream, and the fixed ones to the next instruction
/// and to the result.
struct CostCycles {
    double streaming = 0.0;
    double issue = 0.0;
    double completion = 0.0;
};

/// Rounds to whole cycles and makes times of them; the interval never exceeds done.
[[nodiscard]] InstructionCost cost_from_cycles(const CostCycles& cycles, Gigahertz clock);

}  // namespace trnsim::neuron_core
