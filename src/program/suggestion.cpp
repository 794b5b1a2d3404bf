// SPDX-License-Identifier: Apache-2.0
// Suggests the nearest name, or lists all.
#include "suggestion.hpp"

#include "place.hpp"
#include "trnsim/base/nearest_name.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace trnsim::program {

std::string suggestion(std::string_view given, std::span<const std::string_view> candidates) {
    if (candidates.empty()) {
        return "";
    }
    if (const std::string_view nearest = nearest_name(given, candidates); !nearest.empty()) {
        return fmt::format("; did you mean \"{}\"?", nearest);
    }
    std::vector<std::string> names(candidates.size());
    std::ranges::transform(candidates, names.begin(), printable);
    return fmt::format("; allowed: {}", fmt::join(names, ", "));
}

}  // namespace trnsim::program
