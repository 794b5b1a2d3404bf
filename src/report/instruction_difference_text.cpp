// SPDX-License-Identifier: Apache-2.0
// Two tables of instructions, for a person.
#include "quantity.hpp"
#include "screen.hpp"
#include "table.hpp"
#include "trnsim/report/instruction_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace trnsim::report {
namespace {

constexpr std::size_t kShownKinds = 12;
constexpr std::size_t kShownPartings = 6;
constexpr std::size_t kShownLags = 6;
constexpr std::size_t kNamedInstructions = 3;
constexpr std::size_t kSourceColumns = 24;
constexpr std::string_view kTo = " -> ";
constexpr auto kLeft = Table::Align::Left;
constexpr auto kRightAligned = Table::Align::Right;

using DiffRow = InstructionDifference::Row;

std::string counts_text(const Both<std::int64_t>& both) {
    return count_text(both.before) + std::string{kTo} + count_text(both.after);
}

TimeColumn column_for(const InstructionDifference& difference) {
    return TimeColumn(std::max(difference.before.total, difference.after.total));
}

/// "-" for what is not known.
std::string times_text(const TimeColumn& column, const Both<std::optional<Picoseconds>>& both) {
    const auto text = [&column](const std::optional<Picoseconds>& time) {
        return time ? column.text(*time) : std::string{"-"};
    };
    return text(both.before) + std::string{kTo} + text(both.after);
}

std::string nanoseconds_text(const std::optional<Picoseconds>& time) {
    return time ? fmt::format("{:.0f}", in_nanoseconds(*time)) : "-";
}

/// Of either side.
const InstructionTable::Instruction& at(const InstructionTable& table,
                                        Engine engine,
                                        std::size_t place) {
    return table.engines[static_cast<std::size_t>(engine)][place];
}

const InstructionTable::Kind& kind_of_row(const InstructionDifference& difference,
                                          Engine engine,
                                          const DiffRow& row) {
    return row.before ? difference.before.kind_of(at(difference.before, engine, *row.before))
                      : difference.after.kind_of(at(difference.after, engine, *row.after));
}

std::string last_part(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

void add_heading(const InstructionDifference& difference, Screen& screen) {
    screen.strong(difference.before.name + std::string{kTo} + difference.after.name);
    screen.dim(fmt::format("  {}{}{}", difference.before.title, kTo, difference.after.title));
    screen.blank();
    const double before = in_microseconds(difference.before.total);
    const double after = in_microseconds(difference.after.total);
    screen.fact("latency",
                fmt::format("{}{}{}",
                            time_text(difference.before.total, 5),
                            kTo,
                            time_text(difference.after.total, 5)),
                change_text(percent(after - before, before)));
    screen.fact("starts",
                fmt::format("{}{}{}; all starts below are from there on",
                            time_text(difference.before.kernel_start, 5),
                            kTo,
                            time_text(difference.after.kernel_start, 5)));
}

void add_engine_table(const InstructionDifference& difference, Screen& screen) {
    const TimeColumn column = column_for(difference);
    Table table({kLeft, kRightAligned, kRightAligned, kRightAligned, kRightAligned, kRightAligned});
    table.add({"engine", "instructions", "joined", "active", "waits", "others"});
    for (const auto& engine : difference.engines) {
        table.add({std::string(name(engine.engine)),
                   counts_text(engine.count),
                   count_text(engine.joined),
                   times_text(column, {engine.active.before, engine.active.after}),
                   times_text(column, engine.waited),
                   counts_text(engine.other_count)});
    }
    screen.section(fmt::format("engines, {}; others only wait or trigger", column.unit));
    screen.table(table);
}

void add_transfer_table(const InstructionDifference& difference, Screen& screen) {
    if (difference.transfers.empty()) {
        return;
    }
    Table table({kLeft, kRightAligned, kRightAligned, kRightAligned});
    table.add({"direction", "transfers", "bytes", "elements"});
    for (const auto& sum : difference.transfers) {
        table.add({std::string(name(sum.direction)),
                   counts_text(sum.count),
                   bytes_text(static_cast<double>(sum.bytes.before)) + std::string{kTo} +
                       bytes_text(static_cast<double>(sum.bytes.after)),
                   counts_text(sum.descriptors)});
    }
    screen.section("DMA");
    screen.table(table);
}

void add_kind_table(const InstructionDifference& difference, Screen& screen) {
    const TimeColumn column = column_for(difference);
    Table table({kLeft, kLeft, kRightAligned, kRightAligned, kRightAligned});
    table.add({"engine", "instruction", "executed", "median, ns", "waits in all"});
    const std::size_t shown = std::min(kShownKinds, difference.kinds.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const auto& kind = difference.kinds[i];
        table.add({std::string(name(kind.engine)),
                   kind.title,
                   counts_text(kind.count),
                   nanoseconds_text(kind.median.before) + std::string{kTo} +
                       nanoseconds_text(kind.median.after),
                   times_text(column, kind.waited)});
    }
    screen.section(fmt::format(
        "kinds of instructions, the largest difference of total time first; waits in {}",
        column.unit));
    screen.table(table);
    if (difference.kinds.size() > shown) {
        screen.dim(fmt::format("  {} more: see --json", difference.kinds.size() - shown));
    }
}

/// "4 COPY 128, TENSOR_REDUCE 1, 2 more"; "-" for nothing.
std::string names_of(const InstructionDifference& difference,
                     const InstructionDifference::EngineTimes& engine,
                     const InstructionDifference::Parting& parting,
                     std::optional<std::size_t> DiffRow::*side) {
    std::vector<std::pair<std::string, int>> names;
    for (std::size_t i = 0; i < parting.rows; ++i) {
        const DiffRow& row = engine.rows[parting.first_row + i];
        if (row.*side) {
            const std::string title = kind_of_row(difference, engine.engine, row).title();
            const auto known =
                std::ranges::find(names, title, [](const auto& n) { return n.first; });
            if (known == names.end()) {
                names.emplace_back(title, 1);
            } else {
                ++known->second;
            }
        }
    }
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kNamedInstructions); ++i) {
        text += text.empty() ? "" : ", ";
        text += names[i].second > 1 ? fmt::format("{} {}", names[i].second, names[i].first)
                                    : names[i].first;
    }
    if (names.size() > kNamedInstructions) {
        text += fmt::format(", {} more", names.size() - kNamedInstructions);
    }
    return text.empty() ? "-" : text;
}

