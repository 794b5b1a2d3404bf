// SPDX-License-Identifier: Apache-2.0
// The slot that has been free for longest in time, a new one, or one that is free later.
#include "trnsim/lowering/loads/planned_slots.hpp"

#include <gtest/gtest.h>

namespace trnsim::lowering {
namespace {

/// A tile comes and goes: its slot.
std::int64_t used(PlannedSlots& slots, std::int64_t from, std::int64_t until) {
    const std::int64_t slot = slots.take(from, 0);
    EXPECT_TRUE(slots.begin(slot));
    slots.end(slot, {.time = until, .step = 0});
    slots.release(slot);
    return slot;
}

TEST(PlannedSlotsTest, AreAsManyAsAreUsedAtOnce) {
    PlannedSlots slots;
    EXPECT_EQ(used(slots, 0, 10), 0);
    EXPECT_EQ(used(slots, 0, 5), 1);
    EXPECT_EQ(used(slots, 10, 20), 1) << "free for longer";
    EXPECT_EQ(used(slots, 10, 20), 0);
    EXPECT_EQ(slots.size(), 2);
}

TEST(PlannedSlotsTest, AreTakenInTurn) {
    PlannedSlots slots;
    for (std::int64_t tile = 0; tile < 12; ++tile) {
        EXPECT_EQ(used(slots, 10 * tile, 10 * tile + 25), tile % 3);
    }
    EXPECT_EQ(used(slots, 112, 138), 3) << "too early for the first one";
    for (std::int64_t tile = 13; tile < 21; ++tile) {
        EXPECT_EQ(used(slots, 10 * tile, 10 * tile + 25), (tile - 13) % 4)
            << "all four from then on";
    }
}

TEST(PlannedSlotsTest, GrowWhereNoneIsFreeInTime) {
    PlannedSlots slots;
    EXPECT_EQ(used(slots, 0, 10), 0);
    EXPECT_EQ(used(slots, 9, 20), 1);
    EXPECT_EQ(used(slots, 10, 20), 0);
}

TEST(PlannedSlotsTest, AreTakenOnPaperBeforeTheyAreReleased) {
    PlannedSlots slots;
    ASSERT_EQ(slots.take(0, 1), 0);
    EXPECT_TRUE(slots.begin(0));
    slots.end(0, {.time = 10, .step = 5});
    EXPECT_EQ(slots.take(10, 6), 0);
    EXPECT_FALSE(slots.begin(0)) << "the first tile still has it";
    slots.release(0);
    EXPECT_TRUE(slots.begin(0));
}

TEST(PlannedSlotsTest, AreNotTakenFromATileThatALaterStepUses) {
    PlannedSlots slots;
    ASSERT_EQ(slots.take(0, 1), 0);
    EXPECT_TRUE(slots.begin(0));
    slots.end(0, {.time = 10, .step = 5});
    EXPECT_EQ(slots.take(10, 5), 1) << "it would wait for its own reader";
    slots.release(0);
    EXPECT_EQ(slots.take(10, 5), 0) << "that step has its place by now";
}

TEST(PlannedSlotsTest, AreNotTakenBeforeTheirEndIsKnown) {
    PlannedSlots slots;
    ASSERT_EQ(slots.take(0, 1), 0);
    EXPECT_EQ(slots.take(1'000, 2), 1);
}

TEST(PlannedSlotsTest, AtTheirLimitAreTakenAheadOfTheirTime) {
    PlannedSlots slots;
    slots.limit(1);
    ASSERT_EQ(slots.take(0, 1), 0);
    EXPECT_TRUE(slots.begin(0));
    EXPECT_EQ(slots.take(0, 2), PlannedSlots::kNone);
    slots.end(0, {.time = 10, .step = 1});
    EXPECT_EQ(slots.take(9, 2), PlannedSlots::kNone);
    slots.release(0);
    EXPECT_EQ(slots.take(9, 2), 0);
    EXPECT_EQ(slots.size(), 1);
}

}  // namespace
}  // namespace trnsim::lowering
