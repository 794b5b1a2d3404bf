// SPDX-License-Identifier: Apache-2.0
// Dependencies by region.
#include "trnsim/lowering/access_history.hpp"

#include <algorithm>
#include <bit>

namespace trnsim::lowering {

using neuron_core::QueueId;

void WaitSet::clear() {
    for (; queues_ != 0; queues_ &= queues_ - 1) {
        needs_[static_cast<std::size_t>(std::countr_zero(queues_))] = Need{};
    }
}

void WaitSet::need_done(QueueId queue, std::uint64_t number) {
    queues_ |= 1U << queue;
    needs_[queue].done = std::max(needs_[queue].done, number);
}

void WaitSet::need_read(QueueId queue, std::uint64_t number) {
    queues_ |= 1U << queue;
    needs_[queue].read = std::max(needs_[queue].read, number);
}

void AccessHistory::collect(const RegionAccess& access, WaitSet& waits) const {
    const bool reads = access.access != Access::Write;
    const bool writes = access.access != Access::Read;
    for (const Entry& entry : entries_) {
        const bool is_own = entry.queue == access.queue;
        const bool is_flow =
            reads && entry.is_write && !(is_own && access.access == Access::Accumulate);
        const bool is_output = writes && entry.is_write && !is_own;
        const bool is_anti = writes && !entry.is_write && !is_own;
        if (!is_flow && !is_output && !is_anti) {
            continue;
        }
        if (entry.region.shape != nullptr && !overlap(entry.region, access.region)) {
            continue;
        }
        if (is_anti) {
            waits.need_read(entry.queue, entry.number);
        } else {
            waits.need_done(entry.queue, entry.number);
        }
    }
}

void AccessHistory::record(const RegionAccess& access) {
    const bool writes = access.access != Access::Read;
    std::erase_if(entries_, [&](const Entry& entry) {
        const bool is_superseded = writes || (!entry.is_write && entry.queue == access.queue);
        return is_superseded && entry.region.shape != nullptr &&
               contains(access.region, entry.region);
    });
    entries_.push_back({.region = access.region,
                        .is_write = writes,
                        .queue = access.queue,
                        .number = access.number});
    if (entries_.size() > kMaxEntries) {
        merge_oldest();
    }
}

void AccessHistory::inherit(const AccessHistory& other) {
    for (const Entry& entry : other.entries_) {
        add_everywhere(entry.is_write, entry.queue, entry.number);
    }
}

void AccessHistory::add_everywhere(bool is_write, QueueId queue, std::uint64_t number) {
    for (Entry& entry : entries_) {
        if (entry.region.shape == nullptr && entry.is_write == is_write && entry.queue == queue) {
            entry.number = std::max(entry.number, number);
            return;
        }
    }
    entries_.insert(entries_.begin(),
                    {.region = Region{}, .is_write = is_write, .queue = queue, .number = number});
}

void AccessHistory::merge_oldest() {
    std::vector<Entry> old;
    const auto half = entries_.begin() + static_cast<std::ptrdiff_t>(entries_.size() / 2);
    old.assign(entries_.begin(), half);
    entries_.erase(entries_.begin(), half);
    for (const Entry& entry : old) {
        add_everywhere(entry.is_write, entry.queue, entry.number);
    }
}

}  // namespace trnsim::lowering
