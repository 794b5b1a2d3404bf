// SPDX-License-Identifier: Apache-2.0
// A WaitSet keeps the latest need of every queue and leaves out what is known.
#include "trnsim/lowering/dependencies/wait_set.hpp"

#include "unit/lowering/queues.hpp"

#include <gtest/gtest.h>

namespace trnsim::lowering {
namespace {

using test::kScalar;
using test::kTensor;
using test::kVector;

constexpr std::uint32_t bit(neuron_core::QueueId queue) {
    return 1U << queue;
}

TEST(WaitSetTest, KeepsTheLatestOfAQueueWhateverTheirOrder) {
    WaitSet waits;
    waits.need_done(kVector, 5);
    waits.need_done(kVector, 3);
    waits.need_read(kVector, 2);
    waits.need_read(kVector, 7);
    EXPECT_EQ(waits[kVector].done, 5U);
    EXPECT_EQ(waits[kVector].read, 7U);
    EXPECT_EQ(waits.queues(), bit(kVector));
}

TEST(WaitSetTest, LacksWhatIsLaterThanWhatItHas) {
    WaitSet waits;
    waits.need_done(kVector, 5);
    EXPECT_FALSE(waits.lacks_done(kVector, 5));
    EXPECT_TRUE(waits.lacks_done(kVector, 6));
    EXPECT_TRUE(waits.lacks_read(kVector, 1));
}

TEST(WaitSetTest, LeavesOutWhatIsKnown) {
    KnownWaits known;
    known.add(kTensor, 4);
    known.add(kVector, 2);
    WaitSet waits;
    waits.clear(known);
    waits.need_done(kTensor, 4);
    waits.need_read(kVector, 2);
    EXPECT_EQ(waits.queues(), 0U);
    waits.need_done(kTensor, 5);
    waits.need_read(kVector, 3);
    EXPECT_EQ(waits.done_queues(), bit(kTensor));
    EXPECT_EQ(waits.read_queues(), bit(kVector));
}

TEST(WaitSetTest, WhoKnowsAnEndKnowsThatTheSourcesWereRead) {
    KnownWaits known;
    known.add(kVector, 4);
    WaitSet waits;
    waits.clear(known);
    EXPECT_FALSE(waits.lacks_read(kVector, 4));
    EXPECT_TRUE(waits.lacks_read(kVector, 5));
}

TEST(WaitSetTest, TheEndToWaitForIsTheLatestOfThoseThatReadOrWrite) {
    WaitSet waits;
    waits.need_done(kTensor, 4);
    waits.need_read(kTensor, 6);
    waits.need_read(kVector, 3);
    waits.need_done(kVector, 5);
    EXPECT_EQ(waits[kTensor].end(), 6U);
    EXPECT_EQ(waits[kVector].end(), 5U);
    EXPECT_EQ(waits[kScalar].end(), 0U);
}

TEST(WaitSetTest, TakesTheNeedsOfAnotherOnTheQueuesAskedForUnlessTheyAreKnown) {
    WaitSet other;
    other.need_done(kTensor, 3);
    other.need_done(kVector, 3);
    other.need_read(kScalar, 3);
    KnownWaits known;
    known.add(kTensor, 3);
    WaitSet waits;
    waits.clear(known);
    waits.need(other, ~0U, ~bit(kScalar));
    EXPECT_EQ(waits.done_queues(), bit(kVector));
    EXPECT_EQ(waits.read_queues(), 0U);
}

TEST(WaitSetTest, KnowsAnotherIfAllItNeedsOfTheQueuesAskedForIsKnown) {
    WaitSet other;
    other.need_done(kTensor, 3);
    other.need_read(kVector, 3);
    KnownWaits known;
    known.add(kTensor, 3);
    WaitSet waits;
    waits.clear(known);
    EXPECT_FALSE(waits.knows(other, ~0U, ~0U));
    EXPECT_TRUE(waits.knows(other, ~0U, ~bit(kVector)));
    waits.need_read(kVector, 3);
    EXPECT_FALSE(waits.knows(other, ~0U, ~0U)) << "a need is not known before it is waited for";
    known.add(kVector, 3);
    EXPECT_TRUE(waits.knows(other, ~0U, ~0U));
    other.need_done(kScalar, 1);
    EXPECT_FALSE(waits.knows(other, ~0U, ~0U));
    EXPECT_TRUE(waits.knows(other, ~bit(kScalar), ~0U));
}

TEST(WaitSetTest, ForgetsWhatIsKnownWhenItIsCleared) {
    KnownWaits known;
    known.add(kTensor, 3);
    WaitSet waits;
    waits.clear(known);
    waits.clear();
    EXPECT_TRUE(waits.lacks_done(kTensor, 1));
}

}  // namespace
}  // namespace trnsim::lowering
