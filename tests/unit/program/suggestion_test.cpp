// SPDX-License-Identifier: Apache-2.0
// How a message about an unknown name ends.
#include "program/suggestion.hpp"

#include <gtest/gtest.h>

#include <array>

namespace trnsim::program {
namespace {

TEST(SuggestionTest, NamesTheNearestCandidate) {
    constexpr std::array<std::string_view, 2> kNames{"tensor_copy", "memset"};
    EXPECT_EQ(suggestion("tensr_copy", kNames), "; did you mean \"tensor_copy\"?");
}

TEST(SuggestionTest, ListsAllCandidatesWhenNoneIsNear) {
    constexpr std::array<std::string_view, 2> kNames{"affine", "static"};
    EXPECT_EQ(suggestion("while", kNames), "; allowed: affine, static");
    EXPECT_EQ(suggestion(std::string(100000, 'a'), kNames), "; allowed: affine, static");
    EXPECT_EQ(suggestion("while", {}), "");
}

TEST(SuggestionTest, PrintsNoCandidateInFullThatIsLong) {
    const std::string longest(std::size_t{16} << 20, 'x');
    const std::array<std::string_view, 2> names{longest, "a\nb"};
    EXPECT_EQ(suggestion("while", names), "; allowed: " + std::string(60, 'x') + "…, a\\u000ab");
}

}  // namespace
}  // namespace trnsim::program
