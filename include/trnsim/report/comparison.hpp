// SPDX-License-Identifier: Apache-2.0
// One kernel on several chips, side by side.
#pragma once

#include "trnsim/report/result_file.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::report {

/// One chip's row.
// NOLINTNEXTLINE(bugprone-exception-escape): moving a Json asserts that it is one.
struct ComparisonRow {
    std::string chip;
    double latency_us = 0.0;
    double speed_up = 0.0;  ///< Latency of the first row over this one's.
    double mfu_estimated_percent = 0.0;
    double hfu_estimated_percent = 0.0;
    double mbu_estimated_percent = 0.0;
    std::string bound_by;
    double bound_by_percent = 0.0;  ///< What the bounding resource needs, in the latency.
    double hbm_read_bytes = 0.0;
    double hbm_write_bytes = 0.0;
    double spill_save_bytes = 0.0;
    double spill_reload_bytes = 0.0;
    std::vector<std::string> warnings{};  ///< Of its run.

    // What the run was of, as in its result.
    ResultFile::Json config{};
    std::vector<std::string> config_overrides{};
    ResultFile::Json policies{};
    std::string method{};
    /// What is not by default in these: "chip set", "dma.engines=4".
    std::vector<std::pair<std::string, std::string>> changes{};
};

struct Comparison {
    std::string kernel;
    std::string input;
    std::vector<std::string> arguments;
    std::vector<ComparisonRow> rows;  ///< In the order of the results.
};

/// \throws UserError if there is no result, or they are not of one input with the same arguments
[[nodiscard]] Comparison compare(std::span<const ResultFile> results);

/// A table, one line a chip. `use_colour` adds ANSI colours for a terminal.
[[nodiscard]] std::string to_text(const Comparison& comparison, bool use_colour);

/// configs/schema/comparison.schema.json
[[nodiscard]] std::string to_json(const Comparison& comparison);

}  // namespace trnsim::report
