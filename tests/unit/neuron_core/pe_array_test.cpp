// SPDX-License-Identifier: Apache-2.0
// Parts of the PE array keep times of their own, and the whole is as late as the latest of them.
#include "trnsim/neuron_core/pe_array.hpp"

#include <gtest/gtest.h>

namespace trnsim::neuron_core {
namespace {

/// Quarters of the array's rows.
constexpr PeBlocks kFirst = 0x000F;
constexpr PeBlocks kSecond = 0x00F0;
constexpr PeBlocks kLast = 0xF000;

constexpr Picoseconds ps(std::int64_t count) {
    return Picoseconds{count};
}

TEST(PeArrayTest, AShareIsRoundedDown) {
    EXPECT_EQ(share_of_array(0x0001, 31), 1);
    EXPECT_EQ(share_of_array(kFirst, 31), 7);
    EXPECT_EQ(share_of_array(kWholeArray, 31), 31);
}

TEST(PeArrayTest, APartIsAsLateAsTheLatestOfItsBlocks) {
    PeArray array;
    array.load(kSecond, ps(10));
    array.load(kFirst, ps(20));
    array.multiply(kSecond, ps(30), ps(90), 1);
    array.multiply(kFirst, ps(40), ps(100), 2);
    const PeArray::Times both = array.of(kFirst | kSecond);
    EXPECT_EQ(both.weights_ready, ps(20));
    EXPECT_EQ(both.multiply_start, ps(40));
    EXPECT_EQ(both.multiply_end, ps(100));
    EXPECT_EQ(both.multiply, 2U);
    EXPECT_EQ(array.of(kSecond).multiply_end, ps(90));
    EXPECT_EQ(array.of(kLast).multiply_end, ps(0));
}

TEST(PeArrayTest, WhatHappenedInTheWholeArrayHoldsForItsParts) {
    PeArray array;
    array.load(kWholeArray, ps(10));
    array.multiply(kWholeArray, ps(20), ps(60), 1);
    array.load(kFirst, ps(30));
    EXPECT_EQ(array.of(kFirst).weights_ready, ps(30));
    EXPECT_EQ(array.of(kLast).weights_ready, ps(10));
    EXPECT_EQ(array.of(kLast).multiply_start, ps(20));
    EXPECT_EQ(array.of(kLast).multiply_end, ps(60));
    EXPECT_EQ(array.of(kLast).multiply, 1U);
}

TEST(PeArrayTest, AProductOfTheWholeArrayFollowsTheWeightsOfEveryPart) {
    PeArray array;
    array.load(kLast, ps(10));
    array.multiply(kWholeArray, ps(20), ps(60), 1);
    EXPECT_EQ(array.of(kFirst).weights_ready, ps(10));
    array.load(kSecond, ps(70));
    array.load(kWholeArray, ps(80));
    EXPECT_EQ(array.of(kLast).weights_ready, ps(80));
}

}  // namespace
}  // namespace trnsim::neuron_core
