// SPDX-License-Identifier: Apache-2.0
// Accesses to a tile by steps that are not on their queues yet.
#pragma once

#include "trnsim/lowering/region.hpp"

#include <cstddef>
#include <vector>

namespace trnsim::lowering {

struct PlannedStep;

/// What the steps of a reordering window will do to one tile, or to one HBM tensor.
class PendingAccesses {
public:
    [[nodiscard]] bool empty() const { return entries_.empty(); }

    void add(PlannedStep& step, const Region& region, Access access) {
        entries_.push_back({.step = &step, .region = region, .access = access});
    }

    void remove(const PlannedStep& step) {
        for (std::size_t i = entries_.size(); i-- > 0;) {
            if (entries_[i].step == &step) {
                entries_[i] = entries_.back();
                entries_.pop_back();
            }
        }
    }

    /// Calls f(step) for each.
    template <typename F>
    void for_each(F&& f) const {
        for (const Entry& entry : entries_) {
            f(*entry.step);
        }
    }

    /// Calls f(step) for each that has to come before an access: the bytes meet and one of the two
    /// writes. Additions into PSUM may come in any order.
    template <typename F>
    void for_each_before(const Region& region, Access access, F&& f) const {
        for (const Entry& entry : entries_) {
            const bool both_read = access == Access::Read && entry.access == Access::Read;
            const bool both_add =
                access == Access::Accumulate && entry.access == Access::Accumulate;
            if (!both_read && !both_add && overlap(entry.region, region)) {
                f(*entry.step);
            }
        }
    }

private:
    struct Entry {
        PlannedStep* step = nullptr;
        Region region;
        Access access = Access::Read;
    };
    std::vector<Entry> entries_;
};

}  // namespace trnsim::lowering
