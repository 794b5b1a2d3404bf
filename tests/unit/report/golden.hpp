// SPDX-License-Identifier: Apache-2.0
// Compares a file that is written with the committed one.
#pragma once

#include <string>

namespace trnsim::report {

/// Text of tests/unit/report/<name>. With TRNSIM_REBASELINE=1 in the environment, writes `actual`
/// there first.
[[nodiscard]] std::string golden(const std::string& name, const std::string& actual);

}  // namespace trnsim::report
