// SPDX-License-Identifier: Apache-2.0
// The numbers of a run that Neuron Explorer also shows, under the names and in the units of its
// Summary table.
#include "trnsim/report/summary.hpp"

#include "quantity.hpp"

#include <cmath>

namespace trnsim::report {
namespace {

constexpr double kBitsPerByte = 8.0;

/// As profilers count it: the array while it streams, other engines until their results are
/// visible.
Summary::EngineActivity activity(const RunResult& result, Engine engine) {
    const auto found = result.engines.find(engine);
    if (found == result.engines.end()) {
        return {};
    }
    const EngineResult& of = found->second;
    const Picoseconds active = engine == Engine::Tensor ? of.active : of.covered;
    return {.active_time = in_seconds(active),
            .active_time_percent = percent(active, result.total),
            .instruction_count = of.instructions};
}

/// In microseconds: of whole picoseconds, like what it is made of, but of any number of them.
double scaled(Picoseconds time, double factor) {
    return std::round(static_cast<double>(time.value) * factor) / 1e6;
}

void add_flops(Summary& summary, const TensorWork& work) {
    summary.model_flops = 2 * work.macs;
    summary.transpose_flops = 2 * work.transpose_macs;
    summary.hardware_flops = summary.model_flops + summary.transpose_flops;
    summary.adjusted_transpose_flops = 2 * work.peak_weighted_transpose_macs;
    summary.adjusted_hardware_flops =
        2 * work.peak_weighted_macs + summary.adjusted_transpose_flops;
}

void add_utilisations(Summary& summary, const Peaks& peaks) {
    const auto bytes = static_cast<double>(summary.hbm_read_bytes + summary.hbm_write_bytes);
    const auto flops = static_cast<double>(summary.model_flops);
    const double peak_flops = peaks.tensor_flops_per_s * summary.total_time;
    const double peak_bytes = peaks.hbm_gb_per_s * 1e9 * summary.total_time;
    summary.mm_arithmetic_intensity = ratio(flops, bytes);
    summary.peak_flops_bandwidth_ratio = ratio(peaks.tensor_flops_per_s, peaks.hbm_gb_per_s * 1e9);
    summary.mfu_estimated_percent = percent(flops, peak_flops);
    summary.hfu_estimated_percent =
        percent(static_cast<double>(summary.hardware_flops), peak_flops);
    summary.mfu_max_achievable_estimated_percent =
        percent(summary.mm_arithmetic_intensity, summary.peak_flops_bandwidth_ratio);
    summary.mbu_estimated_percent = percent(bytes, peak_bytes);
}

}  // namespace

Peaks peaks(const ChipSpec& chip) {
    const TensorEngineSpec& tensor = chip.neuron_core.tensor_engine;
    const auto elements = static_cast<double>(tensor.pe_rows * tensor.pe_columns);
    const auto bits = static_cast<double>(chip.hbm.stack_interface_bits);
    return {.tensor_flops_per_s = 2.0 * elements * tensor.clock_ghz.value * 1e9,
            .hbm_gb_per_s = bits * chip.hbm.pin_gbit_per_s / kBitsPerByte,
            .dma_engine_gb_per_s = chip.dma.engine_gb_per_s.value};
}

Summary summarize(const RunResult& result, const Peaks& peaks, double error) {
    Summary summary;
    summary.total_time = in_seconds(result.total);
    summary.latency_us = in_microseconds(result.total);
    summary.latency_low_us = scaled(result.total, 1.0 / (1.0 + error));
    summary.latency_high_us = scaled(result.total, 1.0 / (1.0 - error));
    add_flops(summary, result.tensor);
    summary.hbm_read_bytes = result.memory.hbm_read_bytes;
    summary.hbm_write_bytes = result.memory.hbm_write_bytes;
    summary.spill_save_bytes = result.memory.spill_save_bytes;
    summary.spill_reload_bytes = result.memory.spill_reload_bytes;
    add_utilisations(summary, peaks);
    summary.dma_active_time = in_seconds(result.dma.active);
    summary.dma_active_time_percent = percent(result.dma.active, result.total);
    summary.dma_transfer_count = result.dma.transfers;
    summary.dma_transfer_total_bytes = result.dma.bytes;
    summary.dma_transfer_average_bytes =
        ratio(static_cast<double>(result.dma.bytes), static_cast<double>(result.dma.transfers));
    for (std::size_t i = 0; i < summary.engines.size(); ++i) {
        summary.engines.at(i) = activity(result, kSequencedEngines.at(i));
    }
    return summary;
}

}  // namespace trnsim::report
