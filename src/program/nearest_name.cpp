// SPDX-License-Identifier: Apache-2.0
// Edit distance and the suggestion made of it.
#include "nearest_name.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace trnsim::program {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

std::string suggestion(std::string_view given, std::span<const std::string_view> candidates) {
    constexpr std::size_t kLongest = 64;  // No valid name is near to anything longer.
    if (candidates.empty()) {
        return "";
    }
    if (given.size() <= kLongest) {
        const auto distance = [given](std::string_view name) { return edit_distance(given, name); };
        const std::string_view nearest = *std::ranges::min_element(candidates, {}, distance);
        if (distance(nearest) <= std::max<std::size_t>(1, nearest.size() / 3)) {
            return fmt::format("; did you mean \"{}\"?", nearest);
        }
    }
    return fmt::format("; allowed: {}", fmt::join(candidates, ", "));
}

}  // namespace trnsim::program
