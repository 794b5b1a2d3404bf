// SPDX-License-Identifier: Apache-2.0
// What LoadStationary and MultiplyMoving cost on the Tensor Engine.
#include "trnsim/neuron_core/tensor_engine_timing.hpp"

#include "streamed_operands.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace trnsim::neuron_core {
namespace {

/// 2 where the operand's innermost stride is too long for one read per cycle, else 1. [M-VOYAGER]
double array_stride_factor(const TensorEngineSpec& spec, const Operand& operand) {
    return innermost_stride_bytes(operand) > spec.full_rate_stride_bytes ? 2.0 : 1.0;
}

const Operand& stationary_of(const InstructionTemplate& instruction) {
    return instruction.at(instruction.op == Opcode::NcTranspose ? Role::Data : Role::Stationary);
}

/// Stride factor of what streams: an nc_transpose streams an identity, which is contiguous.
double moving_stride_factor(const TensorEngineSpec& spec, const InstructionTemplate& instruction) {
    return instruction.op == Opcode::NcTranspose
               ? 1.0
               : array_stride_factor(spec, instruction.at(Role::Moving));
}

bool is_fast_transpose(const TensorEngineSpec& spec, const MatmulShape& shape) {
    return shape.is_transpose && spec.fast_fp32_transpose;
}

double columns_per_load_cycle(const TensorEngineSpec& spec, const MatmulShape& shape) {
    if (!shape.is_fp32) {
        return spec.load_columns_per_cycle;
    }
    return is_fast_transpose(spec, shape) ? spec.load_fp32_transpose_columns_per_cycle
                                          : spec.load_fp32_columns_per_cycle;
}

Cycles multiply_overhead(const TensorEngineSpec& spec, const MatmulShape& shape) {
    if (shape.is_transpose && (!shape.is_fp32 || spec.fast_fp32_transpose)) {
        return spec.transpose_overhead_cycles;
    }
    return shape.is_fp32 ? spec.multiply_overhead_fp32_cycles : spec.multiply_overhead_cycles;
}

double cycles_per_column(const TensorEngineSpec& spec, const MatmulShape& shape) {
    return shape.is_fp32 ? spec.fp32_cycles_per_column : 1.0;
}

/// A bit for each quarter of the array's rows (axis 0) or columns (1) that a tile lies in.
unsigned blocks_of(std::int64_t array, const Attributes& attributes, std::size_t axis) {
    const std::int64_t quarter = array / kPeBlocksPerSide;
    const std::int64_t begin = (*attributes.tile_position)[axis];
    const std::int64_t end = begin + (*attributes.tile_size)[axis];
    unsigned blocks = 0;
    for (std::int64_t block = begin / quarter; block * quarter < end; ++block) {
        blocks |= 1U << static_cast<unsigned>(block);
    }
    return blocks;
}

}  // namespace

MatmulShape matmul_shape(const InstructionTemplate& instruction) {
    const Operand& stationary = stationary_of(instruction);
    MatmulShape shape{.rows = stationary.partitions,
                      .stationary_columns = stationary.elements(),
                      .moving_columns = stationary.partitions,
                      .is_fp32 = stationary.dtype == Dtype::Float32,
                      .is_transpose = is_transpose(instruction)};
    if (instruction.op == Opcode::NcTranspose) {
        return shape;
    }
    const Operand& moving = instruction.at(Role::Moving);
    shape.moving_columns = moving.elements();
    shape.is_fp32 = shape.is_fp32 || moving.dtype == Dtype::Float32;
    if (instruction.attributes.perf_mode == MatmulPerfMode::DoubleRow) {
        shape.macs_per_pe = 2;  // The first free dimension of both tiles is the pair of rows.
        shape.stationary_columns /= 2;
        shape.moving_columns /= 2;
    } else if (instruction.op == Opcode::NcMatmulMx) {
        shape.macs_per_pe = 4;  // Four values are packed in each element.
    } else if (instruction.op == Opcode::NcMatmulSparse) {
        shape.macs_per_pe = instruction.attributes.compress_ratio;
        shape.moving_columns /= shape.macs_per_pe;
    }
    return shape;
}

std::int64_t passes(const TensorEngineSpec& spec, const InstructionTemplate& instruction) {
    const MatmulShape shape = matmul_shape(instruction);
    if (!shape.is_fp32 || is_fast_transpose(spec, shape)) {
        return 1;
    }
    if (instruction.attributes.onezero != OneZero::None) {
        return std::max<std::int64_t>(1, spec.fp32_passes / 2);
    }
    return spec.fp32_passes;
}

Cycles load_stationary_interval(const TensorEngineSpec& spec,
                                const InstructionTemplate& instruction) {
    const MatmulShape shape = matmul_shape(instruction);
    const Operand* tags = instruction.find(Role::Tags);
    const std::int64_t tag_columns = tags == nullptr ? 0 : tags->elements();
    const double columns = static_cast<double>(shape.stationary_columns + tag_columns) *
                           array_stride_factor(spec, stationary_of(instruction)) /
                           columns_per_load_cycle(spec, shape);
    const Cycles pass = Cycles{std::llround(std::ceil(columns))} + spec.load_overhead_cycles;
    return passes(spec, instruction) * pass;
}

