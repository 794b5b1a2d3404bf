// SPDX-License-Identifier: Apache-2.0
// The lowest slot that is free in time, a new one, or one that is free later.
#include "trnsim/lowering/loads/planned_slots.hpp"

#include <gtest/gtest.h>

namespace trnsim::lowering {
namespace {

TEST(PlannedSlotsTest, AreAsManyAsAreUsedAtOnce) {
    PlannedSlots slots;
    EXPECT_EQ(slots.take(0), 0);
    EXPECT_EQ(slots.take(0), 1);
    slots.release(0, 10);
    slots.release(1, 5);
    EXPECT_EQ(slots.take(10), 0) << "the lowest";
    EXPECT_EQ(slots.take(10), 1);
    EXPECT_EQ(slots.size(), 2);
}

TEST(PlannedSlotsTest, GrowWhereNoneIsFreeInTime) {
    PlannedSlots slots;
    EXPECT_EQ(slots.take(0), 0);
    slots.release(0, 10);
    EXPECT_EQ(slots.take(9), 1);
    EXPECT_EQ(slots.take(10), 0);
}

TEST(PlannedSlotsTest, AtTheirLimitAreTakenAheadOfTheirTime) {
    PlannedSlots slots;
    slots.limit(1);
    EXPECT_EQ(slots.take(0), 0);
    EXPECT_EQ(slots.take(0), PlannedSlots::kNone);
    slots.release(0, 10);
    EXPECT_EQ(slots.take(9), 0);
    EXPECT_EQ(slots.size(), 1);
}

}  // namespace
}  // namespace trnsim::lowering
