// SPDX-License-Identifier: Apache-2.0
// Dependencies by region.
#include "trnsim/lowering/dependencies/access_history.hpp"

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

void AccessHistory::collect_everywhere(const RegionAccess& access, WaitSet& waits) const {
    const std::uint32_t own = 1U << access.queue;
    const std::uint32_t others = access.lanes.partition == Lanes::kInOrder ? ~own : ~0U;
    const std::uint32_t done_queues = has_flow(access.access) ? ~0U : others;
    const std::uint32_t read_queues = access.access != Access::Read ? others : 0U;
    if (waits.knows(former_, done_queues, read_queues) &&
        waits.knows(merged_, done_queues, read_queues)) {
        known_by_[static_cast<std::size_t>(access.access)] |= own;
    } else {
        waits.need(former_, done_queues, read_queues);
        waits.need(merged_, done_queues, read_queues);
    }
}

void AccessHistory::collect(const RegionAccess& access, WaitSet& waits) const {
    const bool is_flow = has_flow(access.access);
    if ((known_by_[static_cast<std::size_t>(access.access)] >> access.queue & 1U) == 0) {
        collect_everywhere(access, waits);
    }
    for (const Entry& write : writes_) {
        if ((is_flow || !is_in_order(write, access)) &&
            waits.lacks_done(write.queue, write.number) && overlap(write.region, access.region)) {
            waits.need_done(write.queue, write.number);
        }
    }
    if (access.access == Access::Read) {
        return;
    }
    for (const Entry& read : reads_) {
        if (!is_in_order(read, access) && waits.lacks_read(read.queue, read.number) &&
            overlap(read.region, access.region)) {
            waits.need_read(read.queue, read.number);
        }
    }
}

bool AccessHistory::is_in_order(const Entry& earlier, const RegionAccess& access) {
    if (earlier.queue != access.queue || access.lanes.partition == Lanes::kInOrder) {
        return earlier.queue == access.queue;
    }
    return earlier.lanes == access.lanes && access.lanes.partition != Lanes::kNowhere &&
           (access.lanes.row_bytes > 0 ||
            (contains(earlier.region, access.region) && contains(access.region, earlier.region)));
}

void AccessHistory::record(const RegionAccess& access, std::size_t most) {
    const bool writes = access.access != Access::Read;
    reads_.erase_if([&](const Entry& read) {
        const bool is_of_queue = read.queue == access.queue && read.lanes == access.lanes;
        return (writes || is_of_queue) && contains(access.region, read.region);
    });
    if (writes) {
        is_written_ = true;
        writes_.erase_if([&](const Entry& write) { return contains(access.region, write.region); });
    }
    Entry& entry = (writes ? writes_ : reads_).emplace_back();
    entry.region = access.region;
    entry.number = access.number;
    entry.queue = access.queue;
    entry.lanes = access.lanes;
    entry.age = recorded_++;
    if (is_longer_than(most)) {
        merge_oldest();
    }
}

void AccessHistory::collect_all(WaitSet& waits) const {
    if (!is_written_) {
        waits.need(former_);
    }
    waits.need(merged_);
    for (const Entry& write : writes_) {
        waits.need_done(write.queue, write.number);
    }
    for (const Entry& read : reads_) {
        waits.need_read(read.queue, read.number);
    }
}

void AccessHistory::clear() {
    former_.clear();
    merged_.clear();
    is_written_ = false;
    reads_.clear();
    writes_.clear();
    recorded_ = 0;
}

void AccessHistory::merge_oldest() {
    known_by_ = {};
    // What is merged already is older than all entries.
    const std::size_t half = (merged_size() + size()) / 2;
    const Entry* read = reads_.begin();
    const Entry* write = writes_.begin();
    for (std::size_t left = half - std::min(half, merged_size()); left > 0; --left) {
        if (read == reads_.end() || (write != writes_.end() && write->age < read->age)) {
            merged_.need_done(write->queue, write->number);
            ++write;
        } else {
            merged_.need_read(read->queue, read->number);
            ++read;
        }
    }
    reads_.erase(reads_.begin(), read);
    writes_.erase(writes_.begin(), write);
}

}  // namespace trnsim::lowering
