// SPDX-License-Identifier: Apache-2.0
// Block-indexed access history.
#include "trnsim/lowering/hbm_history.hpp"

#include <algorithm>

namespace trnsim::lowering {
namespace {

constexpr std::int64_t kLeastBlockBytes = 4096;

}  // namespace

HbmHistory::Blocks HbmHistory::blocks_of(const Region& region) const {
    return {.first = region.begin() / block_bytes_, .last = (region.end() - 1) / block_bytes_};
}

void HbmHistory::collect(const RegionAccess& access, WaitSet& waits) const {
    if (has_wide_) {
        wide_.collect(access, waits);
    }
    if (blocks_.empty()) {
        return;
    }
    const Blocks range = blocks_of(access.region);
    if (range.last - range.first >= static_cast<std::int64_t>(blocks_.size())) {
        for (const auto& [number, block] : blocks_) {
            block.collect(access, waits);
        }
        return;
    }
    for (std::int64_t number = range.first; number <= range.last; ++number) {
        const auto block = blocks_.find(number);
        if (block != blocks_.end()) {
            block->second.collect(access, waits);
        }
    }
}

void HbmHistory::record(const RegionAccess& access) {
    if (block_bytes_ == 0) {
        block_bytes_ = std::max(kLeastBlockBytes, access.region.end() - access.region.begin());
    }
    const Blocks range = blocks_of(access.region);
    if (range.last - range.first >= kMaxBlocks) {
        wide_.record(access);
        has_wide_ = true;
        return;
    }
    for (std::int64_t number = range.first; number <= range.last; ++number) {
        blocks_[number].record(access);
    }
}

}  // namespace trnsim::lowering
