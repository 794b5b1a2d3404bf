// SPDX-License-Identifier: Apache-2.0
// Edit distance and the suggestion made of it.
#include "nearest_name.hpp"

#include "place.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace trnsim::program {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);  // Rows i - 2, i - 1 and i of the table.
    std::vector<std::size_t> above(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before.swap(above);
        above.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
    }
    return row[b.size()];
}

std::string suggestion(std::string_view given, std::span<const std::string_view> candidates) {
    constexpr std::size_t kLongest = 64;  // Longer names are not compared.
    if (candidates.empty()) {
        return "";
    }
    if (given.size() <= kLongest) {
        const auto rank = [given](std::string_view name) {
            if (name.size() > kLongest) {
                return std::pair{name.size(), given.size()};
            }
            const auto [first, ignored] = std::ranges::mismatch(given, name);
            const auto prefix = static_cast<std::size_t>(first - given.begin());
            return std::pair{edit_distance(given, name), given.size() - prefix};
        };
        const std::string_view nearest = *std::ranges::min_element(candidates, {}, rank);
        if (rank(nearest).first <= std::max<std::size_t>(1, nearest.size() / 3)) {
            return fmt::format("; did you mean \"{}\"?", nearest);
        }
    }
    std::vector<std::string> names(candidates.size());
    std::ranges::transform(candidates, names.begin(), printable);
    return fmt::format("; allowed: {}", fmt::join(names, ", "));
}

}  // namespace trnsim::program
