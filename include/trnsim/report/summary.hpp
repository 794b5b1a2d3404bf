// SPDX-License-Identifier: Apache-2.0
// The numbers of a run that Neuron Explorer also shows, under the names and in the units of its
// Summary table.
#pragma once

#include "trnsim/simulator/run_result.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace trnsim::report {

/// Peak rates that utilisations refer to.
struct Peaks {
    double tensor_flops_per_s =
        0.0;  ///< 2 x pe_rows x pe_columns x clock: BF16. [NEURON-EXPLORER-SCHEMA]
    double hbm_gb_per_s =
        0.0;  ///< Of one stack: interface bits x pin rate / 8. [NEURON-EXPLORER-SCHEMA]
    double dma_engine_gb_per_s = 0.0;
};

[[nodiscard]] Peaks peaks(const ChipSpec& chip);

/// Field names, units and formulas of Neuron Explorer's Summary table; times in seconds,
/// percentages from 0 to 100, a multiply-add is two FLOPs. [NEURON-EXPLORER-SCHEMA] Like there, MFU
/// and HFU count FLOPs of every type against the BF16 peak: FP32 matmuls reach a quarter of it, FP8
/// can exceed 100. `latency_us` is total_time in our unit. A ratio whose denominator is 0 is 0.
struct Summary {
    double total_time = 0.0;
    double latency_us = 0.0;
    double latency_low_us = 0.0;   ///< Silicon is between these for four of five measured kernels
    double latency_high_us = 0.0;  ///< of the chip and API.
    std::int64_t model_flops = 0;  ///< Matmuls, transposes excluded.
    std::int64_t hardware_flops = 0;  ///< Everything the PE array did.
    std::int64_t transpose_flops = 0;
    std::int64_t adjusted_hardware_flops = 0;  ///< In BF16 equivalents: FP32 counts four times.
    std::int64_t adjusted_transpose_flops = 0;
    double mm_arithmetic_intensity = 0.0;  ///< model_flops per HBM byte.
    double peak_flops_bandwidth_ratio = 0.0;
    double mfu_estimated_percent = 0.0;
    double mfu_max_achievable_estimated_percent = 0.0;
    double hfu_estimated_percent = 0.0;
    double mbu_estimated_percent = 0.0;
    std::int64_t hbm_read_bytes = 0;
    std::int64_t hbm_write_bytes = 0;
    std::int64_t spill_save_bytes = 0;
    std::int64_t spill_reload_bytes = 0;
    double dma_active_time = 0.0;
    double dma_active_time_percent = 0.0;
    std::int64_t dma_transfer_count = 0;
    std::int64_t dma_transfer_total_bytes = 0;
    double dma_transfer_average_bytes = 0.0;

    /// Of one engine: "<engine>_engine_active_time" and so on. Active as profilers count it: wall
    /// clock with an instruction between issue and result, not occupancy.
    struct EngineActivity {
        double active_time = 0.0;
        double active_time_percent = 0.0;
        std::int64_t instruction_count = 0;
    };
    std::array<EngineActivity, kSequencedEngines.size()>
        engines;  ///< In the order of kSequencedEngines.
};

/// `error`: of the model, see AccuracySpec.
[[nodiscard]] Summary summarize(const RunResult& result, const Peaks& peaks, double error = 0.0);

/// Calls f(name, value) for every field, in the order of the struct; a value is a double or an
/// std::int64_t.
template <typename F>
void visit(const Summary& s, F&& f) {
    f("total_time", s.total_time);
    f("latency_us", s.latency_us);
    f("latency_low_us", s.latency_low_us);
    f("latency_high_us", s.latency_high_us);
    f("model_flops", s.model_flops);
    f("hardware_flops", s.hardware_flops);
    f("transpose_flops", s.transpose_flops);
    f("adjusted_hardware_flops", s.adjusted_hardware_flops);
    f("adjusted_transpose_flops", s.adjusted_transpose_flops);
    f("mm_arithmetic_intensity", s.mm_arithmetic_intensity);
    f("peak_flops_bandwidth_ratio", s.peak_flops_bandwidth_ratio);
    f("mfu_estimated_percent", s.mfu_estimated_percent);
    f("mfu_max_achievable_estimated_percent", s.mfu_max_achievable_estimated_percent);
    f("hfu_estimated_percent", s.hfu_estimated_percent);
    f("mbu_estimated_percent", s.mbu_estimated_percent);
    f("hbm_read_bytes", s.hbm_read_bytes);
    f("hbm_write_bytes", s.hbm_write_bytes);
    f("spill_save_bytes", s.spill_save_bytes);
    f("spill_reload_bytes", s.spill_reload_bytes);
    f("dma_active_time", s.dma_active_time);
    f("dma_active_time_percent", s.dma_active_time_percent);
    f("dma_transfer_count", s.dma_transfer_count);
    f("dma_transfer_total_bytes", s.dma_transfer_total_bytes);
    f("dma_transfer_average_bytes", s.dma_transfer_average_bytes);
    for (std::size_t i = 0; i < s.engines.size(); ++i) {
        const std::string engine = std::string{name(kSequencedEngines[i])} + "_engine_";
        f(engine + "active_time", s.engines[i].active_time);
        f(engine + "active_time_percent", s.engines[i].active_time_percent);
        f(engine + "instruction_count", s.engines[i].instruction_count);
    }
}

}  // namespace trnsim::report
