// SPDX-License-Identifier: Apache-2.0
// Finds the name that was probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trnsim::spec {

/// `; did you mean "near"?` for the candidate with the least edits, or `; allowed are "a", "b"`
/// when none is near.
[[nodiscard]] std::string suggestion(std::string_view name,
                                     const std::vector<std::string>& candidates);

/// ` "a", "b", ...`: the first few names.
[[nodiscard]] std::string listed(const std::vector<std::string>& names);

/// The text in double quotes for a message: control characters as escapes, cut after 60 bytes.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace trnsim::spec
