// SPDX-License-Identifier: Apache-2.0
// What instructions cost on the Vector Engine.
#include "trnsim/neuron_core/vector_engine_timing.hpp"

#include "streamed_operands.hpp"

#include <algorithm>
#include <array>

namespace trnsim::neuron_core {
namespace {

bool is_fast_16bit(const VectorEngineSpec& spec, const Operand& operand) {
    return is_16bit_float(operand.dtype) || (spec.fp8_counts_as_16bit && is_fp8(operand.dtype));
}

bool is_contiguous_innermost(const Operand& operand) {
    return operand.elements() == 1 ||
           (operand.pattern.innermost_stride() == 1 && !operand.indirect.has_value());
}

/// Elements per cycle of tensor_copy and tensor_scalar: the fast modes. [NKI-ARCH-V3] [M-VOYAGER]
double copy_rate(const VectorEngineSpec& spec, const Operand& data, const Operand& dst) {
    const bool in_sbuf = data.space == Space::Sbuf && dst.space == Space::Sbuf;
    const bool in_psum = data.space == Space::Psum && dst.space == Space::Psum;
    if (is_fast_16bit(spec, data) && is_fast_16bit(spec, dst)) {
        const bool contiguous = is_contiguous_innermost(data) && is_contiguous_innermost(dst);
        if (in_sbuf) {
            return contiguous ? spec.copy_rate_16bit : spec.copy_rate_16bit_strided;
        }
        return contiguous && !in_psum ? spec.copy_rate_16bit_psum : 1.0;
    }
    if (!in_sbuf) {
        return 1.0;
    }
    const int from = size_bytes(data.dtype);
    const int to = size_bytes(dst.dtype);
    if (to > from) {
        return spec.copy_rate_upcast;
    }
    return from == 4 && to == 1 ? spec.copy_rate_8bit_result : spec.copy_rate_32bit;
}

constexpr std::array<std::string_view, 3> kSimpleOperators{"add", "subtract", "multiply"};

/// NeuronCore-v2's rule for its only 16-bit mode. [NKI-ISA-2.26]
bool is_simple_bf16(const InstructionTemplate& instruction) {
    const Attributes& attributes = instruction.attributes;
    if (instruction.op == Opcode::ScalarTensorTensor) {
        return instruction.at(Role::Data).dtype == Dtype::Bfloat16 &&
               instruction.at(Role::Operand1).dtype == Dtype::Bfloat16 &&
               attributes.op0 == "subtract" && attributes.op1 == "multiply" &&
               streamed_elements(instruction) % 2 == 0;
    }
    const auto is_plain = [](const Operand& operand) {
        return operand.dtype == Dtype::Bfloat16 && is_contiguous_innermost(operand);
    };
    return std::find(kSimpleOperators.begin(), kSimpleOperators.end(), attributes.op0) !=
               kSimpleOperators.end() &&
           std::all_of(instruction.operands.begin(), instruction.operands.end(), is_plain);
}

/// tensor_tensor and scalar_tensor_tensor.
double two_tensor_cycles(const VectorEngineSpec& spec, const InstructionTemplate& instruction) {
    const bool has_scalar = instruction.op == Opcode::ScalarTensorTensor;
    const Operand& a = instruction.at(has_scalar ? Role::Data : Role::Data1);
    const Operand& b = instruction.at(has_scalar ? Role::Operand1 : Role::Data2);
    if (a.space == Space::Psum || b.space == Space::Psum) {
        return spec.tensor_tensor_psum;
    }
    const bool is_16bit = is_fast_16bit(spec, a) && is_fast_16bit(spec, b) &&
                          is_fast_16bit(spec, instruction.at(Role::Dst));
    if (is_16bit && (!spec.tensor_tensor_16bit_restricted || is_simple_bf16(instruction))) {
        return spec.tensor_tensor_sbuf_16bit;
    }
    return spec.tensor_tensor_sbuf;
}

double reduce_cycles(const VectorEngineSpec& spec, const InstructionTemplate& instruction) {
    const std::string& op = instruction.attributes.op0;
    const bool is_bf16 = instruction.at(Role::Data).dtype == Dtype::Bfloat16 &&
                         instruction.at(Role::Dst).dtype == Dtype::Bfloat16;
    return is_bf16 && (op == "add" || op == "max" || op == "maximum") ? spec.reduce_16bit
                                                                      : spec.reduce;
}

double copy_predicated_cycles(const VectorEngineSpec& spec,
                              const InstructionTemplate& instruction) {
    const Operand* data = instruction.find(Role::Data);
    if (data == nullptr) {
        return spec.copy_predicated_scalar;
    }
    const bool in_psum =
        data->space == Space::Psum || is_in(Space::Psum, instruction.find(Role::Predicate));
    return in_psum ? spec.copy_predicated_psum : spec.copy_predicated_sbuf;
}

double memset_cycles(const VectorEngineSpec& spec, const InstructionTemplate& instruction) {
    const bool is_zero = instruction.attributes.value == 0.0;
    return is_zero && is_16bit_float(instruction.at(Role::Dst).dtype) ? spec.memset_zero_16bit
                                                                      : spec.memset;
}

/// Cycles per element at full read rate.
double base_cycles(const VectorEngineSpec& spec, const InstructionTemplate& instruction) {
    switch (instruction.op) {
        case Opcode::TensorCopy:
        case Opcode::TensorScalar:
            return 1.0 / copy_rate(spec, instruction.at(Role::Data), instruction.at(Role::Dst));
        case Opcode::TensorTensor:
        case Opcode::ScalarTensorTensor:
            return two_tensor_cycles(spec, instruction);
        case Opcode::TensorReduce:
            return reduce_cycles(spec, instruction);
        case Opcode::TensorScalarReduce:
            return spec.reduce;
        case Opcode::TensorScalarCumulative:
            return spec.cumulative;
        case Opcode::TensorTensorScan:
            return spec.scan;
        case Opcode::TensorCopyPredicated:
            return copy_predicated_cycles(spec, instruction);
        case Opcode::Memset:
            return memset_cycles(spec, instruction);
        case Opcode::Reciprocal:
            return spec.reciprocal;
        case Opcode::Exponential:
            return spec.exponential;
        case Opcode::QuantizeMx:
            return spec.quantize_mx;
        case Opcode::BnStats:
            return spec.bn_stats;
        case Opcode::BnAggr:
            return spec.bn_aggr;
        case Opcode::Dropout:
        case Opcode::Rng:
            return spec.random;
        case Opcode::Rand2:
            return spec.random_xorwow;
        case Opcode::RandGetState:
        case Opcode::RandSetState:
        case Opcode::SetRngSeed:
            return 0.0;
        default:
            return spec.select;
    }
}

/// Whether an element is computed for several cycles after it has been read.
bool computes_longer_than_it_reads(Opcode op) {
    return op == Opcode::Reciprocal || op == Opcode::BnAggr;
}

bool is_top8(Opcode op) {
    return op == Opcode::Max8 || op == Opcode::NcFindIndex8 || op == Opcode::NcMatchReplace8;
}

/// Whether the cost above one element per cycle comes from a 2x or 4x mode that takes the shared
/// bus.
bool can_use_fast_mode(Opcode op) {
    return op == Opcode::TensorCopy || op == Opcode::TensorScalar || op == Opcode::TensorTensor ||
           op == Opcode::ScalarTensorTensor;
}

}  // namespace

double vector_cycles_per_element(const VectorEngineSpec& spec,
                                 const SbufSpec& sbuf,
                                 const InstructionTemplate& instruction) {
    const double base = base_cycles(spec, instruction);
    const double factor = stride_factor(sbuf, instruction);
    return computes_longer_than_it_reads(instruction.op) ? std::max(base, factor) : base * factor;
}

InstructionCost vector_engine_cost(const VectorEngineSpec& spec,
                                   const SbufSpec& sbuf,
                                   const InstructionTemplate& instruction) {
    const auto cycles = [](Cycles count) { return static_cast<double>(count.value); };
    if (instruction.op == Opcode::NcTranspose) {
        const auto elements = static_cast<double>(streamed_elements(instruction));
        return cost_from_cycles({.streaming = elements,
                                 .issue = cycles(spec.transpose_interval_cycles) - elements,
                                 .completion = cycles(spec.transpose_completion_cycles) - elements},
                                spec.clock_ghz);
    }
    double fixed = cycles(vector_operands(instruction) * spec.vector_operand_cycles);
    if (instruction.find(Role::ReduceResult) != nullptr) {
        fixed += cycles(spec.accumulator_readout_cycles);
    }
    const double completion = instruction.op == Opcode::Memset
                                  ? cycles(spec.memset_completion_cycles)
                                  : cycles(spec.completion_overhead_cycles);
    const double top8 = is_top8(instruction.op) ? cycles(spec.top8_extra_cycles) : 0.0;
    InstructionCost cost =
        cost_from_cycles({.streaming = vector_cycles_per_element(spec, sbuf, instruction) *
                                       static_cast<double>(streamed_elements(instruction)),
                          .issue = cycles(spec.issue_overhead_cycles) + fixed,
                          .completion = completion + fixed + top8},
                         spec.clock_ghz);
    cost.uses_fast_mode = can_use_fast_mode(instruction.op) && base_cycles(spec, instruction) < 1.0;
    return cost;
}

Picoseconds transpose_regroup_time(const VectorEngineSpec& spec) {
    return to_picoseconds(spec.transpose_regroup_cycles - spec.transpose_interval_cycles,
                          spec.clock_ghz);
}

Picoseconds shuffle_mask_load_time(const VectorEngineSpec& spec) {
    return to_picoseconds(spec.shuffle_mask_load_cycles, spec.clock_ghz);
}

}  // namespace trnsim::neuron_core