void add_parting_table(const InstructionDifference& difference, Screen& screen) {
    if (difference.partings.empty()) {
        screen.section("the order is the same on every engine");
        return;
    }
    const TimeColumn column = column_for(difference);
    Table table({kLeft, kRightAligned, kLeft, kLeft});
    table.add({"engine", "start", "only before", "only after"});
    std::set<Engine> seen;
    for (const auto& parting : difference.partings) {
        if (seen.size() == kShownPartings || !seen.insert(parting.engine).second) {
            continue;
        }
        const auto engine = std::ranges::find(
            difference.engines, parting.engine, &InstructionDifference::EngineTimes::engine);
        constexpr std::size_t kCell = 36;
        table.add({std::string(name(parting.engine)),
                   column.text(parting.start),
                   clip(names_of(difference, *engine, parting, &DiffRow::before), kCell),
                   clip(names_of(difference, *engine, parting, &DiffRow::after), kCell)});
    }
    screen.section(fmt::format("where the order parts first, {}", column.unit));
    screen.table(table);
    screen.dim(fmt::format("  {} partings in all: see --json, and --engine for one engine's order",
                           difference.partings.size()));
}

void add_lag_table(const InstructionDifference& difference, Screen& screen) {
    if (difference.lags.empty()) {
        return;
    }
    const TimeColumn column = column_for(difference);
    Table table({kLeft, kLeft, kLeft, kRightAligned, kRightAligned});
    table.add({"engine", "instruction", "line", "starts", "later by"});
    const std::size_t shown = std::min(kShownLags, difference.lags.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const auto& lag = difference.lags[i];
        const auto engine = std::ranges::find(
            difference.engines, lag.engine, &InstructionDifference::EngineTimes::engine);
        const DiffRow& row = engine->rows[lag.row];
        const auto start = [&](const InstructionTable& table_of, std::size_t place) {
            return at(table_of, lag.engine, place).start - table_of.kernel_start;
        };
        table.add(
            {std::string(name(lag.engine)),
             kind_of_row(difference, lag.engine, row).title(),
             clip_front(last_part(kind_of_row(difference, lag.engine, row).source), kSourceColumns),
             times_text(
                 column,
                 {start(difference.before, *row.before), start(difference.after, *row.after)}),
             (lag.change.value > 0 ? "+" : "") + column.text(lag.change)});
    }
    screen.section(fmt::format("where after falls behind (+) or catches up (-) on an engine, {}",
                               column.unit));
    screen.table(table);
}

void add_table_notes(const InstructionDifference& difference, Screen& screen) {
    bool is_first = true;
    for (const InstructionTable* table : {&difference.before, &difference.after}) {
        for (const std::string& note : table->notes) {
            if (is_first) {
                screen.blank();
                is_first = false;
            }
            screen.dim(fmt::format("{}: {}", table->name, note));
        }
    }
}

}  // namespace

std::string to_text(const InstructionDifference& difference, bool use_colour) {
    Screen screen(use_colour);
    add_heading(difference, screen);
    add_engine_table(difference, screen);
    add_transfer_table(difference, screen);
    add_kind_table(difference, screen);
    add_parting_table(difference, screen);
    add_lag_table(difference, screen);
    add_table_notes(difference, screen);
    return screen.text();
}

std::string rows_text(const InstructionDifference& difference, Engine engine, bool use_colour) {
    Screen screen(use_colour);
    add_heading(difference, screen);
    const auto times =
        std::ranges::find(difference.engines, engine, &InstructionDifference::EngineTimes::engine);
    if (times == difference.engines.end()) {
        screen.section(fmt::format("nothing ran on {}", name(engine)));
        return screen.text();
    }
    const TimeColumn column = column_for(difference);
    Table table({kRightAligned,
                 kRightAligned,
                 kRightAligned,
                 kLeft,
                 kRightAligned,
                 kRightAligned,
                 kRightAligned,
                 kLeft});
    table.add({"start", "ns", "waited", "before", "start", "ns", "waited", "after"});
    for (const DiffRow& row : times->rows) {
        std::vector<std::string> cells;
        const auto add = [&](const InstructionTable& of, const std::optional<std::size_t>& place) {
            if (!place) {
                cells.insert(cells.end(), {"", "", "", "-"});
                return;
            }
            const auto& instruction = at(of, engine, *place);
            cells.insert(cells.end(),
                         {column.text(instruction.start - of.kernel_start),
                          nanoseconds_text(instruction.duration),
                          nanoseconds_text(instruction.waited),
                          of.kind_of(instruction).title()});
        };
        add(difference.before, row.before);
        add(difference.after, row.after);
        table.add(std::move(cells));
    }
    screen.section(fmt::format(
        "{}, in the order of execution; start in {}, the rest in ns", name(engine), column.unit));
    screen.table(table);
    return screen.text();
}

}  // namespace trnsim::report
