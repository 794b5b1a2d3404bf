// SPDX-License-Identifier: Apache-2.0
// What the compiler was assumed to do with a kernel, and what came of it.
#include "compiler.hpp"

#include "quantity.hpp"
#include "screen.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace trnsim::report {
namespace {

using CompilerJson = nlohmann::ordered_json;
using lowering::LoweringCounts;

constexpr std::string_view kAsWritten =
    "Loads and stores are those of the program but for merged iterations; no load is hoisted, no "
    "copy "
    "removed (D-12).";

CompilerJson order_json(const LoweringCounts::Order& order) {
    return {{"instruction_count", order.steps}, {"early_count", order.early}};
}

CompilerJson assumed_policies_json(const Subject& subject) {
    const auto defaults = describe(lowering::default_policies(subject.header.api));
    const auto policies = describe(subject.policies);
    CompilerJson list = CompilerJson::array();
    for (std::size_t i = 0; i < policies.size(); ++i) {
        const auto& [name, value] = policies[i];
        list.push_back({{"name", name},
                        {"value", value},
                        {"default", defaults[i].second},
                        {"is_default", value == defaults[i].second},
                        {"meaning", lowering::meaning_of(name)}});
    }
    return list;
}

CompilerJson buffers_json(const CompilerResult& compiler) {
    CompilerJson buffers = CompilerJson::array();
    for (const CompilerResult::Site& site : compiler.sites) {
        buffers.push_back({{"site", site.name},
                           {"space", name(site.space)},
                           {"live_count", site.live},
                           {"slot_count", site.slots},
                           {"is_pooled", site.is_pooled}});
    }
    return buffers;
}

std::int64_t used_rings(const RunResult& result) {
    return std::ranges::count_if(result.dma.rings,
                                 [](const DmaRingResult& ring) { return ring.transfers > 0; });
}

std::string of_text(std::int64_t part, std::int64_t whole, std::string_view what) {
    return fmt::format("{} of {} {}", count_text(part), count_text(whole), what);
}

/// What went ahead of earlier instructions of its queue.
std::string order_text(const LoweringCounts& counts) {
    std::vector<std::string> parts;
    const auto add = [&parts](const LoweringCounts::Order& order, std::string_view what) {
        if (order.early > 0) {
            parts.push_back(of_text(order.early, order.steps, what));
        }
    };
    add(counts.tensor, "on the tensor engine");
    add(counts.engines, "on other engines");
    add(counts.dma, "transfers");
    return parts.empty() ? "  every queue in program order"
                         : fmt::format("  ahead of their turn: {}", fmt::join(parts, ", "));
}

/// Merged iterations, engines, loads of the array and buffers, as much of it as a line takes.
std::string rest_text(const CompilerResult& compiler) {
    const LoweringCounts& counts = compiler.counts;
    std::vector<std::string> parts;
    if (counts.instructions < counts.calls) {
        parts.push_back(fmt::format("{} are {}",
                                    count_text(counts.calls, "call"),
                                    count_text(counts.instructions, "instruction")));
    }
    if (counts.choices > 0) {
        parts.push_back(counts.moved > 0
                            ? of_text(counts.moved, counts.choices, "not on their first engine")
                            : "all on the first engine that can");
    }
    if (const std::int64_t loads = counts.stationary_loads + counts.stationary_reuses; loads > 0) {
        parts.push_back(of_text(counts.stationary_reuses, loads, "LoadStationary left out"));
    }
    std::int64_t live = 0;
    std::int64_t slots = 0;
    for (const CompilerResult::Site& site : compiler.sites) {
        live += site.live;
        slots += site.slots;
    }
    parts.push_back(
        fmt::format("{} for {}", count_text(slots, "buffer"), count_text(live, "tile")));
    std::string text;
    for (const std::string& part : parts) {
        const std::string longer = fmt::format("{}{}{}", text, text.empty() ? "  " : "; ", part);
        text = width_of(longer) <= Screen::kColumns ? longer : text;
    }
    return text;
}

}  // namespace

CompilerJson compiler_json(const Report& report) {
    if (!report.result.compiler) {
        return nullptr;
    }
    const CompilerResult& compiler = *report.result.compiler;
    const LoweringCounts& counts = compiler.counts;
    return {
        {"defaults_of", report.subject.header.api},
        {"policies", assumed_policies_json(report.subject)},
        {"iterations", {{"call_count", counts.calls}, {"instruction_count", counts.instructions}}},
        {"order",
         {{"tensor", order_json(counts.tensor)},
          {"other_engines", order_json(counts.engines)},
          {"dma", order_json(counts.dma)}}},
        {"engine_choice", {{"choice_count", counts.choices}, {"moved_count", counts.moved}}},
        {"stationary",
         {{"load_count", counts.stationary_loads}, {"reuse_count", counts.stationary_reuses}}},
        {"spills", {{"save_count", counts.spill_saves}, {"reload_count", counts.spill_reloads}}},
        {"ring_count", used_rings(report.result)},
        {"buffers", buffers_json(compiler)},
        {"left_alone", kAsWritten}};
}

std::vector<std::string> explain_compiler(const Report& report) {
    if (!report.result.compiler) {
        return {"compiler: a lowered trace left it nothing to do"};
    }
    std::vector<std::string> changes;
    for (const auto& [name, value] : changed_policies(report.subject)) {
        changes.push_back(fmt::format("{}={}", name, value));
    }
    std::vector<std::string> lines{fmt::format("compiler: as assumed for \"{}\"{}{}",
                                               report.subject.header.api,
                                               changes.empty() ? "" : ", but ",
                                               fmt::join(changes, " "))};
    const CompilerResult& compiler = *report.result.compiler;
    lines.push_back(order_text(compiler.counts));
    lines.push_back(rest_text(compiler));
    return lines;
}

}  // namespace trnsim::report
