// SPDX-License-Identifier: Apache-2.0
// What changed between two results, for a person.
#include "explain.hpp"
#include "quantity.hpp"
#include "screen.hpp"
#include "table.hpp"
#include "trnsim/report/difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace trnsim::report {
namespace {

using Json = ResultFile::Json;

constexpr std::size_t kShownLines = 8;
constexpr std::string_view kArrow = " -> ";

Picoseconds time_of(const Json& nanoseconds) {
    return nanoseconds.is_number() ? from_nanoseconds(nanoseconds.get<double>()) : Picoseconds{};
}

std::string value_text(const Json& value) {
    if (value.is_null()) {
        return "none";
    }
    return value.is_string() ? value.get<std::string>() : value.dump();
}

/// In the unit its key ends with.
std::string summary_text(const std::string& key, const Json& value) {
    if (!value.is_number()) {
        return value_text(value);
    }
    const auto number = value.get<double>();
    if (key.ends_with("_bytes")) {
        return bytes_text(number);
    }
    if (key.ends_with("_percent")) {
        return percent_text(number);
    }
    return value.is_number_integer() ? count_text(value.get<std::int64_t>()) : number_text(number);
}

std::string relative_text(const Json& before, const Json& after) {
    if (!before.is_number() || !after.is_number() || before.get<double>() == 0.0) {
        return "";
    }
    return change_text(percent(after.get<double>() - before.get<double>(), before.get<double>()));
}

void add_latency(const Difference& difference, Screen& screen) {
    const double before = difference.before.number("/summary/latency_us");
    const double after = difference.after.number("/summary/latency_us");
    const auto text = [](double microseconds) {
        return time_text(from_nanoseconds(microseconds * 1e3), 5);
    };
    screen.fact("latency",
                text(before) + std::string{kArrow} + text(after),
                before == after ? "unchanged" : change_text(percent(after - before, before)));
    const std::string bound_before = difference.before.text("/roofline/bound_by");
    const std::string bound_after = difference.after.text("/roofline/bound_by");
    screen.fact("bound by",
                bound_before == bound_after ? bound_after
                                            : bound_before + std::string{kArrow} + bound_after);
}

/// Sections whose keys have one value each: key, before -> after.
void add_values(const Difference& difference,
                const std::vector<std::string>& sections,
                const std::string& heading,
                Screen& screen) {
    Table table({Table::Align::Left, Table::Align::Left});
    std::size_t rows = 0;
    for (const Change& change : difference.changes) {
        if (std::find(sections.begin(), sections.end(), change.section) != sections.end()) {
            table.add({change.key,
                       value_text(change.before) + std::string{kArrow} + value_text(change.after)});
            ++rows;
        }
    }
    if (rows > 0) {
        screen.section(heading);
        screen.table(table);
    }
}

/// Key figures of the summary; times of engines have a table of their own.
void add_summary(const Difference& difference, Screen& screen) {
    Table table(
        {Table::Align::Left, Table::Align::Right, Table::Align::Right, Table::Align::Right});
    std::size_t rows = 0;
    for (const Change& change : difference.changes) {
        const std::string& key = change.key;
        const bool is_shown = key.ends_with("_bytes") || key.ends_with("_estimated_percent") ||
                              key.ends_with("_count");
        if (change.section == "summary" && is_shown) {
            table.add(
                {key,
                 summary_text(key, change.before),
                 summary_text(key, change.after),
                 key.ends_with("_percent") ? "" : relative_text(change.before, change.after)});
            ++rows;
        }
    }
    if (rows > 0) {
        screen.section("work and utilisation");
        screen.table(table);
    }
}

/// The columns of a table with one row per key of a section.
struct TimeFields {
    std::string section;
    std::vector<std::pair<std::string, std::string>> fields;  ///< Field and column heading.
};

/// The changes of one key, by field.
using FieldChanges = std::map<std::string, const Change*>;

/// Changed keys of the section with the times that changed, the largest sum of changes first.
std::vector<std::pair<std::string, FieldChanges>> changed_times(const Difference& difference,
                                                                const TimeFields& wanted) {
    std::vector<std::pair<std::string, FieldChanges>> rows;
    std::map<std::string, std::size_t> row_of;
    for (const Change& change : difference.changes) {
        const bool is_wanted =
            std::any_of(wanted.fields.begin(), wanted.fields.end(), [&change](const auto& field) {
                return field.first == change.field;
            });
        if (change.section != wanted.section || !is_wanted) {
            continue;
        }
        const auto [found, is_new] = row_of.try_emplace(change.key, rows.size());
        if (is_new) {
            rows.emplace_back(change.key, FieldChanges{});
        }
        rows[found->second].second[change.field] = &change;
    }
    const auto size_of = [](const FieldChanges& changes) {
        std::int64_t sum = 0;
        for (const auto& [field, change] : changes) {
            sum += std::abs((time_of(change->after) - time_of(change->before)).value);
        }
        return sum;
    };
    std::stable_sort(rows.begin(), rows.end(), [&size_of](const auto& a, const auto& b) {
        return size_of(a.second) > size_of(b.second);
    });
    return rows;
}

std::string change_of_time(const Change& change, const TimeColumn& column) {
    const auto text = [&column](const Json& value) {
        return value.is_number() ? column.text(time_of(value)) : std::string{"none"};
    };
    return text(change.before) + std::string{kArrow} + text(change.after);
}

void add_times(const Difference& difference,
               const TimeFields& wanted,
               const std::string& heading,
               Screen& screen) {
    const auto rows = changed_times(difference, wanted);
    if (rows.empty()) {
        return;
    }
    const TimeColumn column(from_nanoseconds(difference.after.number("/summary/latency_us") * 1e3));
    Table table(std::vector<Table::Align>(wanted.fields.size() + 1, Table::Align::Left));
    std::vector<std::string> head{""};
    for (const auto& [field, title] : wanted.fields) {
        head.push_back(title);
    }
    table.add(std::move(head));
    for (std::size_t i = 0; i < std::min(kShownLines, rows.size()); ++i) {
        std::vector<std::string> cells{in_full_or_short(rows[i].first, Screen::kColumns / 3)};
        for (const auto& [field, title] : wanted.fields) {
            const auto found = rows[i].second.find(field);
            cells.push_back(found == rows[i].second.end() ? "="
                                                          : change_of_time(*found->second, column));
        }
        table.add(std::move(cells));
    }
    screen.section(fmt::format("{}, {}; = is unchanged", heading, column.unit));
    screen.table(table);
    if (rows.size() > kShownLines) {
        screen.dim(fmt::format("  {} more: see --json", rows.size() - kShownLines));
    }
}

void add_warnings(const Difference& difference, Screen& screen) {
    bool is_first = true;
    for (const Change& change : difference.changes) {
        if (change.section == "warnings") {
            if (is_first) {
                screen.blank();
                is_first = false;
            }
            screen.remark(
                fmt::format(
                    "{}: {}", change.before.is_null() ? "new warning" : "warning gone", change.key),
                true);
        }
    }
}

}  // namespace

std::string to_text(const Difference& difference, bool use_colour) {
    Screen screen(use_colour);
    screen.strong(difference.before.name() + std::string{kArrow} + difference.after.name());
    if (difference.changes.empty()) {
        screen.dim("  nothing changed");
        return screen.text();
    }
    screen.blank();
    add_latency(difference, screen);
    add_values(difference, {"subject"}, "what was run", screen);
    add_values(difference, {"config"}, "chip", screen);
    add_values(difference, {"policies"}, "policies", screen);
    add_summary(difference, screen);
    add_times(difference,
              {"engines",
               {{"active_ns", "active"},
                {"wait_dma_ns", "waits for dma"},
                {"wait_semaphore_ns", "waits for engines"}}},
              "engines",
              screen);
    add_times(difference,
              {"attribution",
               {{"active_ns", "active"},
                {"stalled_ns", "stalled"},
                {"on_critical_path_ns", "on the critical path"}}},
              "lines, the largest change first",
              screen);
    add_warnings(difference, screen);
    return screen.text();
}

}  // namespace trnsim::report
