// SPDX-License-Identifier: Apache-2.0
// Why a run took as long as it did, in sentences.
#include "explain.hpp"

#include "quantity.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace trnsim::report {
namespace {

std::string share_of_run(const Report& report, Picoseconds time) {
    return percent_text(percent(time, report.result.total));
}

/// "matmul.py" of "kernels/matmul.py:94 nc_matmul".
std::string_view file_name(std::string_view what) {
    const std::size_t slash = what.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? what : what.substr(slash + 1);
    return name.substr(0, name.rfind(':'));
}

/// "else waits for dma 6.1 %, waits for vector 2.0 %, idle 2.0 %".
std::string what_else(const Report& report, Engine engine) {
    const EngineResult& times = report.result.engines.at(engine);
    std::vector<std::pair<Picoseconds, std::string_view>> waits;
    for (std::size_t i = 0; i < times.waiting.size(); ++i) {
        waits.emplace_back(times.waiting.at(i), name(static_cast<WaitCause>(i)));
    }
    std::stable_sort(
        waits.begin(), waits.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    constexpr std::size_t kShown = 3;
    std::vector<std::string> texts;
    for (const auto& [time, cause] : waits) {
        if (time > Picoseconds{} && texts.size() < kShown) {
            texts.push_back(fmt::format("waits for {} {}", cause, share_of_run(report, time)));
        }
    }
    texts.push_back(fmt::format("idle {}", share_of_run(report, times.idle)));
    return fmt::format("else {}", fmt::join(texts, ", "));
}

/// "without waits the run takes 128.7 us": what the resource needs, with kernel start and end.
std::string without_waits(const Report& report, Picoseconds needed) {
    return fmt::format("without waits the run takes {}",
                       time_text(report.result.kernel_start + needed + report.result.kernel_end));
}

double gigabytes_per_second(double bytes, Picoseconds time) {
    return ratio(bytes, in_nanoseconds(time));
}

/// "its engines move 12.10 of 27.20 GB/s while busy, in descriptors of about 4.000 KiB".
std::string dma_rate(const Report& report) {
    const DmaResult& dma = report.result.dma;
    const Picoseconds busy =
        std::accumulate(dma.engine_busy.begin(), dma.engine_busy.end(), Picoseconds{});
    const auto bytes = static_cast<double>(dma.bytes);
    return fmt::format("its engines move {} of {} GB/s while busy, in descriptors of about {}",
                       number_text(gigabytes_per_second(bytes, busy)),
                       number_text(report.peaks.dma_engine_gb_per_s),
                       bytes_text(ratio(bytes, static_cast<double>(dma.descriptors))));
}

std::string hbm_rate(const Report& report) {
    const Summary& summary = report.summary;
    const auto bytes = static_cast<double>(summary.hbm_read_bytes + summary.hbm_write_bytes);
    return fmt::format("{} of {} GB/s on average",
                       number_text(gigabytes_per_second(bytes, report.result.total)),
                       number_text(report.peaks.hbm_gb_per_s));
}

std::vector<std::string> explain_latency(const Report& report) {
    const Roofline& roofline = report.roofline;
    const Picoseconds busiest = roofline.of(roofline.busiest);
    const ShortLines lines(report.result);
    std::vector<std::string> steps;
    for (const CriticalPathEntry& entry : report.result.critical_path) {
        constexpr std::size_t kShown = 2;
        if (steps.size() < kShown) {
            constexpr std::size_t kStepColumns = 27;  // Two, and shares, in one line.
            const std::string without_engine = entry.what.substr(0, entry.what.rfind(" ("));
            steps.push_back(fmt::format("{} {}",
                                        lines.text(without_engine, kStepColumns),
                                        share_of_run(report, entry.time)));
        }
    }
    return {busiest == Picoseconds{}
                ? std::string{"latency: no engine and no DMA did anything"}
                : fmt::format("latency: nothing is busy for half of the time; most, {}: {}",
                              share_of_run(report, busiest),
                              title(roofline.busiest)),
            fmt::format("longest steps: {}", fmt::join(steps, ", "))};
}

}  // namespace

std::string_view without_unknown_source(std::string_view what) {
    constexpr std::string_view kUnknown = "? ";
    return what.starts_with(kUnknown) ? what.substr(kUnknown.size()) : what;
}

std::string in_short(std::string_view what, std::size_t width) {
    const std::string_view known = without_unknown_source(what);
    const std::size_t slash = known.rfind('/');
    return clip_front(
        slash == std::string_view::npos ? known : fmt::format("…{}", known.substr(slash)), width);
}

std::string in_full_or_short(std::string_view what, std::size_t width) {
    const std::string_view known = without_unknown_source(what);
    return width_of(known) <= width ? clip(known, width) : in_short(known, width);
}

ShortLines::ShortLines(const RunResult& result) {
    std::map<std::string_view, std::string_view> files;  // By name the first one.
    for (const LineResult& line : result.lines) {
        const std::string_view source = line.source;
        const std::string_view file = source.substr(0, source.rfind(':'));
        if (files.emplace(file_name(source), file).first->second != file) {
            names_.emplace(file_name(source));
        }
    }
}

std::string ShortLines::text(std::string_view what, std::size_t width) const {
    return names_.contains(file_name(what)) ? clip_front(what, width) : in_short(what, width);
}

std::string title(Resource resource) {
    switch (resource) {
        case Resource::Hbm:
            return "HBM";
        case Resource::Dma:
            return "DMA";
        case Resource::Latency:
            return "latency";
        default:
            return fmt::format("{} engine", name(resource));
    }
}

std::string_view title(Method method) {
    return method == Method::Profiler ? "a profiler's total_time" : "nki.benchmark's latency";
}

std::string assignments(const std::vector<std::pair<std::string, std::string>>& pairs) {
    std::vector<std::string> texts;
    texts.reserve(pairs.size());
    for (const auto& [key, value] : pairs) {
        texts.push_back(fmt::format("{}={}", key, value));
    }
    return fmt::format("{}", fmt::join(texts, " "));
}

std::vector<std::string> explain_bound(const Report& report) {
    const Resource bound = report.roofline.bound_by;
    const Picoseconds needed = report.roofline.of(bound);
    const std::string share = share_of_run(report, needed);
    const std::string unhindered = without_waits(report, needed);
    switch (bound) {
        case Resource::Latency:
            return explain_latency(report);
        case Resource::Dma:
            return {
                fmt::format("DMA: busiest engine occupied {} of the time; {}", share, unhindered),
                dma_rate(report)};
        case Resource::Hbm:
            return {
                fmt::format("HBM: keeps DMA engines busy {} of the time; {}", share, unhindered),
                hbm_rate(report)};
        default:
            return {fmt::format("{}: occupied {} of the time; {}", title(bound), share, unhindered),
                    what_else(report, *engine_of(bound))};
    }
}

std::string explain_tensor_use(const Report& report) {
    const Summary& summary = report.summary;
    if (summary.hardware_flops == 0) {
        return "no matmul";
    }
    const double peak_flops = report.peaks.tensor_flops_per_s * summary.total_time;
    const double adjusted =
        percent(static_cast<double>(summary.adjusted_hardware_flops), peak_flops);
    std::string text = fmt::format("MFU {}, HFU {} of BF16 peak",
                                   percent_text(summary.mfu_estimated_percent),
                                   percent_text(summary.hfu_estimated_percent));
    if (adjusted != summary.hfu_estimated_percent) {
        text += fmt::format(", {} of its types'", percent_text(adjusted));
    }
    const auto tensor = report.result.engines.find(Engine::Tensor);
    if (report.result.tensor.cold > Picoseconds{} && tensor != report.result.engines.end()) {
        text +=
            fmt::format("; clock gated {} of active",
                        percent_text(percent(report.result.tensor.cold, tensor->second.active)));
    }
    return text;
}

std::string explain_accuracy(const Report& report) {
    constexpr double kPicoseconds = 1e6;  // Of a microsecond.
    const Summary& summary = report.summary;
    const auto text = [](double us) {
        return time_text(Picoseconds{std::llround(us * kPicoseconds)});
    };
    const std::string range =
        fmt::format("{} to {}", text(summary.latency_low_us), text(summary.latency_high_us));
    const spec::ChipConfig& chip = report.subject.chip;
    if (!chip.is_as_shipped) {
        return fmt::format("perhaps {}: nothing was measured on a chip with these numbers", range);
    }
    return chip.spec.accuracy.is_extrapolated
               ? fmt::format("perhaps {}: nothing was measured on {}", range, chip.spec.name)
               : fmt::format("{} if it is like four of five measured kernels", range);
}

std::string explain_hbm(const Report& report) {
    const Summary& summary = report.summary;
    return fmt::format("{} read, {} written, {}: MBU {}",
                       bytes_text(static_cast<double>(summary.hbm_read_bytes)),
                       bytes_text(static_cast<double>(summary.hbm_write_bytes)),
                       hbm_rate(report),
                       percent_text(summary.mbu_estimated_percent));
}

std::string explain_spills(const Report& report) {
    const Summary& summary = report.summary;
    const std::int64_t spilled = summary.spill_save_bytes + summary.spill_reload_bytes;
    if (spilled == 0) {
        return "none";
    }
    const std::int64_t all = summary.hbm_read_bytes + summary.hbm_write_bytes;
    return fmt::format(
        "{} saved, {} reloaded: {} of the HBM traffic",
        bytes_text(static_cast<double>(summary.spill_save_bytes)),
        bytes_text(static_cast<double>(summary.spill_reload_bytes)),
        percent_text(percent(static_cast<double>(spilled), static_cast<double>(all))));
}

std::string explain_dma(const Report& report) {
    const Summary& summary = report.summary;
    if (summary.dma_transfer_count == 0) {
        return "no transfer";
    }
    return fmt::format("{} of {} on average on {}, active {} of the time",
                       count_text(summary.dma_transfer_count, "transfer"),
                       bytes_text(summary.dma_transfer_average_bytes),
                       count_text(std::ssize(report.result.dma.rings), "ring"),
                       percent_text(summary.dma_active_time_percent));
}

std::string explain_memories(const Report& report) {
    const NeuronCoreSpec& core = report.subject.chip.spec.neuron_core;
    if (report.subject.header.form == program::Form::Lowered) {
        return "used as the lowered trace says";
    }
    return fmt::format(
        "SBUF {} of {} KiB per partition at the fullest moment, PSUM {} of {} banks in use",
        number_text(static_cast<double>(report.result.memory.sbuf_peak_partition_bytes) /
                    static_cast<double>(kKib)),
        core.sbuf.usable_partition_kib,
        report.result.memory.psum_peak_banks,
        core.psum.banks);
}

}  // namespace trnsim::report
