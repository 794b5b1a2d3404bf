// SPDX-License-Identifier: Apache-2.0
// Immutable numbers of one Tensor Engine.
#pragma once

#include "trnsim/base/units.hpp"

#include <cstdint>

namespace trnsim {

/// The clock gate that limits a cold PE array (dI/dt) on Trn2 and Trn3: two states, full and
/// divided rate, decided at the end of free-running windows from the columns streamed in the
/// window.
struct ClockGateSpec {
    bool enabled = false;
    Cycles window_cycles{8192};     ///< Length of a window: 3,413 ns at 2.4 GHz.
    Cycles phase_cycles{0};         ///< Age of the first window when the kernel starts.
    std::int64_t whole_rows = 128;  ///< In use: as good as all, of an array of as many or more.
    double warm_up_utilization =
        0.465;                    ///< One cold window at or above it is followed by a warm one.
    double warm_up_leak = 0.252;  ///< Utilisation above it adds up over cold windows,
    double warm_up_sum = 0.42;    ///< and if it is as much in all, a warm one follows too.
    double cool_down_utilization = 0.30;  ///< Below it, a warm window is followed by a cold one.
    std::int64_t warm_windows = 61;       ///< Warm ones in a row that would not warm it up.
    double cold_rate = 0.5;               ///< Rate of the cold state relative to full.
};

/// One Tensor Engine: a systolic array of PEs, fed by LoadStationary and MultiplyMoving.
struct TensorEngineSpec {
    Gigahertz clock_ghz{2.4};
    std::int64_t pe_rows = 128;                ///< Contraction (partition) size.
    std::int64_t pe_columns = 128;             ///< Stationary free size.
    std::int64_t tile_min = 32;                ///< Smallest row or column tile of the array.
    std::int64_t moving_free_max_32bit = 512;  ///< Moving free size with FP32 results in PSUM.
    std::int64_t moving_free_max_16bit = 512;  ///< Moving free size with 16-bit results in PSUM.

    // MultiplyMoving (MATMUL).
    Cycles multiply_min_interval_cycles{64};  ///< MM_INIT_LATENCY.
    double multiply_efficiency = 1.0;    ///< Columns per cycle that a stream sustains; FP32: 1.
    Cycles multiply_overhead_cycles{8};  ///< Added to every MATMUL instruction.
    Cycles multiply_overhead_fp32_cycles{8};  ///< The same, of one FP32 pass.
    Cycles transpose_overhead_cycles{4};      ///< The same for transposes.
    Cycles fill_cycles{391};                  ///< End of streaming to result visible in PSUM.
    Cycles fill_cold_cycles{490};             ///< The same at the divided clock.
    std::int64_t fp32_passes = 2;             ///< MATMUL instructions of one FP32 nc_matmul.
    double fp32_cycles_per_column = 2.0;      ///< Of one pass.
    bool fast_fp32_transpose = true;          ///< FP32 transposes take a single pass.

    // LoadStationary (LDWEIGHTS).
    Cycles load_overhead_cycles{4};            ///< Added to every LDWEIGHTS instruction.
    double load_columns_per_cycle = 4.0;       ///< 16-bit and narrower (fast weight load).
    double load_fp32_columns_per_cycle = 0.5;  ///< FP32, one pass.
    double load_fp32_transpose_columns_per_cycle = 1.0;  ///< FP32, the single pass of a transpose.

    // What this generation can do.
    std::int64_t fp8_double_row = 1;          ///< 2: FP8 double row (K = 256); 1: none.
    std::int64_t mx_rows_per_pe = 0;          ///< 4: MX quads (K = 512); 0: no MX.
    std::int64_t sparse_rows_per_pe = 0;      ///< 4: up to 4:16 sparsity (K = 512); 0: none.
    bool sparse_fp8 = false;                  ///< Sparse products of FP8 types too.
    bool bf16_accumulate = false;             ///< PSUM may hold BF16 results (v4).
    bool background_transpose = false;        ///< Transposes overlap: half the interval (v4).
    std::int64_t full_rate_stride_bytes = 8;  ///< Longest innermost stride read at full rate.
    ClockGateSpec clock_gate;
};

}  // namespace trnsim
