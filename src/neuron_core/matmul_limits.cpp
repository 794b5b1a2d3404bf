// SPDX-License-Identifier: Apache-2.0
// Limits of the PE array: tile sizes, types, tiling, double row, MX, accumulation.
#include "limit_check.hpp"
#include "trnsim/neuron_core/tensor_engine_timing.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace trnsim::neuron_core {
namespace {

constexpr std::int64_t kMxPartitions = 32;  ///< Scale groups span this many partitions. [NKI-ISA]
constexpr std::int64_t kMxRowsPerPe = 4;    ///< What an _x4 type packs. [NKI-ARCH-V4]

std::string size(std::int64_t rows, std::int64_t columns) {
    return std::to_string(rows) + "x" + std::to_string(columns);
}

}  // namespace

void LimitCheck::matmul_types() const {
    if (instruction_.op == Opcode::NcTranspose) {
        return;
    }
    const Dtype stationary = instruction_.at(Role::Stationary).dtype;
    const Dtype moving = instruction_.at(Role::Moving).dtype;
    require(is_32bit_float(stationary) == is_32bit_float(moving), [&] {
        return "stationary is " + std::string(name(stationary)) + " and moving " +
               std::string(name(moving)) +
               ", but 32-bit types multiply only with each other; cast one of them";
    });
    if (instruction_.op == Opcode::NcMatmulMx) {
        require(chip_.neuron_core.tensor_engine.mx_rows_per_pe == kMxRowsPerPe, [&] {
            return "nc_matmul_mx is switched off by mx_rows_per_pe of " + chip_.short_name +
                   ", which is below 4: its types pack four rows; use nc_matmul";
        });
        require(is_packed_x4(stationary) && is_packed_x4(moving), [&] {
            return "stationary is " + std::string(name(stationary)) + " and moving " +
                   std::string(name(moving)) +
                   ", but nc_matmul_mx takes packed _x4 types; quantize with quantize_mx";
        });
    }
    if (instruction_.op == Opcode::NcMatmulSparse) {
        sparse_matmul();
    }
    if (instruction_.attributes.perf_mode == MatmulPerfMode::DoubleRow) {
        if (chip_.neuron_core.tensor_engine.fp8_double_row < 2) {
            require_generation(NeuronCoreVersion::V3, [] { return "perf_mode double_row"; });
            fail("perf_mode double_row is switched off by fp8_double_row of " + chip_.short_name +
                 ", which is below 2; leave perf_mode out");
        }
        require(is_fp8(stationary) && is_fp8(moving), [&] {
            return "stationary is " + std::string(name(stationary)) + " and moving " +
                   std::string(name(moving)) +
                   ", but double_row takes FP8 types; cast both or leave perf_mode out";
        });
        require(!instruction_.attributes.is_transpose, [&] {
            return "double_row does not transpose; leave perf_mode or is_transpose out";
        });
    }
}

void LimitCheck::sparse_matmul() const {
    const TensorEngineSpec& array = chip_.neuron_core.tensor_engine;
    const std::int64_t ratio = instruction_.attributes.compress_ratio;
    if (array.sparse_rows_per_pe < 2) {
        fail("nc_matmul_sparse is switched off by sparse_rows_per_pe of " + chip_.short_name +
             ", which is below 2; use nc_matmul");
    }
    require(ratio >= 2 && ratio <= array.sparse_rows_per_pe, [&] {
        return "compress_ratio is " + std::to_string(ratio) + ", but " + chip_.short_name +
               " takes 2 to " + std::to_string(array.sparse_rows_per_pe) +
               ": N / M of its M:N patterns";
    });
    for (const Role role : {Role::Stationary, Role::Moving}) {
        const Dtype dtype = instruction_.at(role).dtype;
        const bool is_taken = size_bytes(dtype) == 2 || dtype == Dtype::Tfloat32 ||
                              (array.sparse_fp8 && is_fp8(dtype));
        require(is_taken, [&] {
            return std::string(name(role)) + " is " + std::string(name(dtype)) +
                   ", but nc_matmul_sparse of " + chip_.short_name + " takes " +
                   (array.sparse_fp8 ? "FP8, " : "") +
                   "16-bit and TF32 types; cast it or use nc_matmul";
        });
    }
    const Operand& tags = instruction_.at(Role::Tags);
    require(tags.dtype == Dtype::Uint16, [&] {
        return "tags are " + std::string(name(tags.dtype)) +
               ", but four of 4 bits are packed in a uint16; give them this type";
    });
}

