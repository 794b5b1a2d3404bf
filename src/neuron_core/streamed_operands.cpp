// SPDX-License-Identifier: Apache-2.0
// Elements, [P,1] operands, strides and memories of an instruction's operands.
#include "streamed_operands.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace trnsim::neuron_core {
namespace {

bool is_vector_role(Opcode op, Role role) {
    switch (role) {
        case Role::Operand1:
            return op != Opcode::ScalarTensorTensor;
        case Role::Operand0:
        case Role::Bias:
        case Role::Scale:
        case Role::Initial:
        case Role::Bound0:
        case Role::Bound1:
        case Role::MaxValue:
        case Role::ReluParam:
            return true;
        default:
            return false;
    }
}

}  // namespace

std::int64_t streamed_elements(const InstructionTemplate& instruction) {
    std::int64_t longest = 0;
    for (const Operand& operand : instruction.operands) {
        longest = std::max(longest, operand.elements());
    }
    return longest;
}

std::int64_t vector_operands(const InstructionTemplate& instruction) {
    return std::count_if(
        instruction.operands.begin(), instruction.operands.end(), [&](const Operand& operand) {
            return is_vector_role(instruction.op, operand.role);
        });
}

std::int64_t innermost_stride_bytes(const Operand& operand) {
    if (operand.elements() == 1) {
        return 0;
    }
    return std::abs(operand.pattern.innermost_stride()) * size_bytes(operand.dtype);
}

double stride_factor(const SbufSpec& sbuf, const InstructionTemplate& instruction) {
    const auto streamed = static_cast<double>(streamed_elements(instruction));
    const auto range =
        static_cast<double>(sbuf.half_rate_stride_bytes - sbuf.full_rate_stride_bytes);
    double slowest = 1.0;
    for (const Operand& operand : instruction.operands) {
        const auto beyond =
            static_cast<double>(innermost_stride_bytes(operand) - sbuf.full_rate_stride_bytes);
        const double share = static_cast<double>(operand.elements()) / streamed;
        slowest = std::max(slowest, share * (1.0 + std::clamp(beyond / range, 0.0, 1.0)));
    }
    return slowest;
}

bool is_in(Space space, const Operand* operand) {
    return operand != nullptr && operand->space == space;
}

bool touches(Space space, const InstructionTemplate& instruction) {
    return std::any_of(instruction.operands.begin(),
                       instruction.operands.end(),
                       [&](const Operand& operand) { return operand.space == space; });
}

InstructionCost cost_from_cycles(const CostCycles& cycles, Gigahertz clock) {
    const auto time = [&](double fixed) {
        return to_picoseconds(Cycles{std::llround(fixed + cycles.streaming)}, clock);
    };
    const Picoseconds visible = time(cycles.completion);
    const Picoseconds busy = std::min(visible, time(cycles.issue));
    return {.interval = busy,
            .read = busy,
            .done = visible,
            .streaming = std::min(busy, time(0.0)),
            .uses_fast_mode = false};
}

}  // namespace trnsim::neuron_core
