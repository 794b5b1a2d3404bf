// SPDX-License-Identifier: Apache-2.0
// What new owners of bytes wait for, against a list of ranges that each keep their history.
#include "trnsim/lowering/dependencies/former_accesses.hpp"

#include "queues.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace trnsim::lowering {
namespace {

using neuron_core::QueueId;
using test::kScalar;
using test::kVector;

const RegionShape kShape({.dtype = Dtype::Uint8, .partitions = 128, .pattern = {{1, 8}}});

AccessHistory after(Access access, QueueId queue, std::uint64_t number) {
    AccessHistory history;
    history.record({.region = Region(kShape), .access = access, .queue = queue, .number = number});
    return history;
}

TEST(FormerAccessesTest, WhoTakesAnyOfARangeWaitsForAllThatWasDoneInIt) {
    FormerAccesses former;
    former.give_back(0, 100, after(Access::Write, kVector, 7));
    WaitSet middle;
    former.take(40, 50, middle);
    EXPECT_EQ(middle[kVector].done, 7U);
    WaitSet again;
    former.take(40, 50, again);
    EXPECT_EQ(again.queues(), 0U) << "those bytes have an owner, who waits";
    WaitSet both_sides;
    former.take(0, 100, both_sides);
    EXPECT_EQ(both_sides[kVector].done, 7U);
}

TEST(FormerAccessesTest, TheLatestAccessOfEachQueueCounts) {
    FormerAccesses former;
    former.give_back(50, 60, after(Access::Write, kVector, 3));
    former.give_back(0, 50, after(Access::Read, kScalar, 9));
    former.give_back(60, 70, after(Access::Write, kVector, 5));
    WaitSet waits;
    former.take(0, 70, waits);
    EXPECT_EQ(waits[kVector].done, 5U);
    EXPECT_EQ(waits[kVector].read, 0U);
    EXPECT_EQ(waits[kScalar].read, 9U);
}

TEST(FormerAccessesTest, WhatLiesBesideDoesNotMatter) {
    FormerAccesses former;
    former.give_back(0, 10, after(Access::Write, kVector, 1));
    former.give_back(20, 30, after(Access::Write, kVector, 2));
    WaitSet waits;
    former.take(10, 20, waits);
    EXPECT_EQ(waits.queues(), 0U);
}

TEST(FormerAccessesTest, AreThoseOfAListOfRangesThatKeepTheirHistories) {
    struct Range {
        std::int64_t begin = 0;
        std::int64_t end = 0;
        AccessHistory history;
    };
    constexpr std::int64_t kBytes = 200;
    std::mt19937 random(8);
    FormerAccesses former;
    std::vector<Range> expected;
    std::uint64_t number = 0;
    for (int i = 0; i < 20'000; ++i) {
        const auto begin = static_cast<std::int64_t>(random() % kBytes);
        const auto end = begin + 1 + static_cast<std::int64_t>(random() % 60);
        WaitSet waits;
        former.take(begin, end, waits);
        WaitSet wanted;
        std::vector<Range> left;
        for (const Range& range : expected) {
            if (range.end <= begin || end <= range.begin) {
                left.push_back(range);
                continue;
            }
            range.history.collect_all(wanted);
            if (range.begin < begin) {
                left.push_back({range.begin, begin, range.history});
            }
            if (end < range.end) {
                left.push_back({end, range.end, range.history});
            }
        }
        expected = std::move(left);
        ASSERT_EQ(waits.queues(), wanted.queues());
        for (int queue = 0; queue < neuron_core::kQueues; ++queue) {
            const auto id = static_cast<QueueId>(queue);
            ASSERT_EQ(waits[id].done, wanted[id].done);
            ASSERT_EQ(waits[id].read, wanted[id].read);
        }
        if (random() % 4 != 0) {
            const Access access = random() % 2 == 0 ? Access::Read : Access::Write;
            const auto queue = static_cast<QueueId>(random() % neuron_core::kQueues);
            const AccessHistory history = after(access, queue, ++number);
            former.give_back(begin, end, history);
            expected.push_back({begin, end, history});
        }
    }
}

}  // namespace
}  // namespace trnsim::lowering