void LimitCheck::matmul_tile() const {
    const Attributes& attributes = instruction_.attributes;
    if (!attributes.tile_size) {
        return;
    }
    const TensorEngineSpec& array = chip_.neuron_core.tensor_engine;
    const MatmulShape shape = matmul_shape(instruction_);
    const std::array<std::int64_t, 2> limit{array.pe_rows, array.pe_columns};
    const std::array<std::int64_t, 2> used{shape.rows, shape.stationary_columns};
    for (std::size_t axis = 0; axis < 2; ++axis) {
        const std::string what = axis == 0 ? "row" : "column";
        const std::int64_t tile = (*attributes.tile_size)[axis];
        const std::int64_t start = attributes.tile_position ? (*attributes.tile_position)[axis] : 0;
        require(tile >= array.tile_min && tile <= limit[axis] && limit[axis] % tile == 0, [&] {
            return what + " tile size is " + std::to_string(tile) + ", but " + chip_.short_name +
                   " tiles its array by powers of two from " + std::to_string(array.tile_min) +
                   " to " + std::to_string(limit[axis]) + "; choose one of them";
        });
        require(start >= 0 && start % tile == 0 && start + tile <= limit[axis], [&] {
            return what + " tile starts at " + std::to_string(start) +
                   ", but a tile starts at a multiple of its size " + std::to_string(tile) +
                   " within " + std::to_string(limit[axis]) + "; move tile_position";
        });
        require(used[axis] <= tile, [&] {
            return "stationary uses " + std::to_string(used[axis]) + " " + what +
                   "s, but its tile has " + std::to_string(tile) + "; split it or enlarge the tile";
        });
    }
    require(attributes.perf_mode == MatmulPerfMode::None ||
                (*attributes.tile_size)[1] == array.pe_columns,
            [&] {
                return "double_row does not go with column tiles; use all " +
                       std::to_string(array.pe_columns) + " columns";
            });
}

void LimitCheck::matmul_result() const {
    const TensorEngineSpec& array = chip_.neuron_core.tensor_engine;
    const PsumSpec& psum = chip_.neuron_core.psum;
    const MatmulShape shape = matmul_shape(instruction_);
    const Operand& dst = instruction_.at(Role::Dst);
    require(dst.partitions == shape.stationary_columns && dst.elements() == shape.moving_columns,
            [&] {
                return "dst is " + size(dst.partitions, dst.elements()) + ", but the result is " +
                       size(shape.stationary_columns, shape.moving_columns) +
                       " (stationary columns x moving columns); give dst this size";
            });
    const bool is_16bit = size_bytes(dst.dtype) == 2;
    const std::int64_t longest =
        is_16bit ? array.moving_free_max_16bit : array.moving_free_max_32bit;
    require(shape.moving_columns <= longest, [&] {
        return "moving tile has " + std::to_string(shape.moving_columns) + " columns, but " +
               chip_.short_name + " takes up to " + std::to_string(longest) + " for " +
               std::string(name(dst.dtype)) + " results; split the moving tile";
    });
    const std::int64_t bytes =
        (dst.pattern.highest() - dst.pattern.lowest() + 1) * size_bytes(dst.dtype);
    require(psum.matmul_spans_banks || bytes <= psum.bank_bytes, [&] {
        return "dst spans " + std::to_string(bytes) + " bytes of a PSUM partition, but on " +
               chip_.short_name + " one matmul writes within a bank of " +
               std::to_string(psum.bank_bytes) + " bytes; split the moving tile";
    });
    require(instruction_.attributes.start || !is_16bit || array.bf16_accumulate, [&] {
        return "accumulates " + std::string(name(dst.dtype)) +
               " in PSUM, which runs on trn3, not on " + chip_.short_name +
               "; give dst the type float32";
    });
}

void LimitCheck::matmul() const {
    const TensorEngineSpec& array = chip_.neuron_core.tensor_engine;
    if (instruction_.op == Opcode::NcTranspose && instruction_.at(Role::Dst).space == Space::Sbuf) {
        return;  // A Vector Engine transpose.
    }
    const MatmulShape shape = matmul_shape(instruction_);
    require(shape.rows <= array.pe_rows && shape.stationary_columns <= array.pe_columns, [&] {
        return "stationary tile is " + size(shape.rows, shape.stationary_columns) +
               ", but the PE array is " + size(array.pe_rows, array.pe_columns) +
               "; split the tile";
    });
    matmul_types();
    if (instruction_.op != Opcode::NcTranspose) {
        for (const Role role : {Role::Stationary, Role::Moving}) {
            require(instruction_.at(role).space == Space::Sbuf, [&] {
                return "operand " + std::string(name(role)) +
                       " is in PSUM, but the PE array reads SBUF; move it with tensor_copy first";
            });
        }
        require(instruction_.at(Role::Moving).partitions == shape.rows, [&] {
            return "stationary has " + std::to_string(shape.rows) + " partitions and moving " +
                   std::to_string(instruction_.at(Role::Moving).partitions) +
                   ", but both are the contraction; give both the same";
        });
        require(instruction_.at(Role::Dst).space == Space::Psum, [&] {
            return "dst is in SBUF, but the PE array writes PSUM; give dst a PSUM tile";
        });
    }
    if (instruction_.op == Opcode::NcMatmulMx) {
        require(shape.rows % kMxPartitions == 0 && shape.stationary_columns % 2 == 0, [&] {
            return "stationary tile is " + size(shape.rows, shape.stationary_columns) +
                   ", but nc_matmul_mx takes a multiple of " + std::to_string(kMxPartitions) +
                   " partitions and an even number of columns; pad the tile";
        });
    }
    matmul_tile();
    matmul_result();
}

}  // namespace trnsim::neuron_core
