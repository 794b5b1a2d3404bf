// SPDX-License-Identifier: Apache-2.0
// Edit distance over short words.
#include "nearest_name.hpp"

#include <algorithm>
#include <numeric>

namespace trnsim::cli {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row.back();
}

}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& names) {
    std::string nearest;
    std::size_t smallest = std::max<std::size_t>(word.size() / 2, 2) + 1;
    for (const std::string& name : names) {
        if (const std::size_t distance = edit_distance(word, name); distance < smallest) {
            smallest = distance;
            nearest = name;
        }
    }
    return nearest;
}

}  // namespace trnsim::cli
