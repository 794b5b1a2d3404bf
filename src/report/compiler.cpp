// SPDX-License-Identifier: Apache-2.0
// What the compiler was assumed to do with a kernel, and what came of it.
#include "compiler.hpp"

#include "explain.hpp"
#include "quantity.hpp"
#include "screen.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace trnsim::report {
namespace {

using lowering::LoweringCounts;

constexpr std::string_view kAsWritten =
    "Loads and stores are those of the program but for merged iterations and what loads says; no "
    "load is hoisted, no copy removed (D-12).";

/// An object of two counts.
void write_pair(IndentedJson& json,
                std::string_view name,
                const std::pair<std::string_view, std::int64_t>& first,
                const std::pair<std::string_view, std::int64_t>& second) {
    json.key(name).object([&] {
        json.member(first.first, first.second);
        json.member(second.first, second.second);
    });
}

void write_assumed_policies(IndentedJson& json, const Subject& subject) {
    const auto defaults = describe(lowering::default_policies(subject.header.api));
    std::size_t place = 0;
    json.key("policies").array(describe(subject.policies), [&](const auto& policy) {
        const std::string& by_default = defaults[place++].second;
        json.object([&] {
            json.member("name", policy.first);
            json.member("value", policy.second);
            json.member("default", by_default);
            json.member("is_default", policy.second == by_default);
            json.member("meaning", lowering::meaning_of(policy.first));
        });
    });
}

void write_buffers(IndentedJson& json, const CompilerResult& compiler) {
    json.key("buffers").array(compiler.sites, [&json](const CompilerResult::Site& site) {
        json.object([&] {
            json.member("site", site.name);
            json.member("space", name(site.space));
            json.member("live_count", site.live);
            json.member("slot_count", site.slots);
            json.member("is_pooled", site.is_pooled);
            json.member("is_planned", site.is_planned);
            json.member("is_sunk", site.is_sunk);
        });
    });
}

std::int64_t used_rings(const RunResult& result) {
    return std::ranges::count_if(result.dma.rings,
                                 [](const DmaRingResult& ring) { return ring.transfers > 0; });
}

std::string of_text(std::int64_t part, std::int64_t whole, std::string_view what) {
    return fmt::format("{} of {} {}", count_text(part), count_text(whole), what);
}

/// What went ahead of earlier instructions of its queue.
std::string order_text(const CompilerResult& compiler) {
    const LoweringCounts& counts = compiler.counts;
    std::vector<std::string> parts;
    const auto add = [&parts](const LoweringCounts::Order& order, std::string_view what) {
        if (order.early > 0) {
            parts.push_back(of_text(order.early, order.steps, what));
        }
    };
    add(counts.tensor, "on the tensor engine");
    add(counts.engines, "on other engines");
    add(counts.dma, "transfers");
    const bool is_planned = std::ranges::any_of(compiler.sites, &CompilerResult::Site::is_planned);
    if (parts.empty()) {
        return fmt::format("  every queue in program order{}",
                           is_planned ? ", but loads just in time" : "");
    }
    return fmt::format("  ahead of their turn: {}{}",
                       fmt::join(parts, ", "),
                       is_planned ? "; loads just in time" : "");
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
    if (compiler.dropped_loads > 0) {
        parts.push_back(fmt::format("{} left out", count_text(compiler.dropped_loads, "load")));
    }
    if (compiler.repeated_loads > 0) {
        parts.push_back(
            fmt::format("{} more for want of room", count_text(compiler.repeated_loads, "load")));
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

void write_compiler(IndentedJson& json, const Report& report) {
    json.key("compiler");
    if (!report.result.compiler) {
        return json.raw("null");
    }
    const CompilerResult& compiler = *report.result.compiler;
    const LoweringCounts& counts = compiler.counts;
    json.object([&] {
        json.member("defaults_of", report.subject.header.api);
        write_assumed_policies(json, report.subject);
        write_pair(json,
                   "iterations",
                   {"call_count", counts.calls},
                   {"instruction_count", counts.instructions});
        write_pair(json,
                   "loads",
                   {"dropped_count", compiler.dropped_loads},
                   {"repeated_count", compiler.repeated_loads});
        const auto write_order = [&json](std::string_view queues,
                                         const LoweringCounts::Order& order) {
            write_pair(
                json, queues, {"instruction_count", order.steps}, {"early_count", order.early});
        };
        json.key("order").object([&] {
            write_order("tensor", counts.tensor);
            write_order("other_engines", counts.engines);
            write_order("dma", counts.dma);
        });
        write_pair(
            json, "engine_choice", {"choice_count", counts.choices}, {"moved_count", counts.moved});
        write_pair(json,
                   "stationary",
                   {"load_count", counts.stationary_loads},
                   {"reuse_count", counts.stationary_reuses});
        write_pair(json,
                   "spills",
                   {"save_count", counts.spill_saves},
                   {"reload_count", counts.spill_reloads});
        json.member("ring_count", used_rings(report.result));
        write_buffers(json, compiler);
        json.member("left_alone", kAsWritten);
    });
}

std::string as_assumed(std::string_view api,
                       const std::vector<std::pair<std::string, std::string>>& changes) {
    return fmt::format(
        "as assumed for \"{}\"{}{}", api, changes.empty() ? "" : ", but ", assignments(changes));
}

std::vector<std::string> explain_compiler(const Report& report) {
    if (!report.result.compiler) {
        return {"compiler: a lowered trace left it nothing to do"};
    }
    std::vector<std::string> lines{
        "compiler: " + as_assumed(report.subject.header.api, changed_policies(report.subject))};
    const CompilerResult& compiler = *report.result.compiler;
    lines.push_back(order_text(compiler));
    lines.push_back(rest_text(compiler));
    return lines;
}

}  // namespace trnsim::report
