// SPDX-License-Identifier: Apache-2.0
// What the compiler was assumed to do with a kernel, and what came of it.
#pragma once

#include "indented_json.hpp"
#include "trnsim/report/report.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trnsim::report {

/// The member "compiler" of a result; null for a lowered trace, which left it nothing to do.
void write_compiler(IndentedJson& json, const Report& report);

/// "as assumed for "nki", but dma_rings=3": by its defaults but for some policies.
[[nodiscard]] std::string as_assumed(
    std::string_view api, const std::vector<std::pair<std::string, std::string>>& changes);

/// The same as "compiler" in three lines, the first without an indent; spills and rings are
/// elsewhere on the screen.
[[nodiscard]] std::vector<std::string> explain_compiler(const Report& report);

}  // namespace trnsim::report
