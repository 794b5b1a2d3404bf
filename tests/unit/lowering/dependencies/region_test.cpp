// SPDX-License-Identifier: Apache-2.0
// Regions that pass each other by, against the search over their elements.
#include "trnsim/lowering/dependencies/region.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace trnsim::lowering {
namespace {

RegionShape shape_of(const AccessPattern& pattern, Dtype dtype = Dtype::Uint8) {
    return RegionShape({.dtype = dtype, .partitions = 1, .pattern = pattern});
}

bool meet(const RegionShape& a, std::int64_t a_base, const RegionShape& b, std::int64_t b_base) {
    return overlap(Region(a, 0, a_base), Region(b, 0, b_base));
}

TEST(RegionTest, RunsAreWhatTheInnermostPairsMakeUp) {
    const RegionShape shape = shape_of({{96, 5}, {64, 2}, {8, 4}, {1, 8}}, Dtype::Float32);
    EXPECT_EQ(shape.run_bytes, 32 * 4);
    EXPECT_EQ(shape.run_divisor, 32 * 4);
    EXPECT_EQ(shape.run_count, 0) << "96 and 32 from one to the next";
    EXPECT_EQ(shape_of({{1, 8}}).run_divisor, 0);
    EXPECT_EQ(shape_of({{1, 8}}).run_count, 1);
}

TEST(RegionTest, RowsAreRunsAtOneDistance) {
    for (const AccessPattern& pattern : {AccessPattern{{-96, 5}, {64, 1}, {0, 3}, {8, 4}, {1, 8}},
                                         AccessPattern{{0, 2}, {96, 5}, {1, 32}}}) {
        const RegionShape rows = shape_of(pattern, Dtype::Float32);
        EXPECT_EQ(rows.run_count, 5);
        EXPECT_EQ(rows.run_stride, 96 * 4);
    }
}

TEST(RegionTest, RowsMeetWhatLiesInOneOfThem) {
    const RegionShape rows = shape_of({{128, 4}, {1, 64}});
    const RegionShape piece = shape_of({{1, 32}});
    for (int row = 0; row < 4; ++row) {
        EXPECT_TRUE(meet(rows, 0, piece, 128 * row + 63));
        EXPECT_FALSE(meet(rows, 0, piece, 128 * row + 64));
        EXPECT_FALSE(meet(piece, 128 * row + 96, rows, 0));
        EXPECT_EQ(meet(piece, 128 * row + 97, rows, 0), row < 3);
    }
    EXPECT_TRUE(meet(rows, 0, rows, 3 * 128 + 63));
    EXPECT_FALSE(meet(rows, 0, rows, 3 * 128 + 64));
    EXPECT_TRUE(meet(rows, 3 * 128 + 63, rows, 0));
}

TEST(RegionTest, HalvesOfTheSameRowsAreDisjoint) {
    const RegionShape half = shape_of({{128, 4096}, {1, 64}});
    EXPECT_FALSE(meet(half, 0, half, 64));
    EXPECT_FALSE(meet(half, 64, half, 0));
    EXPECT_FALSE(meet(half, 128, half, 64));
    EXPECT_TRUE(meet(half, 0, half, 63));
    EXPECT_TRUE(meet(half, 64, half, 64 + 3 * 128));
}

TEST(RegionTest, AgreeWithTheSearchOnRandomPatterns) {
    std::mt19937 random(11);
    const auto between = [&random](std::int64_t least, std::int64_t most) {
        return least +
               static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
    };
    const auto any_shape = [&] {
        AccessPattern pattern;
        for (std::int64_t left = between(0, 3); left > 0; --left) {
            pattern.push_back({between(-2, 6) * 4, between(1, 4)});
        }
        pattern.push_back({between(0, 2), between(1, 4)});
        return shape_of(pattern, between(0, 1) == 0 ? Dtype::Uint8 : Dtype::Bfloat16);
    };
    for (int i = 0; i < 20'000; ++i) {
        const RegionShape a = any_shape();
        const RegionShape b = any_shape();
        const std::int64_t distance = between(-40, 40);
        ASSERT_EQ(meet(a, 0, b, distance),
                  overlap(a.pattern, 0, a.element_bytes, b.pattern, distance, b.element_bytes));
    }
}

}  // namespace
}  // namespace trnsim::lowering
