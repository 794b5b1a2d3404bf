// SPDX-License-Identifier: Apache-2.0
// One kernel on several chips, side by side.
#include "trnsim/report/comparison.hpp"

#include "compiler.hpp"
#include "explain.hpp"
#include "quantity.hpp"
#include "schema_version.hpp"
#include "screen.hpp"
#include "table.hpp"
#include "trnsim/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace trnsim::report {
namespace {

using Json = ResultFile::Json;
using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Policies that are not the defaults of the API; none of a lowered trace, which takes none.
Pairs changed_policies(const Json& compiler) {
    Pairs changed;
    if (!compiler.is_null()) {
        for (const Json& policy : compiler.at("policies")) {
            if (!policy.at("is_default").get<bool>()) {
                changed.emplace_back(policy.at("name"), policy.at("value"));
            }
        }
    }
    return changed;
}

/// What --method, --policy and --set changed, in the words of a run's report.
Pairs changes_of(const ResultFile& result, const ComparisonRow& row) {
    Pairs changes;
    if (row.method != name(Method::Profiler)) {
        changes.emplace_back("latency", fmt::format("like {}", title(Method::Benchmark)));
    }
    if (const Pairs changed = changed_policies(result.json().at("compiler")); !changed.empty()) {
        changes.emplace_back("compiler", as_assumed(result.text("/api"), changed));
    }
    Pairs set;
    for (const std::string& path : row.config_overrides) {
        set.emplace_back(path, row.config.at(path).dump());
    }
    if (!set.empty()) {
        changes.emplace_back("chip set", assignments(set));
    }
    return changes;
}

ComparisonRow make_row(const ResultFile& result) {
    ComparisonRow row;
    row.chip = result.text("/chip");
    row.latency_us = result.number("/summary/latency_us");
    row.mfu_estimated_percent = result.number("/summary/mfu_estimated_percent");
    row.hfu_estimated_percent = result.number("/summary/hfu_estimated_percent");
    row.mbu_estimated_percent = result.number("/summary/mbu_estimated_percent");
    row.bound_by = result.text("/roofline/bound_by");
    const double needed_ns = result.number(fmt::format("/roofline/needs/{}_ns", row.bound_by));
    row.bound_by_percent = percent(needed_ns / 1e3, row.latency_us);
    row.hbm_read_bytes = result.number("/summary/hbm_read_bytes");
    row.hbm_write_bytes = result.number("/summary/hbm_write_bytes");
    row.spill_save_bytes = result.number("/summary/spill_save_bytes");
    row.spill_reload_bytes = result.number("/summary/spill_reload_bytes");
    row.warnings = result.texts("/warnings");
    row.config = result.json().at("config");
    row.config_overrides = result.texts("/config_overrides");
    row.policies = result.json().at("policies");
    row.method = result.text("/run/method");
    row.changes = changes_of(result, row);
    return row;
}

void check_same_input(const ResultFile& first, const ResultFile& other) {
    const auto subject = [](const ResultFile& result) {
        return fmt::format(
            "{} ({})", result.text("/input"), fmt::join(result.texts("/arguments"), ", "));
    };
    if (subject(first) != subject(other)) {
        throw UserError(fmt::format(
            "{}: is of {}, but {} is of {}; compare results of one input with the same arguments",
            other.name(),
            subject(other),
            first.name(),
            subject(first)));
    }
}

/// Chips of one name, such as a chip and an edited copy of its file, are called as they were given.
void tell_apart(std::vector<ComparisonRow>& rows, std::span<const ResultFile> results) {
    std::map<std::string, int> counts;
    for (const ComparisonRow& row : rows) {
        ++counts[row.chip];
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (counts[rows[i].chip] > 1) {
            rows[i].chip = results[i].name();
        }
    }
}

/// What the chips are called in a text: paths that would leave no room for a table by their ends,
/// as long as that tells them apart.
std::vector<std::string> labels_of(const std::vector<ComparisonRow>& rows) {
    constexpr std::array<std::size_t, 2> kWidths{24, 48};
    for (const std::size_t width : kWidths) {
        std::vector<std::string> labels;
        std::ranges::transform(rows, std::back_inserter(labels), [width](const auto& row) {
            return in_full_or_short(row.chip, width);
        });
        if (std::set<std::string>(labels.begin(), labels.end()).size() == rows.size()) {
            return labels;
        }
    }
    std::vector<std::string> names;
    std::ranges::transform(rows, std::back_inserter(names), &ComparisonRow::chip);
    return names;
}

/// "warning on trn1: …" and the like, each once, with the chips that it is about unless all are.
class Remarks {
public:
    explicit Remarks(std::size_t chips) : chips_(chips) {}

    void add(const std::string& kind, const std::string& text, const std::string& chip) {
        const auto is_same = [&](const Remark& one) {
            return one.kind == kind && one.text == text;
        };
        auto known = std::ranges::find_if(remarks_, is_same);
        if (known == remarks_.end()) {
            known = remarks_.insert(known, {kind, text, {}});
        }
        known->chips.push_back(chip);
    }

