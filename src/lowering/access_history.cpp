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

void WaitSet::need(const WaitSet& other) {
    for (std::uint32_t left = other.queues_; left != 0; left &= left - 1) {
        const auto queue = static_cast<std::size_t>(std::countr_zero(left));
        needs_[queue].done = std::max(needs_[queue].done, other.needs_[queue].done);
        needs_[queue].read = std::max(needs_[queue].read, other.needs_[queue].read);
    }
    queues_ |= other.queues_;
}

void WaitSet::need_read(QueueId queue, std::uint64_t number) {
    queues_ |= 1U << queue;
    needs_[queue].read = std::max(needs_[queue].read, number);
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
    for (const Last& last : writes_everywhere_) {
        if (is_flow || last.queue != access.queue) {
            waits.need_done(last.queue, last.number);
        }
    }
    if (writes) {
        for (const Last& last : reads_everywhere_) {
            if (last.queue != access.queue) {
                waits.need_read(last.queue, last.number);
            }
        }
    }
    for (const Entry& entry : entries_) {
        const bool is_own = entry.last.queue == access.queue;
        const bool matters = entry.last.is_write ? !is_own || is_flow : writes && !is_own;
        if (matters && overlap(entry.region, access.region)) {
            entry.last.add_to(waits);
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
    if (merged_size() + entries_.size() > kMaxEntries) {
        merge_oldest();
    }
}

void AccessHistory::collect_all(WaitSet& waits) const {
    for (const std::vector<Last>* merged : {&writes_everywhere_, &reads_everywhere_}) {
        for (const Last& last : *merged) {
            last.add_to(waits);
        }
    }
    for (const Entry& entry : entries_) {
        entry.last.add_to(waits);
    }
}

void AccessHistory::inherit(const WaitSet& all) {
    const bool is_new = merged_size() == 0;
    const auto add = [&](std::vector<Last>& merged, const Last& last) {
        if (is_new) {
            merged.push_back(last);
        } else {
            add_everywhere(last);
        }
    };
    for (std::uint32_t left = all.queues(); left != 0; left &= left - 1) {
        const auto queue = static_cast<QueueId>(std::countr_zero(left));
        const WaitSet::Need& need = all[queue];
        if (need.done > 0) {
            add(writes_everywhere_, {.number = need.done, .queue = queue, .is_write = true});
        }
        if (need.read > 0) {
            add(reads_everywhere_, {.number = need.read, .queue = queue, .is_write = false});
        }
    }
}

void AccessHistory::clear() {
    writes_everywhere_.clear();
    reads_everywhere_.clear();
    entries_.clear();
}

void AccessHistory::add_everywhere(const Last& last) {
    std::vector<Last>& merged = last.is_write ? writes_everywhere_ : reads_everywhere_;
    const auto same = std::ranges::find(merged, last.queue, &Last::queue);
    if (same == merged.end()) {
        merged.push_back(last);
    } else {
        same->number = std::max(same->number, last.number);
    }
}

void AccessHistory::merge_oldest() {
    // What is merged already is older than all entries.
    const std::size_t half = (merged_size() + entries_.size()) / 2;
    const std::size_t more = half > merged_size() ? half - merged_size() : 0;
    const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(more);
    std::for_each(
        entries_.begin(), end, [this](const Entry& entry) { add_everywhere(entry.last); });
    entries_.erase(entries_.begin(), end);
}

}  // namespace trnsim::lowering
