// SPDX-License-Identifier: Apache-2.0
// Links, and the sums of what they lead to.
#include "trnsim/neuron_core/chain_sums.hpp"

#include <algorithm>
#include <utility>

namespace trnsim::neuron_core {

void ChainSums::Amounts::add_to(std::int64_t* sums) const {
    for (std::size_t i = 0; i < kAmounts; ++i) {
        sums[to[i]] += values[i];
    }
}

ChainSums::Place ChainSums::Rows::append(const Rows& others, Place like) {
    const std::size_t place = values.size();
    values.resize(place + width);
    if (like != kNothing) {
        std::copy_n(others.values.data() + like * others.width, others.width, &values[place]);
    }
    return static_cast<Place>(place / width);
}

std::vector<std::uint32_t> ChainSums::count_uses(std::span<Place* const> kept) const {
    std::vector<std::uint32_t> uses(size_);
    for (const Place* event : kept) {
        if (is_link(*event)) {
            ++uses[*event - settled_];
        }
    }
    for (std::size_t i = size_; i > 0; --i) {  // What continues it comes behind it.
        if (uses[i - 1] > 0 && is_link(links_[i - 1].before)) {
            ++uses[links_[i - 1].before - settled_];
        }
    }
    return uses;
}

void ChainSums::settle(std::span<Place* const> kept, std::size_t sums) {
    std::vector<std::uint32_t> uses = count_uses(kept);
    std::vector<Place> row_of(size_);
    Rows rows{.values = {}, .width = sums};
    rows.values.reserve(kept.size() * sums);
    for (std::size_t i = 0; i < size_; ++i) {
        if (uses[i] == 0) {
            continue;
        }
        const Place before = links_[i].before;
        if (!is_link(before)) {
            row_of[i] = rows.append(rows_, before);
        } else if (--uses[before - settled_] == 0) {  // Nobody else needs its row.
            row_of[i] = row_of[before - settled_];
        } else {
            row_of[i] = rows.append(rows, row_of[before - settled_]);
        }
        links_[i].amounts.add_to(&rows.values[row_of[i] * sums]);
    }
    for (Place* event : kept) {
        *event = is_link(*event) ? row_of[*event - settled_] : rows.append(rows_, *event);
    }
    rows_ = std::move(rows);
    settled_ = rows_.values.size() / sums;
    size_ = 0;
}

std::vector<std::int64_t> ChainSums::along(Place event, std::size_t sums) const {
    std::vector<std::int64_t> result(sums);
    for (; is_link(event); event = links_[event - settled_].before) {
        links_[event - settled_].amounts.add_to(result.data());
    }
    if (event != kNothing) {
        const std::int64_t* row = rows_.values.data() + event * rows_.width;
        std::transform(row, row + rows_.width, result.begin(), result.begin(), std::plus{});
    }
    return result;
}

}  // namespace trnsim::neuron_core
