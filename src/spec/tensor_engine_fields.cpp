// SPDX-License-Identifier: Apache-2.0
// The fields of the Tensor Engine and its clock gate.
#include "field.hpp"

namespace trnsim::spec {
namespace {

constexpr Range kColumnRate{0.01, 128};

void list_array(FieldList& list, TensorEngineSpec& spec) {
    list.number("clock_ghz", spec.clock_ghz, "GHz", {0.1, 10}, "Clock of the PE array.");
    list.number("pe_rows", spec.pe_rows, "rows", {1, 1024}, "PE rows: the longest contraction.");
    list.number("pe_columns",
                spec.pe_columns,
                "columns",
                {1, 1024},
                "PE columns: the widest stationary tile.");
    list.number(
        "tile_min", spec.tile_min, "rows", {1, 1024}, "Smallest row or column tile of the array.");
    list.number("moving_free_max_32bit",
                spec.moving_free_max_32bit,
                "columns",
                {1, 65536},
                "Longest moving tile with 32-bit results in PSUM.");
    list.number("moving_free_max_16bit",
                spec.moving_free_max_16bit,
                "columns",
                {1, 65536},
                "Longest moving tile with 16-bit results in PSUM.");
}

void list_multiply(FieldList& list, TensorEngineSpec& spec) {
    list.number("multiply_min_interval_cycles",
                spec.multiply_min_interval_cycles,
                "cycles",
                kCycles,
                "Least streaming time of a MATMUL instruction.");
    list.number("multiply_efficiency",
                spec.multiply_efficiency,
                "1",
                kShare,
                "Share of the array's column rate that a stream of MATMUL instructions sustains, "
                "but for FP32.");
    list.number("multiply_overhead_cycles",
                spec.multiply_overhead_cycles,
                "cycles",
                kCycles,
                "Added to every MATMUL instruction.");
    list.number("multiply_overhead_fp32_cycles",
                spec.multiply_overhead_fp32_cycles,
                "cycles",
                kCycles,
                "Added to every MATMUL instruction of an FP32 pass instead.");
    list.number("transpose_overhead_cycles",
                spec.transpose_overhead_cycles,
                "cycles",
                kCycles,
                "Added to every MATMUL instruction of a transpose instead.");
    list.number("fill_cycles",
                spec.fill_cycles,
                "cycles",
                kCycles,
                "End of streaming to the result visible in PSUM.");
    list.number("fill_cold_cycles",
                spec.fill_cold_cycles,
                "cycles",
                kCycles,
                "The same while the clock gate divides the clock; full-rate cycles.");
    list.number("fp32_passes",
                spec.fp32_passes,
                "instructions",
                {1, 16},
                "MATMUL instructions of one FP32 product.");
    list.number("fp32_cycles_per_column",
                spec.fp32_cycles_per_column,
                "cycles/column",
                {0.25, 16},
                "Streaming time of an FP32 pass.");
    list.flag("fast_fp32_transpose",
              spec.fast_fp32_transpose,
              "Whether an FP32 transpose takes a single pass.");
}

void list_load(FieldList& list, TensorEngineSpec& spec) {
    list.number("load_overhead_cycles",
                spec.load_overhead_cycles,
                "cycles",
                kCycles,
                "Added to every LDWEIGHTS instruction.");
    list.number("load_columns_per_cycle",
                spec.load_columns_per_cycle,
                "columns/cycle",
                kColumnRate,
                "Loading of a stationary tile of 16-bit or narrower elements.");
    list.number("load_fp32_columns_per_cycle",
                spec.load_fp32_columns_per_cycle,
                "columns/cycle",
                kColumnRate,
                "Loading of an FP32 stationary tile, per pass.");
    list.number("load_fp32_transpose_columns_per_cycle",
                spec.load_fp32_transpose_columns_per_cycle,
                "columns/cycle",
                kColumnRate,
                "Loading of an FP32 stationary tile for a single-pass transpose.");
}

void list_features(FieldList& list, TensorEngineSpec& spec) {
    list.number("fp8_double_row",
                spec.fp8_double_row,
                "rows/PE",
                {1, 2},
                "Rows one PE contracts in perf_mode double_row; 1 for none.");
    list.number("mx_rows_per_pe",
                spec.mx_rows_per_pe,
                "rows/PE",
                {0, 4},
                "Rows one PE contracts in nc_matmul_mx; 0 for none.");
    list.number("sparse_rows_per_pe",
                spec.sparse_rows_per_pe,
                "rows/PE",
                {0, 16},
                "Rows one PE contracts in nc_matmul_sparse at most: the largest compress_ratio; 0 "
                "for none.");
    list.flag("sparse_fp8", spec.sparse_fp8, "Whether nc_matmul_sparse takes FP8 types.");
    list.flag("bf16_accumulate", spec.bf16_accumulate, "Whether PSUM accumulates BF16.");
    list.flag("background_transpose",
              spec.background_transpose,
              "Whether transposes overlap each other and matmuls: half the interval.");
    list.number("full_rate_stride_bytes",
                spec.full_rate_stride_bytes,
                "B",
                {1, 4096},
                "Longest innermost stride of an operand that is read at full rate.");
}

}  // namespace

void list_fields(FieldList& list, ClockGateSpec& spec) {
    list.flag("enabled", spec.enabled, "Whether a cold PE array runs at a divided clock.");
    list.number("window_cycles",
                spec.window_cycles,
                "cycles",
                {1, 1e9},
                "Length of the free-running windows at whose ends the clock is decided.");
    list.number("phase_cycles",
                spec.phase_cycles,
                "cycles",
                {0, 1e9},
                "Age of the first window when the kernel starts.");
    list.number("whole_rows",
                spec.whole_rows,
                "rows",
                {1, 1024},
                "Rows in use that the thresholds count as all of them, if the array has as many.");
    list.number("warm_up_utilization",
                spec.warm_up_utilization,
                "columns/cycle",
                {0.001, 1},
                "Columns streamed per cycle, each weighted by the share of whole_rows it uses, of "
                "one cold window after which the next one is warm.");
    list.number("warm_up_leak",
                spec.warm_up_leak,
                "columns/cycle",
                {0, 1},
                "What exceeds this adds up over cold windows, and leaks where less is streamed.");
    list.number("warm_up_sum",
                spec.warm_up_sum,
                "columns/cycle",
                {0.001, 1e9},
                "Sum of what exceeded warm_up_leak, over cold windows, after which the next one is "
                "warm.");
    list.number("cool_down_utilization",
                spec.cool_down_utilization,
                "columns/cycle",
                {0, 1},
                "Columns streamed per cycle of a warm window below which the next one is cold.");
    list.number("warm_windows",
                spec.warm_windows,
                "windows",
                {1, 1e9},
                "Warm windows in a row, none of which would warm up a cold array, after which the "
                "next one is cold.");
    list.number(
        "cold_rate", spec.cold_rate, "1", {0.01, 1}, "Cold clock relative to the full one.");
}

void list_fields(FieldList& list, TensorEngineSpec& spec) {
    list_array(list, spec);
    list_multiply(list, spec);
    list_load(list, spec);
    list_features(list, spec);
    list.group("clock_gate", spec.clock_gate);
}

}  // namespace trnsim::spec
