// SPDX-License-Identifier: Apache-2.0
// What instructions cost on the Scalar Engine, and which function tables they need.
#include "trnsim/neuron_core/scalar_engine_timing.hpp"

#include "streamed_operands.hpp"

#include <algorithm>

namespace trnsim::neuron_core {
namespace {

bool is_copy_operation(Opcode op) {
    return op == Opcode::TensorCopy || op == Opcode::TensorScalar;
}

bool is_table_free(std::string_view function) {
    return function.empty() || function == "none" || function == "copy" || function == "identity" ||
           function == "square";
}

/// The [P,1] reads: explicit ones, and the bias that functions other than copies read in any case;
/// but activate2 can leave it out. [NKI-ARCH-V4]
std::int64_t vector_reads(const ScalarEngineSpec& spec, const InstructionTemplate& instruction) {
    const std::string& function = instruction.attributes.function;
    const bool copies =
        is_copy_operation(instruction.op) || function == "copy" || function == "identity";
    const bool reads_implicit_bias = spec.implicit_bias && !copies &&
                                     instruction.op != Opcode::Activate2 &&
                                     instruction.find(Role::Bias) == nullptr;
    return vector_operands(instruction) + (reads_implicit_bias ? 1 : 0);
}

double copy_cycles_per_element(const ScalarEngineSpec& spec,
                               const InstructionTemplate& instruction) {
    const auto is_short = [](const Operand& operand) {
        return is_16bit_float(operand.dtype) || is_fp8(operand.dtype);
    };
    const bool is_16bit =
        is_short(instruction.at(Role::Data)) && is_short(instruction.at(Role::Dst));
    return is_copy_operation(instruction.op) && is_16bit ? 1.0 / spec.copy_rate_16bit : 1.0;
}

Cycles completion_overhead(const ScalarEngineSpec& spec, Opcode op, bool from_psum) {
    if (is_copy_operation(op)) {
        return from_psum ? spec.copy_completion_psum_cycles : spec.copy_completion_sbuf_cycles;
    }
    return from_psum ? spec.activation_completion_psum_cycles
                     : spec.activation_completion_sbuf_cycles;
}

}  // namespace

InstructionCost scalar_engine_cost(const ScalarEngineSpec& spec,
                                   const SbufSpec& sbuf,
                                   const InstructionTemplate& instruction) {
    const bool from_psum = is_in(Space::Psum, instruction.find(Role::Data));
    const Cycles issue =
        from_psum ? spec.issue_overhead_psum_cycles : spec.issue_overhead_sbuf_cycles;
    const Cycles completion = completion_overhead(spec, instruction.op, from_psum);
    const double elements = static_cast<double>(streamed_elements(instruction)) *
                            copy_cycles_per_element(spec, instruction) *
                            stride_factor(sbuf, instruction);
    const Cycles vectors = vector_reads(spec, instruction) * spec.vector_operand_cycles;
    InstructionCost cost =
        cost_from_cycles({.streaming = elements,
                          .issue = static_cast<double>((issue + vectors).value),
                          .completion = static_cast<double>((completion + vectors).value)},
                         spec.clock_ghz);
    if (is_accumulated(instruction)) {
        const InstructionCost readable = cost_from_cycles(
            {.streaming = elements,
             .completion = static_cast<double>(spec.accumulator_ready_cycles.value)},
            spec.clock_ghz);
        cost.interval = std::max(cost.interval, readable.done);
        cost.done = std::max(cost.done, cost.interval);
    }
    return cost;
}

InstructionCost read_accumulator_cost(const ScalarEngineSpec& spec) {
    return cost_from_cycles(
        {.issue = static_cast<double>(spec.read_accumulator_issue_cycles.value),
         .completion = static_cast<double>(spec.read_accumulator_completion_cycles.value)},
        spec.clock_ghz);
}

std::string_view activation_table(std::string_view function) {
    return is_table_free(function) ? std::string_view{} : function;
}

}  // namespace trnsim::neuron_core
