// SPDX-License-Identifier: Apache-2.0
// Which steps of a window come before another.
#include "trnsim/lowering/dependencies/pending_accesses.hpp"

#include "queues.hpp"
#include "random_accesses.hpp"
#include "trnsim/lowering/order/planned_step.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

namespace trnsim::lowering {
namespace {

using test::dense;
using test::kTen;

Region bytes_from(std::int64_t byte, const RegionShape& shape = kTen, std::int32_t partition = 0) {
    return Region(shape, partition, byte);
}

/// Whether an access has to come after one of the first kind to the same ten bytes.
bool comes_after(Access first, Access second) {
    PlannedStep step;
    PendingAccesses pending;
    pending.add(step, step.order, bytes_from(0), first);
    bool is_found = false;
    pending.for_each_before(bytes_from(0), second, [&](const PlannedStep& before) {
        EXPECT_EQ(&before, &step);
        is_found = true;
    });
    return is_found;
}

TEST(PendingAccessesTest, ReadsPassOneAnother) {
    EXPECT_FALSE(comes_after(Access::Read, Access::Read));
}

TEST(PendingAccessesTest, AWriteKeepsItsPlaceAmongAllOthers) {
    for (const Access other : {Access::Read, Access::Write, Access::Update, Access::Accumulate}) {
        EXPECT_TRUE(comes_after(Access::Write, other));
        EXPECT_TRUE(comes_after(other, Access::Write));
        EXPECT_TRUE(comes_after(Access::Update, other));
        EXPECT_TRUE(comes_after(other, Access::Update));
    }
}

TEST(PendingAccessesTest, AdditionsPassOneAnotherButNoRead) {
    EXPECT_FALSE(comes_after(Access::Accumulate, Access::Accumulate));
    EXPECT_TRUE(comes_after(Access::Accumulate, Access::Read));
    EXPECT_TRUE(comes_after(Access::Read, Access::Accumulate));
}

TEST(PendingAccessesTest, OtherBytesAndOtherPartitionsDoNotMatter) {
    const RegionShape quadrant = dense(10, 32);
    PlannedStep step;
    PendingAccesses pending;
    pending.add(step, step.order, bytes_from(0, quadrant), Access::Write);
    const auto met = [&](const Region& region) {
        int count = 0;
        pending.for_each_before(region, Access::Write, [&](const PlannedStep&) { ++count; });
        return count;
    };
    EXPECT_EQ(met(bytes_from(9, quadrant)), 1);
    EXPECT_EQ(met(bytes_from(10, quadrant)), 0);
    EXPECT_EQ(met(bytes_from(0, quadrant, 32)), 0);
}

TEST(PendingAccessesTest, AStepIsForgottenAccessByAccess) {
    PlannedStep gone;
    PlannedStep stays;
    stays.order = 1;
    PendingAccesses pending;
    EXPECT_TRUE(pending.empty());
    EXPECT_EQ(pending.first(), std::numeric_limits<std::uint64_t>::max());
    pending.add(gone, gone.order, bytes_from(0), Access::Read);
    pending.add(gone, gone.order, bytes_from(5), Access::Write);
    pending.add(stays, stays.order, bytes_from(0), Access::Read);
    EXPECT_EQ(pending.first(), 0U);
    pending.remove(gone, Access::Read);
    EXPECT_EQ(pending.first(), 0U) << "its write is left";
    pending.remove(gone, Access::Write);
    EXPECT_EQ(pending.first(), 1U);
    pending.for_each_before(bytes_from(0), Access::Write, [&](const PlannedStep& before) {
        EXPECT_EQ(&before, &stays);
    });
    pending.for_each_before(bytes_from(0), Access::Read, [&](const PlannedStep&) {
        ADD_FAILURE() << "the write is gone";
    });
    pending.remove(stays, Access::Read);
    EXPECT_TRUE(pending.empty());
}

TEST(PendingAccessesTest, LeavesOutWhatComesBeforeAnOverwriting) {
    std::vector<PlannedStep> steps(4);
    PendingAccesses pending;
    const auto add = [&](std::size_t order, const Region& region, Access access) {
        steps[order].order = order;
        pending.add(steps[order], order, region, access);
    };
    const auto found = [&](const Region& region, Access access) {
        std::vector<std::uint64_t> orders;
        pending.for_each_before(
            region, access, [&](const PlannedStep& step) { orders.push_back(step.order); });
        std::ranges::sort(orders);
        return orders;
    };
    using Orders = std::vector<std::uint64_t>;
    add(0, bytes_from(0), Access::Write);
    add(1, bytes_from(0), Access::Read);
    add(2, bytes_from(0), Access::Write);
    add(3, bytes_from(0), Access::Accumulate);
    EXPECT_EQ(found(bytes_from(0), Access::Read), (Orders{2, 3}));
    EXPECT_EQ(found(bytes_from(0), Access::Write), (Orders{2, 3})) << "an addition overwrites none";
    EXPECT_EQ(found(bytes_from(0), Access::Accumulate), (Orders{2}));
    EXPECT_EQ(found(bytes_from(5), Access::Write), (Orders{0, 1, 2, 3})) << "of five bytes only";
}

TEST(PendingAccessesTest, FindsWhoeverAMapOfBytesFinds) {
    constexpr std::int64_t kSpan = 200;
    constexpr std::int64_t kMostElements = 20;
    const test::ByteMap map(4096);
    for (unsigned seed = 0; seed < 20; ++seed) {
        test::AccessDice dice(seed, kSpan, kMostElements);
        std::vector<RegionAccess> earlier;
        std::vector<PlannedStep> steps(12);
        std::vector<std::set<std::uint64_t>> come_before(steps.size());
        PendingAccesses pending;
        for (PlannedStep& step : steps) {
            const RegionAccess next = dice.next();
            step.order = earlier.size();
            std::set<std::uint64_t>& found = come_before[step.order];
            pending.for_each_before(next.region, next.access, [&](const PlannedStep& before) {
                EXPECT_TRUE(found.insert(before.order).second) << "seed " << seed;
            });
            for (const std::uint64_t order : std::set<std::uint64_t>(found)) {
                found.insert(come_before[order].begin(), come_before[order].end());
            }
            for (std::size_t i = 0; i < earlier.size(); ++i) {
                const RegionAccess& before = earlier[i];
                const bool both_read = before.access == Access::Read && next.access == Access::Read;
                const bool both_add =
                    before.access == Access::Accumulate && next.access == Access::Accumulate;
                if (!both_read && !both_add && map.meet(before, next)) {
                    EXPECT_TRUE(found.contains(i)) << "seed " << seed;
                }
            }
            pending.add(step, step.order, next.region, next.access);
            earlier.push_back(next);
        }
    }
}

}  // namespace
}  // namespace trnsim::lowering
