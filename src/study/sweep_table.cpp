// SPDX-License-Identifier: Apache-2.0
// The result of a sweep as a table.
#include "trnsim/study/sweep_table.hpp"

#include "trnsim/study/csv.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace trnsim::study {
namespace {

using Json = nlohmann::ordered_json;

/// Texts without quotation marks, numbers as JSON writes them, nothing for null.
std::string cell_text(const Json& value) {
    if (value.is_string()) {
        return value.get<std::string>();
    }
    return value.is_null() ? "" : value.dump();
}

/// Texts one after another.
std::string in_one_cell(const Json& texts) {
    std::string all;
    for (const Json& text : texts) {
        all += (all.empty() ? "" : "; ") + text.get<std::string>();
    }
    return all;
}

}  // namespace

void write_sweep_csv(std::ostream& output,
                     const Grid& grid,
                     const std::vector<JobOutcome>& outcomes) {
    std::vector<Json> summaries(outcomes.size());
    std::vector<std::string> warnings(outcomes.size());
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        if (outcomes[i].exit_status == 0) {
            const Json result = Json::parse(outcomes[i].output);
            summaries[i] = result.at("summary");
            warnings[i] = in_one_cell(result.at("warnings"));
        }
        for (const auto& [key, value] : summaries[i].items()) {
            if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
                keys.push_back(key);
            }
        }
    }

    std::vector<std::string> cells;
    for (const Axis& axis : grid.axes()) {
        cells.push_back(axis.name);
    }
    cells.insert(cells.end(), keys.begin(), keys.end());
    cells.emplace_back("warnings");
    cells.emplace_back("error");
    write_csv_row(output, cells);

    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        cells = grid.point(i);
        for (const std::string& key : keys) {
            cells.push_back(summaries[i].contains(key) ? cell_text(summaries[i][key]) : "");
        }
        cells.push_back(warnings[i]);
        cells.push_back(outcomes[i].error);
        write_csv_row(output, cells);
    }
}

int worst_exit_status(const std::vector<JobOutcome>& outcomes) {
    for (const int status : std::array{1, 3, 2}) {
        const auto ended_so = [&](const JobOutcome& outcome) {
            return outcome.exit_status == status;
        };
        if (std::any_of(outcomes.begin(), outcomes.end(), ended_so)) {
            return status;
        }
    }
    return 0;
}

}  // namespace trnsim::study
