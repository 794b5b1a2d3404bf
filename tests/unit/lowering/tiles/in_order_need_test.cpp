// SPDX-License-Identifier: Apache-2.0
// Who may take bytes of a full memory ahead of its turn.
#include "trnsim/lowering/tiles/in_order_need.hpp"

#include <gtest/gtest.h>

namespace trnsim::lowering {
namespace {

/// A memory of 100 bytes.
class InOrderNeedTest : public testing::Test {
protected:
    InOrderNeed need_{100};
};

TEST_F(InOrderNeedTest, AStepMayPassThoseThatStillFitBesideIt) {
    need_.admit(60, 0);
    need_.admit(0, 60);
    need_.admit(40, 0);
    EXPECT_TRUE(need_.allows(2, 40));
    EXPECT_FALSE(need_.allows(2, 41));
}

TEST_F(InOrderNeedTest, AStepAtItsTurnMayAlways) {
    need_.admit(90, 0);
    EXPECT_TRUE(need_.allows(0, 90));
    need_.retire(0);
    need_.admit(20, 0);
    EXPECT_TRUE(need_.allows(1, 20)) << "something has to be spilled";
}

TEST_F(InOrderNeedTest, ProgramOrderFitsWhileNoStepInTheWindowNeedsMoreThanThereIs) {
    EXPECT_TRUE(need_.fits());
    need_.admit(100, 30);
    EXPECT_TRUE(need_.fits());
    need_.admit(31, 31);
    EXPECT_FALSE(need_.fits());
    need_.retire(0);
    EXPECT_FALSE(need_.fits());
    need_.retire(1);
    EXPECT_TRUE(need_.fits());
}

TEST_F(InOrderNeedTest, WhatOthersTookAheadOfTheStepsPassedCounts) {
    need_.admit(50, 0);
    need_.admit(30, 0);
    need_.admit(15, 0);
    ASSERT_TRUE(need_.allows(1, 30));
    need_.take(1, 30);
    EXPECT_TRUE(need_.allows(2, 20));
    EXPECT_FALSE(need_.allows(2, 21)) << "50 for the first step and 30 for the second";
}

TEST_F(InOrderNeedTest, WhatAStepTookCountsInItsOwnNeedOnceItIsPassed) {
    need_.admit(10, 0);
    need_.admit(60, 60);
    need_.admit(0, 0);
    need_.admit(80, 0);
    need_.take(1, 60);
    EXPECT_FALSE(need_.allows(3, 80));
    need_.retire(0);
    need_.retire(1);
    EXPECT_TRUE(need_.allows(3, 80)) << "10 bytes are alive at step 2";
}

TEST_F(InOrderNeedTest, AStepThatFreesMoreThanItTakesMayPassAFullOne) {
    need_.admit(70, 0);
    need_.admit(30, 0);
    need_.admit(20, 70);
    EXPECT_TRUE(need_.allows(2, 20));
}

TEST_F(InOrderNeedTest, NothingIsHeldBackWhereProgramOrderDoesNotFitEither) {
    need_.admit(90, 0);
    need_.admit(40, 0);  // 130.
    need_.admit(0, 40);
    need_.admit(40, 0);
    EXPECT_TRUE(need_.allows(3, 40)) << "as much as program order needs";
    EXPECT_FALSE(need_.allows(3, 41)) << "more than that at the first step, which fits";
}

TEST_F(InOrderNeedTest, WhatWasTakenEarlyCountsBesideTilesThatDieBeforeItsTurn) {
    need_.admit(60, 40);
    need_.admit(30, 0);
    need_.admit(10, 0);
    need_.take(1, 30);
    EXPECT_TRUE(need_.allows(2, 10));
    EXPECT_FALSE(need_.allows(2, 11)) << "60 and 30 at the first step";
}

TEST_F(InOrderNeedTest, WhatAStepFreesItMayTake) {
    need_.admit(60, 0);
    need_.admit(40, 20);  // 100.
    need_.admit(20, 60);
    EXPECT_TRUE(need_.allows(2, 60));
    EXPECT_FALSE(need_.allows(2, 61));
}

TEST_F(InOrderNeedTest, AsMuchMayBeTakenAsAStepThatIsPassedNeeds) {
    need_.admit(90, 0);
    need_.admit(40, 90);  // 130.
    need_.admit(40, 0);
    EXPECT_TRUE(need_.allows(2, 40));
    EXPECT_FALSE(need_.allows(2, 41));
}

TEST_F(InOrderNeedTest, AsMuchMayBeTakenAsTheStepItselfNeedsAtItsTurn) {
    need_.admit(60, 0);
    need_.admit(50, 0);  // 110.
    EXPECT_TRUE(need_.allows(1, 50));
    EXPECT_FALSE(need_.allows(1, 51));
}

TEST_F(InOrderNeedTest, StepsMayRetireInAnyOrder) {
    need_.admit(40, 0);
    need_.admit(50, 50);
    need_.admit(0, 0);
    need_.take(1, 50);
    need_.retire(1);
    EXPECT_FALSE(need_.allows(2, 20)) << "the bytes of a step count until its turn";
    need_.retire(0);
    EXPECT_TRUE(need_.allows(2, 60));
}

TEST_F(InOrderNeedTest, WhoIsRefusedIsToldUntilWhichStepHasHadItsTurn) {
    need_.admit(60, 0);
    need_.admit(30, 60);  // 90.
    need_.admit(0, 0);    // 30.
    need_.admit(40, 0);
    EXPECT_EQ(need_.until(3, 10), 0U);
    EXPECT_EQ(need_.until(3, 40), need_.chances() + 2);
    need_.retire(0);
    EXPECT_EQ(need_.until(3, 40), need_.chances() + 1);
    need_.retire(1);
    EXPECT_EQ(need_.until(3, 40), 0U);
}

TEST_F(InOrderNeedTest, AStepThatDoesNotFitLetsOthersAskAgain) {
    need_.admit(60, 0);
    need_.admit(30, 0);
    const std::uint64_t until = need_.until(1, 50);
    EXPECT_GT(until, need_.chances());
    need_.admit(60, 0);  // 150.
    EXPECT_GE(need_.chances(), until);
    EXPECT_EQ(need_.until(1, 50), 0U);
}

}  // namespace
}  // namespace trnsim::lowering
