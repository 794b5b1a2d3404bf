// SPDX-License-Identifier: Apache-2.0
// The end of a message about an unknown name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trnsim::program {

/// The nearest candidate if one is near, otherwise all of them. Empty without candidates.
[[nodiscard]] std::string suggestion(std::string_view given,
                                     std::span<const std::string_view> candidates);

/// The names of an enumeration's values from the first to `last`.
template <typename Enum>
[[nodiscard]] std::vector<std::string_view> names_up_to(Enum last) {
    std::vector<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(last); ++i) {
        names.push_back(name(static_cast<Enum>(i)));
    }
    return names;
}

}  // namespace trnsim::program
