// SPDX-License-Identifier: Apache-2.0
// Edit distance, and the name with the smallest.
#include "trnsim/base/nearest_name.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace trnsim {
namespace {

constexpr std::size_t kLongest = 100;

/// Edits, characters of the given name behind the common start, and characters that it lacks.
using Unlikeness = std::tuple<std::size_t, std::size_t, std::size_t>;

/// How unlike two names are: fewer edits first, then a longer common start. What breaks off in the
/// second half of a name takes one edit.
Unlikeness unlikeness(std::string_view given, std::string_view name) {
    const auto [first, ignored] = std::ranges::mismatch(given, name);
    const auto prefix = static_cast<std::size_t>(first - given.begin());
    const std::size_t edits = edit_distance(given, name);
    const bool is_begun = name.starts_with(given) && 2 * given.size() >= name.size();
    return {is_begun ? std::min<std::size_t>(edits, 1) : edits, given.size() - prefix, edits};
}

}  // namespace

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

std::string_view nearest_name(std::string_view given, std::span<const std::string_view> names) {
    std::string_view nearest;
    Unlikeness least{given.size() + kLongest, given.size(), kLongest};
    for (const std::string_view name : names) {
        if (std::max(given.size(), name.size()) <= kLongest) {
            if (const auto unlike = unlikeness(given, name); unlike < least) {
                least = unlike;
                nearest = name;
            }
        }
    }
    const bool near = std::get<0>(least) <= std::max<std::size_t>(1, nearest.size() / 3);
    return near ? nearest : std::string_view{};
}

}  // namespace trnsim
