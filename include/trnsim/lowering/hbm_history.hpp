// SPDX-License-Identifier: Apache-2.0
// Accesses to one HBM tensor, found by place.
#pragma once

#include "trnsim/lowering/access_history.hpp"
#include "trnsim/lowering/pending_accesses.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace trnsim::lowering {

/// An AccessHistory for a tensor too large to search from end to end: accesses are kept in blocks
/// of bytes, so that one looks only at those near it.
class HbmHistory {
public:
    void collect(const RegionAccess& access, WaitSet& waits) const;
    void record(const RegionAccess& access);

    /// Accesses by steps that are not on their queues yet.
    [[nodiscard]] PendingAccesses& pending() { return pending_; }

private:
    /// Accesses over more blocks than this are kept in a list that every access looks at.
    static constexpr std::int64_t kMaxBlocks = 16;

    struct Blocks {
        std::int64_t first = 0;
        std::int64_t last = 0;
    };
    [[nodiscard]] Blocks blocks_of(const Region& region) const;

    std::int64_t block_bytes_ = 0;  ///< Span of the first access, at least 4 KiB.
    std::unordered_map<std::int64_t, AccessHistory> blocks_;
    AccessHistory wide_;
    bool has_wide_ = false;
    PendingAccesses pending_;
};

}  // namespace trnsim::lowering
