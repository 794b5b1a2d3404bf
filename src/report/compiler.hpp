// SPDX-License-Identifier: Apache-2.0
// What the compiler was assumed to do with a kernel, and what came of it.
#pragma once

#include "trnsim/report/report.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace trnsim::report {

/// The section "compiler" of a result; null for a lowered trace, which left it nothing to do.
[[nodiscard]] nlohmann::ordered_json compiler_json(const Report& report);

/// The same in three lines, the first without an indent; spills and rings are elsewhere on the
/// screen.
[[nodiscard]] std::vector<std::string> explain_compiler(const Report& report);

}  // namespace trnsim::report