    void show(Screen& screen, bool are_warnings) const {
        for (const Remark& one : remarks_) {
            const std::string where = one.chips.size() == chips_
                                          ? std::string{}
                                          : fmt::format(" on {}", fmt::join(one.chips, ", "));
            screen.remark(fmt::format("{}{}: {}", one.kind, where, one.text), are_warnings);
        }
    }

    [[nodiscard]] bool is_empty() const { return remarks_.empty(); }

private:
    struct Remark {
        std::string kind;
        std::string text;
        std::vector<std::string> chips;
    };
    std::size_t chips_;
    std::vector<Remark> remarks_;
};

/// What the runs warned of, and what they were of that is not by default.
void add_remarks(const std::vector<ComparisonRow>& rows,
                 const std::vector<std::string>& labels,
                 Screen& screen) {
    Remarks warnings(rows.size());
    Remarks changes(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (const std::string& text : rows[i].warnings) {
            warnings.add("warning", text, labels[i]);
        }
        for (const auto& [kind, text] : rows[i].changes) {
            changes.add(kind, text, labels[i]);
        }
    }
    if (!warnings.is_empty() || !changes.is_empty()) {
        screen.blank();
    }
    warnings.show(screen, true);
    changes.show(screen, false);
}

Picoseconds from_microseconds(double microseconds) {
    return Picoseconds{std::llround(microseconds * 1e6)};
}

}  // namespace

Comparison compare(std::span<const ResultFile> results) {
    if (results.empty()) {
        throw UserError(
            "compare: no result is given, at least one is needed; name a chip or a file");
    }
    const ResultFile& first = results.front();
    Comparison comparison{
        first.text("/kernel"), first.text("/input"), first.texts("/arguments"), {}};
    for (const ResultFile& result : results) {
        check_same_input(first, result);
        ComparisonRow row = make_row(result);
        row.speed_up = ratio(first.number("/summary/latency_us"), row.latency_us);
        comparison.rows.push_back(std::move(row));
    }
    tell_apart(comparison.rows, results);
    return comparison;
}

std::string to_text(const Comparison& comparison, bool use_colour) {
    constexpr auto kLeft = Table::Align::Left;
    constexpr auto kRight = Table::Align::Right;
    Table table({kLeft, kRight, kRight, kLeft, kRight, kRight, kRight, kRight});
    table.add({"chip", "latency", "speed-up", "bound by", "MFU", "MBU", "HBM traffic", "spills"});
    const std::vector<std::string> labels = labels_of(comparison.rows);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const ComparisonRow& row = comparison.rows[i];
        const double spilled = row.spill_save_bytes + row.spill_reload_bytes;
        table.add({labels[i],
                   time_text(from_microseconds(row.latency_us), 5),
                   fmt::format("{:.2f}", row.speed_up),
                   fmt::format("{} {}", row.bound_by, percent_text(row.bound_by_percent)),
                   percent_text(row.mfu_estimated_percent),
                   percent_text(row.mbu_estimated_percent),
                   bytes_text(row.hbm_read_bytes + row.hbm_write_bytes),
                   spilled > 0.0 ? bytes_text(spilled) : "none"});
    }
    Screen screen(use_colour);
    screen.strong(comparison.kernel.empty() ? comparison.input : comparison.kernel);
    if (!comparison.arguments.empty()) {
        screen.dim(fmt::format("  {}", fmt::join(comparison.arguments, ", ")));
    }
    screen.blank();
    screen.table(table);
    add_remarks(comparison.rows, labels, screen);
    return screen.text();
}

std::string to_json(const Comparison& comparison) {
    Json rows = Json::array();
    for (const ComparisonRow& row : comparison.rows) {
        rows.push_back({{"chip", row.chip},
                        {"latency_us", row.latency_us},
                        {"speed_up", row.speed_up},
                        {"bound_by", row.bound_by},
                        {"bound_by_percent", row.bound_by_percent},
                        {"mfu_estimated_percent", row.mfu_estimated_percent},
                        {"hfu_estimated_percent", row.hfu_estimated_percent},
                        {"mbu_estimated_percent", row.mbu_estimated_percent},
                        {"hbm_read_bytes", std::llround(row.hbm_read_bytes)},
                        {"hbm_write_bytes", std::llround(row.hbm_write_bytes)},
                        {"spill_save_bytes", std::llround(row.spill_save_bytes)},
                        {"spill_reload_bytes", std::llround(row.spill_reload_bytes)},
                        {"warnings", row.warnings},
                        {"config", row.config},
                        {"config_overrides", row.config_overrides},
                        {"policies", row.policies},
                        {"run", {{"method", row.method}}}});
    }
    const Json json{{"schema_version", kSchemaVersion},
                    {"kernel", comparison.kernel},
                    {"input", comparison.input},
                    {"arguments", comparison.arguments},
                    {"chips", rows}};
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trnsim::report
