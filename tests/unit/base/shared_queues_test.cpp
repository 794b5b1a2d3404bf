// SPDX-License-Identifier: Apache-2.0
// SharedQueues are queues, and what one of them leaves another one uses.
#include "trnsim/base/shared_queues.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <deque>
#include <random>

namespace trnsim {
namespace {

constexpr std::size_t kQueues = 3;

TEST(SharedQueuesTest, AreEmptyAtFirst) {
    const SharedQueues<int, kQueues> queues;
    for (std::size_t queue = 0; queue < kQueues; ++queue) {
        EXPECT_TRUE(queues.empty(queue));
    }
}

TEST(SharedQueuesTest, AgreeWithDequesWhateverIsDone) {
    SharedQueues<int, kQueues> queues;
    std::array<std::deque<int>, kQueues> expected;
    std::mt19937 random(1);
    for (int step = 0; step < 20'000; ++step) {
        const std::size_t queue = random() % kQueues;
        const bool is_filling = step / 500 % 2 == 0;  // Several blocks, and down to nothing.
        if (random() % 4 < (is_filling ? 3U : 1U)) {
            queues.append(queue) = step;
            expected[queue].push_back(step);
        } else if (!expected[queue].empty()) {
            ASSERT_EQ(queues.front(queue), expected[queue].front());
            queues.pop_front(queue);
            expected[queue].pop_front();
        }
        ASSERT_EQ(queues.empty(queue), expected[queue].empty());
    }
}

TEST(SharedQueuesTest, ItemsStayWhereTheyAre) {
    SharedQueues<int, kQueues> queues;
    queues.append(0) = 7;
    const int* oldest = &queues.front(0);
    for (int i = 0; i < 1000; ++i) {
        queues.append(0) = i;
    }
    EXPECT_EQ(&queues.front(0), oldest);
    EXPECT_EQ(*oldest, 7);
}

TEST(SharedQueuesTest, GiveOnWhatHasBeenRead) {
    SharedQueues<int, kQueues> queues;
    queues.append(0) = 1;
    const int* place = &queues.front(0);
    queues.pop_front(0);
    queues.append(2) = 2;
    EXPECT_EQ(&queues.front(2), place);
}

}  // namespace
}  // namespace trnsim
