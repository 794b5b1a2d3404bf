// SPDX-License-Identifier: Apache-2.0
// Accesses to memory that is addressed and not allocated, found by place.
#pragma once

#include "trnsim/lowering/dependencies/access_history.hpp"
#include "trnsim/lowering/dependencies/pending_accesses.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace trnsim::lowering {

/// Who accessed, and who is about to access, an HBM tensor or the bytes of SBUF or PSUM whose
/// addresses a program fixes: too large to search from end to end. Accesses are kept in blocks of
/// bytes, so that one looks only at those near it.
class MemoryHistory {
public:
    struct Block {
        AccessHistory history;
        PendingAccesses pending;
    };

    /// 0: blocks are as long as the first access, and at least 4 KiB.
    explicit MemoryHistory(std::int64_t block_bytes = 0) : block_bytes_(block_bytes) {}

    /// The one block in which a region lies, where it stays; nullptr: it lies in several. Who asks
    /// once may tell each of the following, which look for it otherwise (`only`).
    [[nodiscard]] Block* block_of(const Region& region);

    void collect(const RegionAccess& access, WaitSet& waits, const Block* only = nullptr) const;
    /// `most`: accesses that a block of bytes keeps apart.
    void record(const RegionAccess& access,
                std::size_t most = AccessHistory::kMaxEntries,
                Block* only = nullptr);

    /// A step that is not on its queue yet will access a region,
    void announce(PlannedStep& step, const Region& region, Access access, Block* only = nullptr);
    /// and now it is.
    void withdraw(const PlannedStep& step,
                  const Region& region,
                  Access access,
                  Block* only = nullptr);

    /// Calls f(step) for each announced one that has to come before an access, but for those that
    /// another one of them waits for (PendingAccesses); maybe more than once.
    template <typename F>
    void for_each_before(const Region& region,
                         Access access,
                         F&& f,
                         const Block* only = nullptr) const {
        wide_pending_.for_each_before(region, access, f);
        for_each_block(region, only, [&](const Block& block) {
            block.pending.for_each_before(region, access, f);
        });
    }

private:
    /// Accesses over more blocks than this are kept in a list that every access looks at.
    static constexpr std::int64_t kMaxBlocks = 16;

    struct Blocks {
        std::int64_t first = 0;
        std::int64_t last = 0;
        [[nodiscard]] bool is_wide() const { return last - first >= kMaxBlocks; }
    };
    [[nodiscard]] Blocks blocks_of(const Region& region) const;
    /// Chooses the size of blocks at the first access.
    Blocks make_blocks(const Region& region);

    /// Calls f(block) for all that exist and in which the region may lie.
    template <typename F>
    void for_each_block(const Region& region, const Block* only, F&& f) const {
        if (only != nullptr) {
            return f(*only);
        }
        if (blocks_.empty()) {
            return;
        }
        const Blocks range = blocks_of(region);
        if (range.last - range.first >= static_cast<std::int64_t>(blocks_.size())) {
            for (const auto& [number, block] : blocks_) {
                f(block);
            }
            return;
        }
        for (std::int64_t number = range.first; number <= range.last; ++number) {
            const auto block = blocks_.find(number);
            if (block != blocks_.end()) {
                f(block->second);
            }
        }
    }

    std::int64_t block_bytes_;
    std::unordered_map<std::int64_t, Block> blocks_;
    AccessHistory wide_;
    bool has_wide_ = false;
    PendingAccesses wide_pending_;
};

}  // namespace trnsim::lowering
