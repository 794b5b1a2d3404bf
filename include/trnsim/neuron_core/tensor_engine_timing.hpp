// SPDX-License-Identifier: Apache-2.0
// What LoadStationary and MultiplyMoving cost on the Tensor Engine.
#pragma once

#include "trnsim/base/units.hpp"
#include "trnsim/isa/instruction.hpp"
#include "trnsim/neuron_core/instruction_cost.hpp"
#include "trnsim/neuron_core/pe_array.hpp"
#include "trnsim/neuron_core/tensor_engine_spec.hpp"

#include <cstdint>

/// All functions take an nc_matmul, nc_matmul_mx, nc_matmul_sparse or nc_transpose. A transpose is
/// a matmul whose stationary tile is the data and whose moving tile is an identity of `partitions`
/// columns. [NKI-ARCH-V2]
namespace trnsim::neuron_core {

/// A PE-array operation in the array's own terms.
struct MatmulShape {
    std::int64_t rows = 0;                ///< Partitions, the K of one MAC per PE.
    std::int64_t stationary_columns = 0;  ///< M.
    std::int64_t moving_columns = 0;      ///< N.
    std::int64_t macs_per_pe = 1;         ///< 2 for double row, 4 for MX, compress_ratio.
    bool is_fp32 = false;                 ///< Multiplies FP32 (not TF32).
    bool is_transpose = false;
};
[[nodiscard]] MatmulShape matmul_shape(const InstructionTemplate& instruction);

/// (LDWEIGHTS, MATMUL) pairs of the instruction: 1, or fp32_passes for an FP32 product. One pass
/// with a onezero hint and for fast FP32 transposes. [NKI-ISA] [NKI-PERF] [TRACES-TRN2]
[[nodiscard]] std::int64_t passes(const TensorEngineSpec& spec,
                                  const InstructionTemplate& instruction);

/// TensorE cycles of the LDWEIGHTS instructions of all passes:
/// passes x (columns / load_columns_per_cycle x stride factor + load_overhead). An MM starts when
/// the weights of its first pass are loaded; LS of the next pass or instruction runs behind the
/// current MM, so a stream advances by the larger of this and multiply_moving_interval().
/// [TRACES-TRN2] A repeated stationary tile needs no LS at all. Tags of a sparse tile are loaded as
/// columns of it. [ASSUMED]
[[nodiscard]] Cycles load_stationary_interval(const TensorEngineSpec& spec,
                                              const InstructionTemplate& instruction);

/// What one of the equal passes of an interval takes: the weights of the first are in view, and the
/// next LoadStationary begins with the last. [TRACES-TRN2] \pre passes > 0
[[nodiscard]] Picoseconds pass_time(Picoseconds interval, std::int64_t passes);

/// TensorE cycles at full clock of the MATMUL instructions of all passes:
/// passes x (max(multiply_min_interval, N) x cycles per column x stride factor + overhead).
/// [NKI-ARCH-V2, Cost Model] [TRACES-TRN2] Transposes take half of
/// it where they overlap (background_transpose) [NKI-ARCH-V4] [ASSUMED]. Leaves out fill, operand
/// waits and the clock gate.
[[nodiscard]] Cycles multiply_moving_interval(const TensorEngineSpec& spec,
                                              const InstructionTemplate& instruction);

/// TensorE cycles from the start of a MATMUL to that of one on another tile of the array: the least
/// interval of its passes. [NKI-ISA] has tiles run in parallel; that instructions are still issued
/// one after the other at this interval is [ASSUMED].
[[nodiscard]] Cycles multiply_issue_interval(const TensorEngineSpec& spec,
                                             const InstructionTemplate& instruction);

/// The tile of the array that the instruction uses: all of it without tile_position. [NKI-ISA]
[[nodiscard]] PeBlocks pe_blocks(const TensorEngineSpec& spec,
                                 const InstructionTemplate& instruction);

/// Array cycles that stream columns, overhead and padding to the least interval excluded: N x
/// cycles per column x stride factor x passes. The clock gate counts them (clock_gate_timing.hpp),
/// those of a tile by its share of the array [ASSUMED]. Streams of long strides run at twice the
/// interval of short ones, so they are warm. [M-VOYAGER]
[[nodiscard]] std::int64_t multiply_moving_busy_columns(const TensorEngineSpec& spec,
                                                        const InstructionTemplate& instruction);

/// Share of the rows that hold weights, as the clock gate counts it: of the tile, or else of the
/// clock gate's whole_rows, so that a larger array is no colder for the same work.
[[nodiscard]] double row_share(const TensorEngineSpec& spec,
                               const InstructionTemplate& instruction);

/// interval = multiply_moving_interval() at `rate` (1, or the clock gate's cold_rate),
/// done = interval + fill_cycles (fill_cold_cycles below full rate). [TRACES-TRN2]
[[nodiscard]] InstructionCost multiply_moving_cost(const TensorEngineSpec& spec,
                                                   const InstructionTemplate& instruction,
                                                   double rate = 1.0);

/// Time from the end of streaming to the result in PSUM, at `rate`.
[[nodiscard]] Picoseconds fill_time(const TensorEngineSpec& spec, double rate = 1.0);

/// Multiply-accumulates, rows x stationary columns x moving columns x macs_per_pe, padding
/// excluded; of a sparse tile those of the dense one that it stands for. Those of transposes count
/// too: is_transpose() tells them apart.
[[nodiscard]] std::int64_t macs(const InstructionTemplate& instruction);

/// nc_transpose, or nc_matmul with is_transpose.
[[nodiscard]] bool is_transpose(const InstructionTemplate& instruction);

/// Array time of one MAC relative to BF16, as Neuron Explorer weighs FLOPs: FP32 4, BF16/FP16/TF32
/// 1, FP8 1 / fp8_double_row, MX 0.25. [NEURON-EXPLORER-SCHEMA] Sparse ones 1 / compress_ratio, as
/// their peak is published. [NEURON-CORE-V3]
[[nodiscard]] double flops_weight(const TensorEngineSpec& spec,
                                  const InstructionTemplate& instruction);

/// Peak BF16 FLOP/s of one engine: 2 x rows x columns x clock. The MFU denominator. [NKI-ARCH-V3]
[[nodiscard]] double peak_bf16_flops(const TensorEngineSpec& spec);

}  // namespace trnsim::neuron_core
