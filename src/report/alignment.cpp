// SPDX-License-Identifier: Apache-2.0
// Longest common subsequences, window by window.
#include "alignment.hpp"

#include <algorithm>

namespace trnsim::report {
namespace {

using Sequence = std::span<const std::uint32_t>;
using Places = std::vector<std::pair<std::size_t, std::size_t>>;

/// Lengths of the longest common subsequences of all ends of two short sequences.
class CommonEnds {
public:
    CommonEnds(Sequence before, Sequence after)
        : columns_(after.size() + 1), lengths_((before.size() + 1) * columns_) {
        for (std::size_t i = before.size(); i-- > 0;) {
            for (std::size_t j = after.size(); j-- > 0;) {
                lengths_[i * columns_ + j] = before[i] == after[j]
                                                 ? of(i + 1, j + 1) + 1
                                                 : std::max(of(i + 1, j), of(i, j + 1));
            }
        }
    }
    [[nodiscard]] std::uint32_t of(std::size_t i, std::size_t j) const {
        return lengths_[i * columns_ + j];
    }

private:
    std::size_t columns_;
    std::vector<std::uint32_t> lengths_;
};

}  // namespace

Places align(Sequence before, Sequence after, std::size_t window) {
    Places places;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < before.size() && j < after.size()) {
        if (before[i] == after[j]) {
            places.emplace_back(i++, j++);
            continue;
        }
        const Sequence rows = before.subspan(i, std::min(window, before.size() - i));
        const Sequence columns = after.subspan(j, std::min(window, after.size() - j));
        const bool is_last = i + rows.size() == before.size() && j + columns.size() == after.size();
        const CommonEnds common(rows, columns);
        // Behind the middle of a window that is not the last, what follows could change the choice.
        const std::size_t most = is_last ? std::max(rows.size(), columns.size()) : window / 2 + 1;
        std::size_t row = 0;
        std::size_t column = 0;
        while (row < std::min(most, rows.size()) && column < std::min(most, columns.size())) {
            if (rows[row] == columns[column]) {
                places.emplace_back(i + row++, j + column++);
            } else if (common.of(row + 1, column) >= common.of(row, column + 1)) {
                ++row;
            } else {
                ++column;
            }
        }
        i += row;
        j += column;
    }
    return places;
}

}  // namespace trnsim::report
