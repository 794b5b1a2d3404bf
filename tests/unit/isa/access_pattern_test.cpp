// SPDX-License-Identifier: Apache-2.0
// Extent and contiguity of access patterns.
#include "trnsim/isa/access_pattern.hpp"

#include <gtest/gtest.h>

namespace trnsim {
namespace {

TEST(AccessPatternTest, WithoutPairsIsOneElement) {
    const AccessPattern pattern;
    EXPECT_EQ(pattern.rank(), 0);
    EXPECT_EQ(pattern.elements(), 1);
    EXPECT_EQ(pattern.lowest(), 0);
    EXPECT_EQ(pattern.highest(), 0);
    EXPECT_EQ(pattern.innermost_stride(), 1);
    EXPECT_EQ(pattern.contiguous_run(), 1);
    EXPECT_TRUE(pattern.is_contiguous());
}

TEST(AccessPatternTest, CountsRepeatsOfAZeroStride) {
    EXPECT_EQ((AccessPattern{{0, 3}, {1, 5}}.elements()), 15);
    EXPECT_EQ((AccessPattern{{0, 3}, {1, 5}}.highest()), 4);
}

TEST(AccessPatternTest, ReachesBelowItsBaseWithNegativeStrides) {
    const AccessPattern pattern{{-10, 3}, {2, 4}};
    EXPECT_EQ(pattern.lowest(), -20);
    EXPECT_EQ(pattern.highest(), 6);
}

TEST(AccessPatternTest, InnermostStrideSkipsPairsOfOneElement) {
    EXPECT_EQ((AccessPattern{{64, 2}, {3, 4}, {9, 1}}.innermost_stride()), 3);
    EXPECT_EQ((AccessPattern{{64, 1}, {9, 1}}.innermost_stride()), 1);
    EXPECT_EQ((AccessPattern{{1, 8}, {0, 2}}.innermost_stride()), 0);
}

TEST(AccessPatternTest, ContiguousRunMergesAdjacentPairs) {
    EXPECT_EQ((AccessPattern{{512, 4}, {128, 4}, {1, 128}}.contiguous_run()), 2048);
    EXPECT_EQ((AccessPattern{{512, 4}, {7, 1}, {1, 512}}.contiguous_run()), 2048);
    EXPECT_EQ((AccessPattern{{1024, 4}, {128, 4}, {1, 128}}.contiguous_run()), 512);
    EXPECT_EQ((AccessPattern{{1, 128}, {128, 4}}.contiguous_run()), 1);
}

TEST(AccessPatternTest, RepeatedOrReversedElementsAreNoRun) {
    EXPECT_EQ((AccessPattern{{1, 8}, {0, 2}}.contiguous_run()), 1);
    EXPECT_EQ((AccessPattern{{-1, 8}}.contiguous_run()), 1);
    EXPECT_FALSE((AccessPattern{{0, 2}, {1, 8}}.is_contiguous()));
    EXPECT_TRUE((AccessPattern{{8, 2}, {1, 8}}.is_contiguous()));
}

TEST(AccessPatternTest, EqualityIsOfPairs) {
    EXPECT_EQ((AccessPattern{{8, 2}, {1, 8}}), (AccessPattern{{8, 2}, {1, 8}}));
    EXPECT_NE((AccessPattern{{8, 2}, {1, 8}}), (AccessPattern{{1, 16}}));
    EXPECT_NE((AccessPattern{}), (AccessPattern{{1, 1}}));
}

}  // namespace
}  // namespace trnsim
