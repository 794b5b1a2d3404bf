// SPDX-License-Identifier: Apache-2.0
// Loads begin in time, one after the other.
#include "trnsim/lowering/loads/due_loads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

namespace trnsim::lowering {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::max();

/// The loads that begin by then, in their order, with their triggers.
std::vector<std::pair<PlannedTileId, std::int64_t>> begun(DueLoads& loads, std::int64_t until) {
    std::vector<std::pair<PlannedTileId, std::int64_t>> found;
    while (const PlannedLoad* load = loads.begin(until)) {
        found.emplace_back(load->tile, load->trigger);
    }
    return found;
}

TEST(DueLoadsTest, BeginInTheOrderOfTheirTimesAndElseAsTheyCame) {
    DueLoads loads;
    loads.insert({.tile = 1, .time = 20});
    loads.insert({.tile = 2, .time = 10});
    loads.insert({.tile = 3, .time = 20});
    loads.find_triggers();
    EXPECT_THAT(begun(loads, kAlways), ElementsAre(Pair(2, 10), Pair(1, 20), Pair(3, 20)));
}

TEST(DueLoadsTest, BeginEarlierWhereTheDmaEnginesMoveOthersBehindThem) {
    DueLoads loads;
    loads.insert({.tile = 1, .time = 100, .transfer = 30});
    loads.insert({.tile = 2, .time = 110, .transfer = 50});
    loads.insert({.tile = 3, .time = 120, .transfer = 50});
    loads.find_triggers();
    EXPECT_THAT(begun(loads, kAlways), ElementsAre(Pair(1, 40), Pair(2, 70), Pair(3, 120)));
}

TEST(DueLoadsTest, DoNotBeginBeforeTheirEarliest) {
    DueLoads loads;
    loads.insert({.tile = 1, .time = 100, .earliest = 90, .transfer = 30});
    loads.insert({.tile = 2, .time = 100, .transfer = 30});
    loads.find_triggers();
    EXPECT_THAT(begun(loads, kAlways), ElementsAre(Pair(1, 90), Pair(2, 100)));
}

TEST(DueLoadsTest, WhatHasBegunIsDroppedAndTheRestBeginsLater) {
    DueLoads loads;
    loads.insert({.tile = 1, .time = 10});
    loads.insert({.tile = 2, .time = 20});
    loads.find_triggers();
    EXPECT_THAT(begun(loads, 19), ElementsAre(Pair(1, 10)));
    loads.drop_begun();
    EXPECT_EQ(loads.size(), 1);
    loads.insert({.tile = 3, .time = 15});
    loads.find_triggers();
    EXPECT_THAT(begun(loads, 20), ElementsAre(Pair(3, 15), Pair(2, 20)));
    loads.drop_begun();
    EXPECT_TRUE(loads.empty());
}

}  // namespace
}  // namespace trnsim::lowering
