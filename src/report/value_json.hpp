// SPDX-License-Identifier: Apache-2.0
// The member `values` of a result file.
#pragma once

#include "trnsim/report/value_report.hpp"

#include <nlohmann/json.hpp>

#include <optional>

namespace trnsim::report {

/// null without values.
[[nodiscard]] nlohmann::ordered_json values_json(const std::optional<ValueReport>& values);

}  // namespace trnsim::report
