// SPDX-License-Identifier: Apache-2.0
// Accesses to a tile by steps that are not on their queues yet.
#pragma once

#include "trnsim/base/ring_buffer.hpp"
#include "trnsim/lowering/dependencies/region.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace trnsim::lowering {

struct PlannedStep;

/// What the steps of a reordering window will do to one tile, or to one HBM tensor, in their order.
class PendingAccesses {
public:
    [[nodiscard]] bool empty() const { return reads_.empty() && writes_.empty(); }

    /// Place in the program of the earliest step; beyond all if there is none.
    [[nodiscard]] std::uint64_t first() const { return first_; }

    /// `order`: its place in the program. \pre no later step has been added
    void add(PlannedStep& step, std::uint64_t order, const Region& region, Access access) {
        Entry& entry = of(access).append();
        entry.step = &step;
        entry.order = order;
        entry.region = region;
        entry.access = access;
        first_ = std::min(first_, order);
        additions_ += access == Access::Accumulate ? 1U : 0U;
    }

    /// Forgets one access of a step; usually near the front. \pre it was added
    void remove(const PlannedStep& step, Access access) {
        Entries& entries = of(access);
        std::size_t place = 0;
        while (entries[place].step != &step || entries[place].access != access) {
            ++place;
        }
        entries.erase(place);
        if (place == 0) {
            first_ = std::min(first_of(reads_), first_of(writes_));
        }
        additions_ -= access == Access::Accumulate ? 1U : 0U;
    }

    /// Calls f(step) for each access.
    template <typename F>
    void for_each(F&& f) const {
        reads_.for_each([&f](const Entry& entry) { f(*entry.step); });
        writes_.for_each([&f](const Entry& entry) { f(*entry.step); });
    }

    /// Calls f(step) for those that have to come before an access: the bytes meet and one of the
    /// two writes. Additions into PSUM may come in any order. Left out is what comes before an
    /// overwriting of all the bytes, since that has to wait for it already.
    template <typename F>
    void for_each_before(const Region& region, Access access, F&& f) const {
        const bool adds = access == Access::Accumulate;
        std::uint64_t overwritten = 0;  ///< By the step of this order.
        for (std::size_t i = adds && additions_ == writes_.size() ? 0 : writes_.size(); i > 0;
             --i) {
            const Entry& entry = writes_[i - 1];
            if ((adds && entry.access == access) || !overlap(entry.region, region)) {
                continue;
            }
            f(*entry.step);
            if (entry.access != Access::Accumulate && contains(entry.region, region)) {
                overwritten = entry.order;
                break;
            }
        }
        if (access == Access::Read) {
            return;
        }
        for (std::size_t i = reads_.size(); i > 0 && reads_[i - 1].order >= overwritten; --i) {
            if (overlap(reads_[i - 1].region, region)) {
                f(*reads_[i - 1].step);
            }
        }
    }

private:
    struct Entry {
        PlannedStep* step = nullptr;
        std::uint64_t order = 0;
        Region region;
        Access access = Access::Read;
    };
    using Entries = RingBuffer<Entry, 2>;

    static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

    [[nodiscard]] static std::uint64_t first_of(const Entries& entries) {
        return entries.empty() ? kNone : entries.front().order;
    }
    [[nodiscard]] Entries& of(Access access) { return access == Access::Read ? reads_ : writes_; }

    std::uint64_t first_ = kNone;
    std::size_t additions_ = 0;  ///< Into PSUM, of the writes.
    Entries reads_;
    Entries writes_;
};

}  // namespace trnsim::lowering
