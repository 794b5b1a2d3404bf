// SPDX-License-Identifier: Apache-2.0
// From statistics of modules to plain numbers.
#include "core_result.hpp"

#include "trnsim/dma/dma_advice.hpp"
#include "trnsim/program/remarks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

namespace trnsim {
namespace {

using neuron_core::EngineStats;
using neuron_core::NeuronCore;
using neuron_core::TemplateStats;

EngineResult engine_result(const EngineStats& stats, Picoseconds total) {
    EngineResult result{.active = stats.active,
                        .idle = total - stats.active,
                        .covered = stats.covered,
                        .instructions = stats.instruction_count};
    for (std::size_t cause = 0; cause < stats.waiting.size(); ++cause) {
        result.waiting[cause] = stats.waiting[cause];
        result.idle -= stats.waiting[cause];
    }
    return result;
}

void collect_dma(const NeuronCore& core, const lowering::Lowering* lowered, RunResult& result) {
    const dma::DmaStats& stats = core.dma_engines().stats();
    result.dma.active = stats.active;
    result.dma.engine_busy = stats.engine_busy;
    result.memory.hbm_read_bytes = stats.hbm_read_bytes;
    result.memory.hbm_write_bytes = stats.hbm_write_bytes;
    result.memory.hbm_limited = stats.hbm_limited;
    for (const auto& ring : core.dma_rings()) {
        const dma::DmaRingStats& counts = ring->ring_stats();
        const int number = ring->queue() - neuron_core::kEngineQueues;
        result.dma.rings.push_back(
            {.ring = number,
             .dge = std::string(name(ring->dge_mode())),
             .purpose = lowered != nullptr ? lowered->ring_purpose(number) : "lowered trace",
             .active = ring->stats().covered,
             .transfers = counts.transfer_count,
             .bytes = counts.bytes});
        result.dma.transfers += counts.transfer_count;
        result.dma.descriptors += counts.descriptor_count;
        result.dma.bytes += counts.bytes;
        result.memory.spill_save_bytes += counts.spill_save_bytes;
        result.memory.spill_reload_bytes += counts.spill_reload_bytes;
    }
}

std::string line_key(const neuron_core::TemplateNames& names,
                     const neuron_core::IssueTemplate& what) {
    return fmt::format("{} {}", names.source_text(what), what.name);
}

void collect_lines(const NeuronCore& core,
                   const neuron_core::TemplateNames& names,
                   RunResult& result) {
    std::map<std::string, LineResult> lines;
    for (const TemplateStats& stats : core.log().templates()) {
        if (stats.what == nullptr) {
            continue;
        }
        const std::string engine(name(stats.what->engine));
        LineResult& line = lines[line_key(names, *stats.what) + " " + engine];
        line.source = names.source_text(*stats.what);
        line.op = stats.what->name;
        line.engine = engine;
        line.instructions += stats.count;
        line.active += stats.active;
        line.stalled += stats.stalled;
        for (const auto& [producer, time] : stats.waited_for) {
            line.waited_for[line_key(names, *producer)] += time;
        }
        if (stats.refused > Picoseconds{}) {
            const bool is_ring = stats.what->engine == Engine::Dma;
            line.waited_for[is_ring ? neuron_core::kRingName : neuron_core::kPortName] +=
                stats.refused;
        }
        if (stats.kept > Picoseconds{}) {
            line.waited_for[neuron_core::kCoresName] += stats.kept;
        }
    }
    for (auto& [key, line] : lines) {
        const std::string on_path = fmt::format("{} {} ({})", line.source, line.op, line.engine);
        for (const CriticalPathEntry& entry : result.critical_path) {
            if (entry.what == on_path) {
                line.on_critical_path = entry.time;
            }
        }
        result.lines.push_back(std::move(line));
    }
    std::ranges::stable_sort(result.lines, std::ranges::greater{}, [](const LineResult& line) {
        return line.active + line.stalled;
    });
}

/// Below this share of the run a slow transfer is not worth a word. [ASSUMED]
constexpr std::int64_t kLeastAdvisedShare = 100;
/// And below this one, that transfers stand behind the interval of their ring. [ASSUMED]
constexpr std::int64_t kLeastPacedShare = 5;

std::string amount(Bytes bytes) {
    return bytes.value < kKib ? fmt::format("{} B", bytes.value)
                              : fmt::format("{} KiB", bytes.value / kKib);
}

/// Of transfers that are too small for the pace of their ring.
void advise_pace(const NeuronCore& core,
                 const CoreSource& source,
                 const ChipSpec& chip,
                 RunResult& result) {
    for (const auto& ring : core.dma_rings()) {
        for (std::size_t index = 0; index < ring->paced().size(); ++index) {
            const Picoseconds paced = ring->paced()[index];
            const neuron_core::IssueTemplate* what = core.log().templates()[index].what;
            if (kLeastPacedShare * paced < result.total || what == nullptr) {
                continue;
            }
            const Picoseconds interval = dma::ring_interval(chip.dma, what->dge_cost);
            result.advice.push_back(
                {.source = source.names().source_text(*what),
                 .op = what->name,
                 .text = fmt::format("a ring begins one in {:.2f} us, of any size; "
                                     "move more than {} with each",
                                     interval.nanoseconds() / 1e3,
                                     amount(what->transfer.bytes)),
                 .time = paced});
        }
    }
}

/// What is worth a word of a transfer that took so long in all, and how much of that it is about.
std::vector<std::pair<std::string, Picoseconds>> advice_on(const CoreSource& source,
                                                           const ChipSpec& chip,
                                                           const InstructionTemplate& transfer,
                                                           Picoseconds spent) {
    std::vector<std::pair<std::string, Picoseconds>> texts;
    if (auto text = dma::advice(chip.dma, transfer)) {
        texts.emplace_back(std::move(*text), spent);
    }
    const Operand* dst = transfer.find(Role::Dst);
    const auto sunk = dst == nullptr ? source.sunk().end() : source.sunk().find(dst->buffer);
    if (sunk != source.sunk().end()) {
        texts.emplace_back(fmt::format("each tile is loaded {} times for want of room in SBUF; "
                                       "keep fewer of them at once",
                                       sunk->second),
                           spent - Picoseconds{spent.value / sunk->second});
    }
    return texts;
}

void collect_advice(const NeuronCore& core,
                    const CoreSource& source,
                    const ChipSpec& chip,
                    RunResult& result) {
    std::map<std::pair<std::string, std::string>, Advice> found;
    const std::vector<InstructionTemplate>& templates = source.trace().templates;
    for (const TemplateStats& stats : core.log().templates()) {
        const bool is_asked_for = stats.what != nullptr &&
                                  stats.what->operation == neuron_core::Operation::Transfer &&
                                  stats.what->source < templates.size();
        if (!is_asked_for) {
            continue;
        }
        const Picoseconds spent = stats.count * stats.what->transfer.service;
        for (const auto& [text, time] :
             advice_on(source, chip, templates[stats.what->source], spent)) {
            const std::string line = source.names().source_text(*stats.what);
            Advice& entry = found[{line, text}];
            entry.source = line;
            entry.op = stats.what->name;
            entry.text = text;
            entry.time += time;
        }
    }
    for (auto& [key, advice] : found) {
        if (kLeastAdvisedShare * advice.time >= result.total) {
            result.advice.push_back(std::move(advice));
        }
    }
    advise_pace(core, source, chip, result);
    std::ranges::stable_sort(result.advice, std::ranges::greater{}, &Advice::time);
}

void collect_critical_path(const NeuronCore& core, RunResult& result) {
    const neuron_core::Sequencer& last = core.last_to_end();
    const EngineStats& stats = last.stats();
    if (stats.instruction_count == 0) {
        result.critical_path.push_back({.what = "kernel start", .time = result.kernel_start});
    } else {
        const auto chain = core.log().critical_path().chain(
            last.queue(), static_cast<std::uint64_t>(stats.instruction_count - 1), stats.last_done);
        for (const auto& [what, time] : chain) {
            result.critical_path.push_back({.what = what, .time = time});
        }
    }
    result.critical_path.push_back({.what = "kernel end", .time = result.kernel_end});
    std::ranges::stable_sort(
        result.critical_path, std::ranges::greater{}, &CriticalPathEntry::time);
}

void collect_tensor(const NeuronCore& core, RunResult& result) {
    const neuron_core::TensorEngineStats& stats = core.tensor_engine().tensor_stats();
    result.tensor = {
        .macs = stats.macs,
        .transpose_macs = stats.transpose_macs,
        .peak_weighted_macs = static_cast<std::int64_t>(stats.weighted_macs),
        .peak_weighted_transpose_macs = static_cast<std::int64_t>(stats.weighted_transpose_macs),
        .cold = stats.cold};
}

/// \pre the source has a lowering
CompilerResult compiler_result(const CoreSource& source) {
    const program::Program& program = source.trace();
    const lowering::Lowering& lowered = *source.lowering();
    CompilerResult result{.counts = lowered.counts(),
                          .dropped_loads = source.dropped_loads(),
                          .repeated_loads = source.repeated_loads(),
                          .sites = {}};
    result.counts.calls = source.calls();
    result.counts.instructions = lowered.executed();
    const std::vector<lowering::SitePlacement>& sites = lowered.tiles().allocation().sites;
    for (std::size_t i = 0; i < sites.size(); ++i) {
        if (sites[i].slots > 0) {
            result.sites.push_back(
                {.name = program.buffers[i].name,
                 .space = program.buffers[i].space,
                 .live = sites[i].live,
                 .slots = sites[i].slots,
                 .is_pooled = sites[i].is_pooled,
                 .is_planned = sites[i].is_planned,
                 .is_sunk = source.sunk().contains(static_cast<std::uint32_t>(i))});
        }
    }
    return result;
}

void collect_lowering(const lowering::Lowering& lowered, RunResult& result) {
    result.activation_table_loads = lowered.table_loads();
    result.memory.sbuf_peak_partition_bytes = lowered.tiles().sbuf_peak_bytes();
    result.memory.psum_peak_banks = lowered.tiles().psum_banks();
    for (const std::string& note : lowered.tiles().allocation().notes) {
        result.warnings.push_back(note);
    }
}

}  // namespace

RunResult core_result(const NeuronCore& core,
                      const CoreSource& source,
                      const ChipSpec& chip,
                      Method method) {
    RunResult result;
    result.method = method;
    result.kernel_start = chip.runtime.start(method);
    result.kernel_end = chip.runtime.kernel_end_ns;
    result.total =
        std::max(core.last_to_end().stats().last_done, result.kernel_start) + result.kernel_end;
    for (const neuron_core::Sequencer* engine : core.engines()) {
        result.engines[static_cast<Engine>(engine->queue())] =
            engine_result(engine->stats(), result.total);
    }
    result.nisa_calls = source.calls();
    collect_dma(core, source.lowering(), result);
    collect_tensor(core, result);
    collect_critical_path(core, result);
    collect_lines(core, source.names(), result);
    collect_advice(core, source, chip, result);
    if (source.lowering() != nullptr) {
        collect_lowering(*source.lowering(), result);
        result.compiler = compiler_result(source);
    }
    program::Remarks remarks = program::remarks_of(source.trace());
    std::ranges::move(remarks.warnings, std::back_inserter(result.warnings));
    result.assumptions = std::move(remarks.assumptions);
    return result;
}

std::string_view name(WaitCause cause) {
    static constexpr std::array<std::string_view, kWaitCauses> kNames{
        "tensor", "vector", "scalar", "gpsimd", "sync", "dma", "port"};
    return kNames[static_cast<std::size_t>(cause)];
}

}  // namespace trnsim
