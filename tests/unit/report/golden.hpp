// SPDX-License-Identifier: Apache-2.0
// Compares a file that is written with the committed one.
#pragma once

#include <string>

namespace trnsim::report {

/// The first line that differs from tests/unit/report/<name>, as "3: was -> is"; nothing if none
/// does. With TRNSIM_REBASELINE=1 in the environment, writes `actual` there first.
[[nodiscard]] std::string moved_line(const std::string& name, const std::string& actual);

}  // namespace trnsim::report
