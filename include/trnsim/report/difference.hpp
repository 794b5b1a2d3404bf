// SPDX-License-Identifier: Apache-2.0
// What changed between two results.
#pragma once

#include "trnsim/report/result_file.hpp"

#include <string>
#include <vector>

namespace trnsim::report {

/// One value that is not the same in both results.
struct Change {
    std::string section;  ///< Top-level key of the result: "config", "engines", "attribution" …
    std::string key;  ///< "neuron_core.tensor_engine.clock_ghz"; "kernel.py:52 nc_matmul (tensor)"
    std::string field;        ///< "active_ns" where a key has several values, else empty.
    ResultFile::Json before;  ///< null: not there.
    ResultFile::Json after;
};

/// All changes, in the order of the result's keys. Lines join by source, operation and engine;
/// critical-path entries, rings and texts by themselves.
struct Difference {
    ResultFile before;
    ResultFile after;
    std::vector<Change> changes;
};

[[nodiscard]] Difference diff(ResultFile before, ResultFile after);

/// What a person wants to know of it: latency first, then what was run, engines, bytes and lines.
[[nodiscard]] std::string to_text(const Difference& difference, bool use_colour);

/// All changes: configs/schema/difference.schema.json
[[nodiscard]] std::string to_json(const Difference& difference);

}  // namespace trnsim::report
