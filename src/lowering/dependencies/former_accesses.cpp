// SPDX-License-Identifier: Apache-2.0
// Ranges in order of address, with shared summaries.
#include "trnsim/lowering/dependencies/former_accesses.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace trnsim::lowering {

std::uint32_t FormerAccesses::new_summary() {
    if (unused_.empty()) {
        summaries_.emplace_back();
        return static_cast<std::uint32_t>(summaries_.size() - 1);
    }
    const std::uint32_t summary = unused_.back();
    unused_.pop_back();
    summaries_[summary].waits.clear();
    return summary;
}

void FormerAccesses::give_back(std::int64_t begin, std::int64_t end, const AccessHistory& history) {
    const std::uint32_t summary = new_summary();
    history.collect_all(summaries_[summary].waits);
    summaries_[summary].ranges = 1;
    const auto behind = std::ranges::upper_bound(ranges_, begin, {}, &Range::begin);
    ranges_.insert(
        behind,
        {.begin = static_cast<Byte>(begin), .end = static_cast<Byte>(end), .summary = summary});
}

void FormerAccesses::take(std::int64_t begin, std::int64_t end, WaitSet& waits) {
    const auto first = std::ranges::upper_bound(ranges_, begin, {}, &Range::end);
    auto last = first;
    std::array<Range, 2> left{};  // Before and behind what is taken.
    std::size_t left_count = 0;
    for (; last != ranges_.end() && last->begin < end; ++last) {
        Summary& summary = summaries_[last->summary];
        if (last == first || last->summary != std::prev(last)->summary) {
            waits.need(summary.waits);
        }
        if (last->begin < begin) {
            left[left_count++] = {
                .begin = last->begin, .end = static_cast<Byte>(begin), .summary = last->summary};
            ++summary.ranges;
        }
        if (end < last->end) {
            left[left_count++] = {
                .begin = static_cast<Byte>(end), .end = last->end, .summary = last->summary};
            ++summary.ranges;
        }
        if (--summary.ranges == 0) {
            unused_.push_back(last->summary);
        }
    }
    const auto taken = static_cast<std::size_t>(last - first);
    const std::size_t kept = std::min(taken, left_count);
    const auto rest = std::copy_n(left.begin(), kept, first);
    if (left_count > taken) {
        ranges_.insert(rest, left[kept]);
    } else {
        ranges_.erase(rest, last);
    }
}

}  // namespace trnsim::lowering
