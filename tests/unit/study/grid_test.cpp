// SPDX-License-Identifier: Apache-2.0
// Axes and grids of a sweep.
#include "trnsim/study/grid.hpp"

#include "trnsim/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trnsim::study {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ParseAxisTest, SplitsTheNameFromItsValues) {
    const Axis axis = parse_axis("--set", "dma.engines=8,16");
    EXPECT_EQ(axis.name, "dma.engines");
    EXPECT_THAT(axis.values, ElementsAre("8", "16"));
}

TEST(ParseAxisTest, KeepsEqualsSignsOfTheValue) {
    EXPECT_THAT(parse_axis("--set", "name=a=b").values, ElementsAre("a=b"));
}

TEST(ParseAxisTest, RejectsTextWithoutAName) {
    EXPECT_THAT(
        [] { return parse_axis("--policy", "off"); },
        ThrowsMessage<UserError>(HasSubstr("--policy: \"off\" is not of the form name=value; write "
                                           "for example --policy spilling=off")));
    EXPECT_THAT([] { return parse_axis("--set", "=8"); },
                ThrowsMessage<UserError>(HasSubstr("is not of the form name=value")));
}

TEST(ParseAxisTest, RejectsEmptyValues) {
    for (const char* text : {"a=", "a=1,", "a=,1", "a=1,,2"}) {
        EXPECT_THAT([&] { return parse_axis("--set", text); },
                    ThrowsMessage<UserError>(HasSubstr("--set a: ")))
            << text;
    }
}

TEST(ParseAxisTest, RejectsAValueGivenTwice) {
    EXPECT_THAT([] { return parse_axis("--set", "a=1,2,1"); },
                ThrowsMessage<UserError>(HasSubstr("--set a: 1 is given twice")));
}

TEST(GridTest, HasOnePointWithoutAxes) {
    const Grid grid({});
    EXPECT_EQ(grid.size(), 1U);
    EXPECT_TRUE(grid.point(0).empty());
}

TEST(GridTest, VariesTheLastAxisFastest) {
    const Grid grid({{"chip", {"trn1", "trn2"}}, {"a", {"x", "y", "z"}}});
    ASSERT_EQ(grid.size(), 6U);
    EXPECT_THAT(grid.point(0), ElementsAre("trn1", "x"));
    EXPECT_THAT(grid.point(2), ElementsAre("trn1", "z"));
    EXPECT_THAT(grid.point(3), ElementsAre("trn2", "x"));
    EXPECT_THAT(grid.point(5), ElementsAre("trn2", "z"));
}

TEST(GridTest, RejectsTwoAxesOfOneName) {
    EXPECT_THAT(
        [] {
            return Grid({{"a", {"1"}}, {"b", {"1"}}, {"a", {"2"}}});
        },
        ThrowsMessage<UserError>(HasSubstr("sweep: a is varied twice")));
}

TEST(GridTest, RejectsMorePointsThanItsLimit) {
    const std::vector<std::string> many(400, "v");
    EXPECT_EQ(Grid({{"a", many}, {"b", std::vector<std::string>(250, "v")}}).size(),
              Grid::kMaxPoints);
    EXPECT_THAT(([&] {
                    return Grid({{"a", many}, {"b", std::vector<std::string>(251, "v")}});
                }),
                ThrowsMessage<UserError>(HasSubstr("more than 100000 points")));
}

}  // namespace
}  // namespace trnsim::study
