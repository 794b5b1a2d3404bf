// SPDX-License-Identifier: Apache-2.0
// Aligned places are a common subsequence; the longest within a window.
#include "../../../src/report/alignment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace trnsim::report {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Numbers = std::vector<std::uint32_t>;

Numbers random_numbers(std::mt19937& random, std::size_t count, std::uint32_t most) {
    Numbers numbers(count);
    for (std::uint32_t& number : numbers) {
        number = static_cast<std::uint32_t>(random()) % most;
    }
    return numbers;
}

/// Length of the longest common subsequence, the plain way.
std::size_t longest(const Numbers& a, const Numbers& b) {
    std::vector<std::size_t> lengths(b.size() + 1);
    for (const std::uint32_t number : a) {
        std::size_t diagonal = 0;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t above = lengths[j + 1];
            lengths[j + 1] = number == b[j] ? diagonal + 1 : std::max(above, lengths[j]);
            diagonal = above;
        }
    }
    return lengths.back();
}

void expect_common_subsequence(const Numbers& a,
                               const Numbers& b,
                               const std::vector<std::pair<std::size_t, std::size_t>>& places) {
    for (std::size_t i = 0; i < places.size(); ++i) {
        EXPECT_EQ(a.at(places[i].first), b.at(places[i].second));
        if (i > 0) {
            EXPECT_LT(places[i - 1].first, places[i].first);
            EXPECT_LT(places[i - 1].second, places[i].second);
        }
    }
}

TEST(AlignTest, EqualSequencesCorrespondInFull) {
    EXPECT_THAT(align(Numbers{1, 2, 3}, Numbers{1, 2, 3}),
                ElementsAre(Pair(0, 0), Pair(1, 1), Pair(2, 2)));
}

TEST(AlignTest, WithNothingInCommonNothingCorresponds) {
    EXPECT_THAT(align(Numbers{1, 1}, Numbers{2}), IsEmpty());
    EXPECT_THAT(align(Numbers{}, Numbers{2}), IsEmpty());
}

TEST(AlignTest, AnElementMoreOnEitherSideIsLeftOut) {
    EXPECT_THAT(align(Numbers{1, 9, 2, 3}, Numbers{1, 2, 8, 3}),
                ElementsAre(Pair(0, 0), Pair(2, 1), Pair(3, 3)));
}

TEST(AlignTest, FindsTheLongestWithinAWindow) {
    std::mt19937 random(7);
    for (int round = 0; round < 50; ++round) {
        const Numbers a = random_numbers(random, random() % 60, 4);
        const Numbers b = random_numbers(random, random() % 60, 4);
        const auto places = align(a, b);
        expect_common_subsequence(a, b, places);
        EXPECT_EQ(places.size(), longest(a, b));
    }
}

TEST(AlignTest, LongerSequencesAreAlignedWindowByWindow) {
    std::mt19937 random(8);
    const Numbers a = random_numbers(random, 5000, 50);
    Numbers b = a;
    for (int i = 0; i < 40; ++i) {
        b.erase(b.begin() + static_cast<std::ptrdiff_t>(random() % b.size()));
    }
    const auto places = align(a, b, 64);
    expect_common_subsequence(a, b, places);
    EXPECT_GT(places.size(), b.size() * 95 / 100);
}

TEST(AlignTest, EndsForAnyWindow) {
    std::mt19937 random(9);
    for (std::size_t window = 1; window < 9; ++window) {
        const Numbers a = random_numbers(random, 200, 3);
        const Numbers b = random_numbers(random, 5, 3);
        expect_common_subsequence(a, b, align(a, b, window));
        expect_common_subsequence(b, a, align(b, a, window));
    }
}

}  // namespace
}  // namespace trnsim::report
