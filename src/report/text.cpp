// SPDX-License-Identifier: Apache-2.0
// The one screen that a person reads after a run.
#include "compiler.hpp"
#include "explain.hpp"
#include "quantity.hpp"
#include "screen.hpp"
#include "table.hpp"
#include "trnsim/report/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace trnsim::report {
namespace {

constexpr std::size_t kShownSteps = 5;  // Of the critical path.
constexpr std::size_t kShownStalls = 5;
constexpr std::size_t kShownNotes = 2;
constexpr std::size_t kShownOutputs = 4;
constexpr std::size_t kLineColumns = 44;     // Of a line of the kernel in a table,
constexpr std::size_t kStalledColumns = 12;  // of a time after it, with the space around it,
constexpr std::size_t kStepColumns = 76;     // and of a step of the critical path.

void add_title(const Report& report, Screen& screen) {
    const program::Header& header = report.subject.header;
    const ChipSpec& chip = report.subject.chip.spec;
    const std::size_t cores = report.result.cores.size();
    screen.strong(fmt::format("{} on {}, {} NeuronCore{}-v{}",
                              header.kernel.empty() ? report.subject.input : header.kernel,
                              chip.name,
                              cores > 1 ? std::to_string(cores) : "one",
                              cores > 1 ? "s" : "",
                              static_cast<int>(chip.neuron_core_version)));
    if (!header.arguments.empty()) {
        screen.dim(fmt::format("  {}", fmt::join(header.arguments, ", ")));
    }
    screen.blank();
}

void add_facts(const Report& report, Screen& screen) {
    const RunResult& result = report.result;
    screen.fact("latency",
                time_text(result.total, 5),
                fmt::format("like {}; kernel start and end take {}",
                            title(result.method),
                            time_text(result.kernel_start + result.kernel_end)));
    screen.fact("", explain_accuracy(report));
    const std::vector<std::string> bound = explain_bound(report);
    screen.key_fact("bound by", bound.at(0));
    screen.fact("", bound.at(1));
    screen.fact("tensor use", explain_tensor_use(report));
    screen.fact("HBM", explain_hbm(report));
    screen.fact("spills", explain_spills(report));
    screen.fact("DMA", explain_dma(report));
    screen.fact("memories", explain_memories(report));
}

/// What the kernel computed: a line for each output, those that differ from the reference first.
void add_values(const Report& report, Screen& screen) {
    if (!report.values) {
        return;
    }
    const ValueReport& values = *report.values;
    screen.section(values.is_checked() ? fmt::format("values of seed {}, compared with {}: {}",
                                                     values.seed,
                                                     values.reference,
                                                     values.passes() ? "they agree" : "they differ")
                                       : fmt::format("values of seed {}", values.seed));
    std::vector<const OutputValues*> outputs;
    for (const OutputValues& output : values.outputs) {
        outputs.push_back(&output);
    }
    std::stable_partition(outputs.begin(), outputs.end(), [](const OutputValues* output) {
        return output->check && output->check->first;
    });
    const std::size_t shown = std::min(kShownOutputs, outputs.size());
    for (std::size_t i = 0; i < shown; ++i) {
        for (const std::string& line : describe(*outputs[i])) {
            screen.line(line);
        }
    }
    if (outputs.size() > shown) {
        screen.line(fmt::format("{} more: see --json", outputs.size() - shown));
    }
    if (outputs.empty()) {
        screen.line("the kernel returns no tensor and writes no argument");
    }
}

/// What several NeuronCores did; everything else on the screen is of the one that ended last.
void add_cores(const Report& report, Screen& screen) {
    const std::vector<CoreResult>& cores = report.result.cores;
    if (cores.size() < 2) {
        return;
    }
    constexpr auto kRight = Table::Align::Right;
    Table table({kRight, kRight, kRight, kRight, kRight});
    table.add({"core", "latency", "tensor", "HBM traffic", "limited by HBM"});
    for (std::size_t i = 0; i < cores.size(); ++i) {
        const CoreResult& core = cores[i];
        table.add({std::to_string(i),
                   time_text(core.total, 5),
                   percent_text(percent(core.tensor_active, core.total)),
                   bytes_text(static_cast<double>(core.hbm_read_bytes + core.hbm_write_bytes)),
                   percent_text(percent(core.hbm_limited, core.total))});
    }
    const std::int64_t share = report.subject.chip.spec.hbm.cores_per_stack;
    screen.section(fmt::format("NeuronCores{}; all else is of the one that ended last",
                               share > 1 ? fmt::format(", {} to an HBM stack", share) : ""));
    screen.table(table);
}

void add_engines(const Report& report, Screen& screen) {
    constexpr auto kRight = Table::Align::Right;
    std::vector<Table::Align> columns(kWaitCauses + 4, kRight);
    columns.front() = Table::Align::Left;
    Table table(columns);
    std::vector<std::string> above(columns.size());
    above.at(2) = "waits for";
    table.add(std::move(above));
    std::vector<std::string> head{"engine", "active"};
    for (int i = 0; i < kWaitCauses; ++i) {
        head.emplace_back(name(static_cast<WaitCause>(i)));
    }
    head.insert(head.end(), {"idle", "instructions"});
    table.add(std::move(head));
    for (const auto& [engine, times] : report.result.engines) {
        std::vector<Picoseconds> parts{times.active};
        parts.insert(parts.end(), times.waiting.begin(), times.waiting.end());
        parts.push_back(times.idle);
        std::vector<std::string> row{std::string{name(engine)}};
        for (const int share : shares(parts)) {
            row.push_back(share_text(share));
        }
        row.push_back(count_text(times.instructions));
        table.add(std::move(row));
    }
    screen.section("engines, % of the time; every row sums to 100");
    screen.table(table);
}

void add_critical_path(const Report& report, Screen& screen) {
    const TimeColumn column(report.result.total);
    const auto& path = report.result.critical_path;
    Table table({Table::Align::Right, Table::Align::Right, Table::Align::Left});
    Picoseconds rest = report.result.total;
    for (std::size_t i = 0; i < std::min(kShownSteps, path.size()); ++i) {
        rest -= path[i].time;
        table.add({column.text(path[i].time),
                   percent_text(percent(path[i].time, report.result.total)),
                   in_full_or_short(path[i].what, kStepColumns)});
    }
    if (path.size() > kShownSteps) {
        table.add({column.text(rest),
                   percent_text(percent(rest, report.result.total)),
                   fmt::format("{} more", path.size() - kShownSteps)});
    }
    screen.section(
        fmt::format("critical path, {}; shortening anything else does not help", column.unit));
    screen.table(table);
}

/// "…/kernel.py:44 dma_copy 50.10, 2 more": the longest first, as many as fit.
std::string waited_for(const LineResult& line,
                       const ShortLines& lines,
                       const TimeColumn& column,
                       std::size_t width) {
    std::vector<std::pair<std::string, Picoseconds>> producers(line.waited_for.begin(),
                                                               line.waited_for.end());
    std::stable_sort(producers.begin(), producers.end(), [](const auto& a, const auto& b) {
        return a.second > b.second;
    });
    std::string text;
    for (std::size_t i = 0; i < producers.size(); ++i) {
        const auto& [what, time] = producers[i];
        const bool last = i + 1 == producers.size();
        const std::string more = fmt::format(", {} more", producers.size() - i);
        const std::size_t kept = last ? 0 : more.size();
        const std::string took = fmt::format(" {}", column.text(time));
        const std::string next =
            (i == 0 ? "" : ", ") + lines.text(what, width - took.size() - kept) + took;
        if (i > 0 && width_of(text) + width_of(next) + kept > width) {
            return text + more;
        }
        text += next;
    }
    return text;
}

/// Lines that stalled, the longest first: of `engine`, or of all.
std::vector<const LineResult*> longest_stalls(const Report& report, std::optional<Engine> engine) {
    std::vector<const LineResult*> lines;
    for (const LineResult& line : report.result.lines) {
        if (line.stalled > Picoseconds{} && (!engine || line.engine == name(*engine))) {
            lines.push_back(&line);
        }
    }
    std::stable_sort(lines.begin(), lines.end(), [](const LineResult* a, const LineResult* b) {
        return a->stalled > b->stalled;
    });
    lines.resize(std::min(kShownStalls, lines.size()));
    return lines;
}

void add_stalls(const Report& report, Screen& screen) {
    const std::optional<Engine> engine = engine_of(report.roofline.bound_by);
    const std::vector<const LineResult*> lines = longest_stalls(report, engine);
    if (lines.empty()) {
        return;
    }
    const TimeColumn column(report.result.total);
    const ShortLines short_lines(report.result);
    std::vector<std::string> places;
    std::size_t taken = 0;  // By the columns left of the last.
    for (const LineResult* line : lines) {
        const std::string on = engine ? std::string{} : fmt::format(" ({})", line->engine);
        places.push_back(
            short_lines.text(fmt::format("{} {}{}", line->source, line->op, on), kLineColumns));
        taken = std::max(taken, width_of(places.back()));
    }
    taken += Screen::kIndent + kStalledColumns;
    Table table({Table::Align::Left, Table::Align::Right, Table::Align::Left});
    table.add({"line", "stalled", "waiting for"});
    for (std::size_t i = 0; i < lines.size(); ++i) {
        table.add({places[i],
                   column.text(lines[i]->stalled),
                   waited_for(*lines[i], short_lines, column, Screen::kColumns - taken)});
    }
    screen.section(
        engine
            ? fmt::format(
                  "longest stalls of the {}, {}", title(report.roofline.bound_by), column.unit)
            : fmt::format("longest stalls, {}; those of different engines overlap", column.unit));
    screen.table(table);
}

void add_notes(const Report& report, Screen& screen) {
    const RunResult& result = report.result;
    screen.blank();
    std::size_t shown = 0;
    for (const std::string& warning : result.warnings) {
        if (++shown <= kShownNotes) {
            screen.remark("warning: " + warning, true);
        }
    }
    for (const std::string& assumption : result.assumptions) {
        if (++shown <= kShownNotes) {
            screen.remark("assumed: " + assumption, false);
        }
    }
    if (shown > kShownNotes) {
        const std::size_t more = shown - kShownNotes;
        screen.dim(fmt::format("{} more {}: see --json",
                               more,
                               more == 1 ? "warning or assumption" : "warnings and assumptions"));
    }
}

/// The advice that saves most; its line of the kernel first, what to do on a line of its own.
void add_advice(const Report& report, Screen& screen) {
    const std::vector<Advice>& all = report.result.advice;
    if (all.empty()) {
        return;
    }
    const Advice& first = all.front();
    const std::size_t semicolon = first.text.find("; ");
    screen.remark(fmt::format("advice: {} {}: {}",
                              ShortLines(report.result).text(first.source, kLineColumns),
                              first.op,
                              first.text.substr(0, semicolon)),
                  false);
    if (semicolon != std::string::npos) {
        const std::string more =
            all.size() > 1 ? fmt::format("; {} more: see --json", all.size() - 1) : std::string{};
        screen.remark(fmt::format("  {}{}", first.text.substr(semicolon + 2), more), false);
    }
}

void add_settings(const Report& report, Screen& screen) {
    for (const std::string& line : explain_compiler(report)) {
        screen.remark(line, false);
    }
    const auto chip = overrides(report.subject.chip);
    if (!chip.empty()) {
        screen.remark("chip set: " + assignments(chip), false);
    }
}

}  // namespace

std::string to_text(const Report& report, bool use_colour) {
    Screen screen(use_colour);
    add_title(report, screen);
    add_facts(report, screen);
    add_cores(report, screen);
    add_engines(report, screen);
    add_critical_path(report, screen);
    add_stalls(report, screen);
    add_values(report, screen);
    add_notes(report, screen);
    add_advice(report, screen);
    add_settings(report, screen);
    return screen.text();
}

}  // namespace trnsim::report
