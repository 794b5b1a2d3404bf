// SPDX-License-Identifier: Apache-2.0
// Dependencies by region.
#include "trnsim/lowering/access_history.hpp"

#include <algorithm>
#include <bit>

namespace trnsim::lowering {

using neuron_core::QueueId;

bool AccessHistory::Last::is_new_to(const WaitSet& waits) const {
    return is_write ? waits.lacks_done(queue, number) : waits.lacks_read(queue, number);
}

void AccessHistory::Last::add_to(WaitSet& waits) const {
    if (is_write) {
        waits.need_done(queue, number);
    } else {
        waits.need_read(queue, number);
    }
}

void AccessHistory::collect(const RegionAccess& access, WaitSet& waits) const {
    const bool is_flow = access.access == Access::Read || access.access == Access::Update;
    const bool writes = access.access != Access::Read;
    const std::uint32_t others = ~(1U << access.queue);
    waits.need(everywhere_, is_flow ? ~0U : others, writes ? others : 0U);
    for (const Entry& entry : entries_) {
        const Last& last = entry.last;
        const bool is_own = last.queue == access.queue;
        const bool matters = last.is_write ? !is_own || is_flow : writes && !is_own;
        if (matters && last.is_new_to(waits) && overlap(entry.region, access.region)) {
            last.add_to(waits);
        }
    }
}

void AccessHistory::record(const RegionAccess& access) {
    const bool writes = access.access != Access::Read;
    std::erase_if(entries_, [&](const Entry& entry) {
        const bool is_superseded =
            writes || (!entry.last.is_write && entry.last.queue == access.queue);
        return is_superseded && contains(access.region, entry.region);
    });
    entries_.push_back(
        {.region = access.region,
         .last = {.number = access.number, .queue = access.queue, .is_write = writes}});
    if (is_too_long()) {
        merge_oldest();
    }
}

void AccessHistory::collect_all(WaitSet& waits) const {
    waits.need(everywhere_);
    for (const Entry& entry : entries_) {
        entry.last.add_to(waits);
    }
}

void AccessHistory::clear() {
    everywhere_.clear();
    entries_.clear();
}

void AccessHistory::merge_oldest() {
    // What is merged already is older than all entries.
    const std::size_t half = (merged_size() + entries_.size()) / 2;
    const std::size_t more = half > merged_size() ? half - merged_size() : 0;
    const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(more);
    std::for_each(
        entries_.begin(), end, [this](const Entry& entry) { entry.last.add_to(everywhere_); });
    entries_.erase(entries_.begin(), end);
}

}  // namespace trnsim::lowering