Picoseconds pass_time(Picoseconds interval, std::int64_t passes) {
    return Picoseconds{interval.value / passes};
}

Cycles multiply_moving_interval(const TensorEngineSpec& spec,
                                const InstructionTemplate& instruction) {
    const MatmulShape shape = matmul_shape(instruction);
    const double factor = cycles_per_column(spec, shape) * moving_stride_factor(spec, instruction);
    const double efficiency = shape.is_fp32 ? 1.0 : spec.multiply_efficiency;
    const double streaming =
        factor * std::max(static_cast<double>(shape.moving_columns) / efficiency,
                          static_cast<double>(spec.multiply_min_interval_cycles.value));
    const double overlap = shape.is_transpose && spec.background_transpose ? 0.5 : 1.0;
    const Cycles pass =
        Cycles{std::llround(std::ceil(streaming * overlap))} + multiply_overhead(spec, shape);
    return passes(spec, instruction) * pass;
}

std::int64_t multiply_moving_busy_columns(const TensorEngineSpec& spec,
                                          const InstructionTemplate& instruction) {
    const MatmulShape shape = matmul_shape(instruction);
    const double pass = static_cast<double>(shape.moving_columns) * cycles_per_column(spec, shape) *
                        moving_stride_factor(spec, instruction);
    return share_of_array(pe_blocks(spec, instruction),
                          passes(spec, instruction) * std::llround(pass));
}

Cycles multiply_issue_interval(const TensorEngineSpec& spec,
                               const InstructionTemplate& instruction) {
    return passes(spec, instruction) * spec.multiply_min_interval_cycles;
}

PeBlocks pe_blocks(const TensorEngineSpec& spec, const InstructionTemplate& instruction) {
    const Attributes& attributes = instruction.attributes;
    if (!attributes.tile_position) {
        return kWholeArray;
    }
    const unsigned rows = blocks_of(spec.pe_rows, attributes, 0);
    const unsigned columns = blocks_of(spec.pe_columns, attributes, 1);
    unsigned blocks = 0;
    for (unsigned row = 0; row < kPeBlocksPerSide; ++row) {
        blocks |= (rows >> row & 1U) != 0 ? columns << (row * kPeBlocksPerSide) : 0U;
    }
    return static_cast<PeBlocks>(blocks);
}

double row_share(const TensorEngineSpec& spec, const InstructionTemplate& instruction) {
    const auto rows = static_cast<double>(matmul_shape(instruction).rows);
    const std::int64_t most = instruction.attributes.tile_size
                                  ? (*instruction.attributes.tile_size)[0]
                                  : std::min(spec.pe_rows, spec.clock_gate.whole_rows);
    return std::min(1.0, rows / static_cast<double>(most));
}

InstructionCost multiply_moving_cost(const TensorEngineSpec& spec,
                                     const InstructionTemplate& instruction,
                                     double rate) {
    assert(rate > 0.0 && rate <= 1.0);
    const Picoseconds interval = to_picoseconds(multiply_moving_interval(spec, instruction),
                                                Gigahertz{spec.clock_ghz.value * rate});
    return {.interval = interval, .read = interval, .done = interval + fill_time(spec, rate)};
}

Picoseconds fill_time(const TensorEngineSpec& spec, double rate) {
    return to_picoseconds(rate < 1.0 ? spec.fill_cold_cycles : spec.fill_cycles, spec.clock_ghz);
}

std::int64_t macs(const InstructionTemplate& instruction) {
    const MatmulShape shape = matmul_shape(instruction);
    return shape.rows * shape.stationary_columns * shape.moving_columns * shape.macs_per_pe;
}

bool is_transpose(const InstructionTemplate& instruction) {
    return instruction.op == Opcode::NcTranspose || instruction.attributes.is_transpose;
}

double flops_weight(const TensorEngineSpec& spec, const InstructionTemplate& instruction) {
    const MatmulShape shape = matmul_shape(instruction);
    if (shape.is_fp32) {
        return static_cast<double>(spec.fp32_passes) * spec.fp32_cycles_per_column;
    }
    if (instruction.op == Opcode::NcMatmulMx) {
        return 1.0 / static_cast<double>(spec.mx_rows_per_pe);
    }
    if (instruction.op == Opcode::NcMatmulSparse) {
        return 1.0 / static_cast<double>(shape.macs_per_pe);
    }
    return is_fp8(stationary_of(instruction).dtype) ? 1.0 / static_cast<double>(spec.fp8_double_row)
                                                    : 1.0;
}

double peak_bf16_flops(const TensorEngineSpec& spec) {
    return 2.0 * static_cast<double>(spec.pe_rows * spec.pe_columns) * spec.clock_ghz.value * 1e9;
}

}  // namespace trnsim::neuron_core
