// SPDX-License-Identifier: Apache-2.0
// What the user may have meant: the valid name nearest to an unknown one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <span>
#include <string_view>
#include <vector>

namespace trnsim {

/// Fewest insertions, deletions and replacements of a byte, and swaps of two neighbours.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest of the names if it is near, of several the one that begins most alike; otherwise
/// empty. A name of which half or more is given is near. Names too long to be typed are not
/// compared.
[[nodiscard]] std::string_view nearest_name(std::string_view given,
                                            std::span<const std::string_view> names);

/// The same among any strings, which must outlive the result.
template <std::ranges::input_range Names>
[[nodiscard]] std::string_view nearest_name(std::string_view given, const Names& names) {
    const std::vector<std::string_view> views(names.begin(), names.end());
    return nearest_name(given, std::span<const std::string_view>(views));
}

}  // namespace trnsim
