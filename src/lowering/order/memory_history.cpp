// SPDX-License-Identifier: Apache-2.0
// Block-indexed access history.
#include "trnsim/lowering/order/memory_history.hpp"

#include "trnsim/lowering/order/planned_step.hpp"

#include <algorithm>

namespace trnsim::lowering {
namespace {

constexpr std::int64_t kLeastBlockBytes = 4096;

}  // namespace

MemoryHistory::Blocks MemoryHistory::blocks_of(const Region& region) const {
    return {.first = region.begin() / block_bytes_, .last = (region.end() - 1) / block_bytes_};
}

MemoryHistory::Blocks MemoryHistory::make_blocks(const Region& region) {
    if (block_bytes_ == 0) {
        block_bytes_ = std::max(kLeastBlockBytes, region.end() - region.begin());
    }
    return blocks_of(region);
}

MemoryHistory::Block* MemoryHistory::block_of(const Region& region) {
    const Blocks range = make_blocks(region);
    return range.first == range.last ? &blocks_[range.first] : nullptr;
}

void MemoryHistory::collect(const RegionAccess& access, WaitSet& waits, const Block* only) const {
    if (has_wide_) {
        wide_.collect(access, waits);
    }
    for_each_block(
        access.region, only, [&](const Block& block) { block.history.collect(access, waits); });
}

void MemoryHistory::record(const RegionAccess& access, std::size_t most, Block* only) {
    if (only != nullptr) {
        return only->history.record(access, most);
    }
    const Blocks range = make_blocks(access.region);
    if (range.is_wide()) {
        wide_.record(access, most);
        has_wide_ = true;
        return;
    }
    for (std::int64_t number = range.first; number <= range.last; ++number) {
        blocks_[number].history.record(access, most);
    }
}

void MemoryHistory::announce(PlannedStep& step, const Region& region, Access access, Block* only) {
    if (only != nullptr) {
        return only->pending.add(step, step.order, region, access);
    }
    const Blocks range = make_blocks(region);
    if (range.is_wide()) {
        wide_pending_.add(step, step.order, region, access);
        return;
    }
    for (std::int64_t number = range.first; number <= range.last; ++number) {
        blocks_[number].pending.add(step, step.order, region, access);
    }
}

void MemoryHistory::withdraw(const PlannedStep& step,
                             const Region& region,
                             Access access,
                             Block* only) {
    if (only != nullptr) {
        return only->pending.remove(step, access);
    }
    const Blocks range = blocks_of(region);
    if (range.is_wide()) {
        wide_pending_.remove(step, access);
        return;
    }
    for (std::int64_t number = range.first; number <= range.last; ++number) {
        blocks_[number].pending.remove(step, access);
    }
}

}  // namespace trnsim::lowering
