// SPDX-License-Identifier: Apache-2.0
// Edit distance and suggestions.
#include "program/nearest_name.hpp"

#include <gtest/gtest.h>

#include <array>

namespace trnsim::program {
namespace {

TEST(EditDistanceTest, CountsInsertionsDeletionsReplacementsAndSwaps) {
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("", "abc"), 3U);
    EXPECT_EQ(edit_distance("tensor", "tensor"), 0U);
    EXPECT_EQ(edit_distance("tensr", "tensor"), 1U);
    EXPECT_EQ(edit_distance("partitons", "partitions"), 1U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
    EXPECT_EQ(edit_distance("cuont", "count"), 1U);
    EXPECT_EQ(edit_distance("vector", "scalar"), edit_distance("scalar", "vector"));
}

TEST(SuggestionTest, NamesTheNearestCandidate) {
    constexpr std::array<std::string_view, 3> kNames{"tensor_copy", "tensor_scalar", "memset"};
    EXPECT_EQ(suggestion("tensr_copy", kNames), "; did you mean \"tensor_copy\"?");
    EXPECT_EQ(suggestion("mem_set", kNames), "; did you mean \"memset\"?");
}

TEST(SuggestionTest, OfEquallyNearCandidatesNamesTheOneThatBeginsAlike) {
    constexpr std::array<std::string_view, 2> kNames{"dst", "data"};
    EXPECT_EQ(suggestion("dat", kNames), "; did you mean \"data\"?");
    EXPECT_EQ(suggestion("dstt", kNames), "; did you mean \"dst\"?");
}

TEST(SuggestionTest, ListsAllCandidatesWhenNoneIsNear) {
    constexpr std::array<std::string_view, 2> kNames{"affine", "static"};
    EXPECT_EQ(suggestion("while", kNames), "; allowed: affine, static");
    EXPECT_EQ(suggestion(std::string(100000, 'a'), kNames), "; allowed: affine, static");
    EXPECT_EQ(suggestion("while", {}), "");
}

TEST(SuggestionTest, NeitherComparesNorPrintsLongCandidatesInFull) {
    const std::string longest(std::size_t{16} << 20, 'x');
    const std::array<std::string_view, 2> names{longest, "a\nb"};
    EXPECT_EQ(suggestion("while", names), "; allowed: " + std::string(60, 'x') + "…, a\\u000ab");
}

}  // namespace
}  // namespace trnsim::program
