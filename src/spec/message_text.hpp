// SPDX-License-Identifier: Apache-2.0
// Names in the messages of the chip configuration reader.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trnsim::spec {

/// `; did you mean "near"?` for the nearest candidate, or `; allowed are "a", "b"` when
/// none is.
[[nodiscard]] std::string suggestion(std::string_view name,
                                     const std::vector<std::string>& candidates);

/// The same for a path with dots, of which there are hundreds: the first few that begin with what
/// is given, or else `; did you mean "a.b.name"?` with those that end in it, the nearest one, those
/// with its last name, or those of its innermost group that have a word of its last name, or all.
[[nodiscard]] std::string path_suggestion(std::string_view path,
                                          const std::vector<std::string>& candidates);

/// ` "a", "b", ...`: the first few names.
[[nodiscard]] std::string listed(const std::vector<std::string>& names);

/// The text in double quotes for a message: control characters as escapes, cut after 60 bytes.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace trnsim::spec
