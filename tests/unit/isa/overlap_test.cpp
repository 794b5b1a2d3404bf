// SPDX-License-Identifier: Apache-2.0
// Overlap of access patterns: theorems at the edges, and enumeration of random ones as the oracle.
#include "trnsim/isa/access_pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <set>

namespace trnsim {
namespace {

using Bytes = std::set<std::int64_t>;

/// All bytes that a pattern touches, one by one.
Bytes bytes_of(const AccessPattern& pattern, std::int64_t base, int size) {
    std::vector<std::int64_t> starts{base};
    for (const PatternDim& dim : pattern.dims()) {
        std::vector<std::int64_t> next;
        for (const std::int64_t start : starts) {
            for (std::int64_t i = 0; i < dim.count; ++i) {
                next.push_back(start + i * dim.stride * size);
            }
        }
        starts = std::move(next);
    }
    Bytes bytes;
    for (const std::int64_t start : starts) {
        for (int i = 0; i < size; ++i) {
            bytes.insert(start + i);
        }
    }
    return bytes;
}

bool share_a_byte(const Bytes& a, const Bytes& b) {
    return std::any_of(a.begin(), a.end(), [&b](std::int64_t byte) { return b.contains(byte); });
}

AccessPattern random_pattern(std::mt19937& random, int max_rank) {
    std::uniform_int_distribution<int> rank(0, max_rank);
    std::uniform_int_distribution<std::int64_t> stride(-12, 24);
    std::uniform_int_distribution<std::int64_t> count(1, 6);
    AccessPattern pattern;
    for (int i = rank(random); i > 0; --i) {
        pattern.push_back({stride(random), count(random)});
    }
    return pattern;
}

TEST(OverlapTest, EndsWhereTheLastByteEnds) {
    const AccessPattern run{{1, 16}};
    EXPECT_TRUE(overlap(run, 0, 4, run, 63, 4));
    EXPECT_FALSE(overlap(run, 0, 4, run, 64, 4));
    EXPECT_TRUE(overlap(run, 63, 4, run, 0, 4));
    EXPECT_FALSE(overlap(run, 64, 4, run, 0, 4));
}

TEST(OverlapTest, InterleavedColumnsOfOneTileAreDisjoint) {
    const AccessPattern every_second{{2, 256}};
    EXPECT_FALSE(overlap(every_second, 0, 4, every_second, 4, 4));
    EXPECT_TRUE(overlap(every_second, 0, 4, every_second, 8, 4));
    EXPECT_TRUE(overlap(every_second, 0, 4, every_second, 5, 4));
}

TEST(OverlapTest, HeadsOfOneTileAreDisjoint) {
    constexpr std::int64_t kSize = 2;  // Of an element.
    const AccessPattern head{{256, 16}, {1, 64}};
    for (std::int64_t other = 1; other < 4; ++other) {
        EXPECT_FALSE(overlap(head, 0, kSize, head, other * 64 * kSize, kSize)) << other;
    }
    EXPECT_TRUE(overlap(head, 0, kSize, head, 63 * kSize, kSize));
    EXPECT_TRUE(overlap(head, 0, kSize, head, 256 * kSize, kSize));
}

TEST(OverlapTest, ViewsOfOtherElementSizesAreComparedInBytes) {
    const AccessPattern halves{{2, 64}};  // The lower two of every four bytes.
    EXPECT_FALSE(overlap(halves, 0, 2, halves, 2, 2));
    EXPECT_TRUE(overlap(halves, 0, 2, AccessPattern{{1, 64}}, 0, 4));
    EXPECT_FALSE(overlap(AccessPattern{{4, 64}}, 3, 1, halves, 0, 2));
    EXPECT_TRUE(overlap(AccessPattern{{4, 64}}, 1, 1, halves, 0, 2));
}

TEST(OverlapTest, StridesWithoutACommonMultipleInReachAreDisjoint) {
    const AccessPattern sevens{{7, 3}};
    const AccessPattern fives{{5, 3}};
    EXPECT_TRUE(overlap(sevens, 0, 1, fives, 0, 1));
    EXPECT_FALSE(overlap(sevens, 0, 1, fives, 1, 1));  // 0 7 14 and 1 6 11.
    EXPECT_TRUE(overlap(sevens, 0, 1, fives, 4, 1));   // 14 in both.
}

TEST(OverlapTest, ReversedPatternTouchesTheSameBytes) {
    EXPECT_TRUE(overlap(AccessPattern{{-1, 16}}, 60, 4, AccessPattern{{1, 1}}, 0, 4));
    EXPECT_FALSE(overlap(AccessPattern{{-1, 16}}, 64, 4, AccessPattern{{1, 1}}, 0, 4));
}

TEST(OverlapTest, AgreesWithEnumerationOnRandomPatterns) {
    std::mt19937 random(20250831);
    constexpr std::array kSizes{1, 2, 4, 8};
    int overlapping = 0;
    for (int i = 0; i < 20000; ++i) {
        const AccessPattern a = random_pattern(random, 3);
        const AccessPattern b = random_pattern(random, 3);
        const int a_size = kSizes[random() % kSizes.size()];
        const int b_size = kSizes[random() % kSizes.size()];
        const auto b_base = static_cast<std::int64_t>(random() % 400) - 200;
        const bool expected = share_a_byte(bytes_of(a, 0, a_size), bytes_of(b, b_base, b_size));
        overlapping += expected ? 1 : 0;
        ASSERT_EQ(overlap(a, 0, a_size, b, b_base, b_size), expected) << "case " << i;
        ASSERT_EQ(overlap(b, b_base, b_size, a, 0, a_size), expected) << "case " << i;
    }
    EXPECT_GT(overlapping, 4000);
    EXPECT_LT(overlapping, 16000);
}

TEST(OverlapTest, DivisibilitySettlesWhatASearchCouldNot) {
    const AccessPattern a{{1000002, 40}, {1000034, 40}, {1000058, 40}, {1000082, 40}};
    const AccessPattern b{{1000094, 40}, {1000118, 40}, {1000126, 40}, {1000178, 40}};
    EXPECT_FALSE(overlap(a, 0, 1, b, 1, 1));
}

TEST(OverlapTest, AnswersTrueWhenTheSearchIsTooLong) {
    // The bytes of a are multiples of 2310, those of b multiples of 2310 plus 5 or 1000008:
    // disjoint, but the one odd stride hides it from divisibility.
    constexpr std::int64_t kCommon = 2310;
    const AccessPattern a{{kCommon * 1009, 40}, {kCommon * 1013, 40}, {kCommon * 1019, 40}};
    const AccessPattern b{
        {kCommon * 1021, 40}, {kCommon * 1031, 40}, {kCommon * 1033, 40}, {1000003, 2}};
    EXPECT_TRUE(overlap(a, 0, 1, b, 5, 1));
}

TEST(OverlapTest, LargeTilesOfHbmAreSettledExactly) {
    constexpr std::int64_t kSize = 2;  // Of an element.
    constexpr std::int64_t kRow = 8192;
    const AccessPattern tile{{kRow, 128}, {1, 512}};
    EXPECT_FALSE(overlap(tile, 0, kSize, tile, 512 * kSize, kSize));
    EXPECT_FALSE(overlap(tile, 0, kSize, tile, kRow * 128 * kSize, kSize));
    EXPECT_TRUE(overlap(tile, 0, kSize, tile, (kRow * 127 + 511) * kSize, kSize));
    EXPECT_FALSE(overlap(tile, 0, kSize, tile, (kRow * 127 + 512) * kSize, kSize));
    const AccessPattern column{{kRow, kRow}};
    EXPECT_TRUE(overlap(tile, 0, kSize, column, 511 * kSize, kSize));
    EXPECT_FALSE(overlap(tile, 0, kSize, column, 512 * kSize, kSize));
}

}  // namespace
}  // namespace trnsim
