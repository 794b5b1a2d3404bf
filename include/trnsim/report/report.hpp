// SPDX-License-Identifier: Apache-2.0
// A run with what it was and what its numbers mean: the source of every text and file about it.
#pragma once

#include "trnsim/lowering/policies.hpp"
#include "trnsim/program/program.hpp"
#include "trnsim/report/roofline.hpp"
#include "trnsim/report/summary.hpp"
#include "trnsim/report/value_report.hpp"
#include "trnsim/simulator/run_result.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::report {

/// What was run, and how.
struct Subject {
    std::string trnsim_version;
    std::string input;  ///< As the user gave it.
    program::Header header;
    spec::ChipConfig chip;
    lowering::Policies policies;
};

/// Everything that is shown of a run. Nothing of the machine it ran on, no time of day.
struct Report {
    Subject subject;
    RunResult result;
    Peaks peaks;
    Summary summary;
    Roofline roofline;
    std::optional<ValueReport> values{};  ///< If they were asked for.
};

/// Derives what is not measured. \pre the times of every engine sum to the total of the run
[[nodiscard]] Report make_report(Subject subject, RunResult result);

/// Leaves of the chip that --set changed: path and value.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> overrides(
    const spec::ChipConfig& chip);

/// Policies that differ from the defaults of the program's api: name and value.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> changed_policies(
    const Subject& subject);

/// One screen for a person: at most 47 lines of 100 columns, and a few more for values and for
/// sentences that take more than a line. `use_colour` adds ANSI colours for a terminal.
[[nodiscard]] std::string to_text(const Report& report, bool use_colour);

/// The result file of `trnsim run --json`, configs/schema/result.schema.json; the same bytes on
/// every machine.
[[nodiscard]] std::string to_json(const Report& report);

}  // namespace trnsim::report
