// SPDX-License-Identifier: Apache-2.0
// Dependencies by region.
#include "trnsim/lowering/access_history.hpp"

#include <algorithm>
#include <bit>

namespace trnsim::lowering {

using neuron_core::QueueId;

namespace {

/// Whether it reads what was written before.
bool has_flow(Access access) {
    return access == Access::Read || access == Access::Update;
}

}  // namespace

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

void AccessHistory::collect_everywhere(const RegionAccess& access, WaitSet& waits) const {
    const std::uint32_t own = 1U << access.queue;
    const std::uint32_t done_queues = has_flow(access.access) ? ~0U : ~own;
    const std::uint32_t read_queues = access.access != Access::Read ? ~own : 0U;
    if (waits.knows(everywhere_, done_queues, read_queues)) {
        known_by_[static_cast<std::size_t>(access.access)] |= own;
    } else {
        waits.need(everywhere_, done_queues, read_queues);
    }
}

void AccessHistory::collect(const RegionAccess& access, WaitSet& waits) const {
    const bool is_flow = has_flow(access.access);
    const bool writes = access.access != Access::Read;
    if ((known_by_[static_cast<std::size_t>(access.access)] >> access.queue & 1U) == 0) {
        collect_everywhere(access, waits);
    }
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
    known_by_ = {};
    entries_.clear();
}

void AccessHistory::merge_oldest() {
    known_by_ = {};
    // What is merged already is older than all entries.
    const std::size_t half = (merged_size() + entries_.size()) / 2;
    const std::size_t more = half > merged_size() ? half - merged_size() : 0;
    const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(more);
    std::for_each(
        entries_.begin(), end, [this](const Entry& entry) { entry.last.add_to(everywhere_); });
    entries_.erase(entries_.begin(), end);
}

}  // namespace trnsim::lowering
