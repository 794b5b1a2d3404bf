// SPDX-License-Identifier: Apache-2.0
// Finds what a mistyped word was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trnsim::cli {

/// The name with the fewest letters to insert, remove or replace; empty if none is close.
[[nodiscard]] std::string nearest_name(std::string_view word,
                                       const std::vector<std::string>& names);

}  // namespace trnsim::cli
