// SPDX-License-Identifier: Apache-2.0
// Columns align, lines fit, and shares add up.
#include "../../../src/report/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>

namespace trnsim::report {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(TableTest, ColumnsAreAsWideAsTheirWidestCell) {
    Table table({Table::Align::Left, Table::Align::Right});
    table.add({"engine", "active"});
    table.add({"tensor_engine", "9.1"});
    EXPECT_THAT(table.lines(2, 80),
                ElementsAre("  engine         active", "  tensor_engine     9.1"));
}

TEST(TableTest, LinesAreCutAtTheWidth) {
    Table table({Table::Align::Left});
    table.add({std::string(50, 'x')});
    EXPECT_THAT(table.lines(2, 20), ElementsAre("  " + std::string(15, 'x') + "..."));
}

TEST(ClipTest, CountsCharactersNotBytes) {
    EXPECT_EQ(clip("größer", 6), "größer");
    EXPECT_EQ(clip("größere", 6), "grö...");
}

TEST(ClipTest, CutsPathsAtTheirFront) {
    EXPECT_EQ(clip_front("größer/k.py:9", 13), "größer/k.py:9");
    EXPECT_EQ(clip_front("größer/k.py:9", 12), "…ößer/k.py:9");
    EXPECT_EQ(clip_front("größer/k.py:9", 7), "…k.py:9");
    EXPECT_EQ(clip_front("größer", 1), "…");
}

TEST(ClipTest, ReplacesControlCharactersBySpaces) {
    EXPECT_EQ(clip("a\033[31mb\nc", 20), "a [31mb c");
}

TEST(SharesTest, SumToExactlyOneThousandTenths) {
    const Picoseconds third{1};
    EXPECT_THAT(shares({third, third, third}), ElementsAre(334, 333, 333));
    std::mt19937 random(11);  // NOLINT: the same sequence on every machine is wanted
    for (int trial = 0; trial < 1'000; ++trial) {
        std::vector<Picoseconds> parts(9);
        for (Picoseconds& part : parts) {
            part = Picoseconds{static_cast<std::int64_t>(random() % 100'000)};
        }
        parts[0] += Picoseconds{1};
        const std::vector<int> result = shares(parts);
        ASSERT_EQ(std::accumulate(result.begin(), result.end(), 0), 1000);
        ASSERT_THAT(result, Each(testing::Ge(0)));
    }
}

TEST(SharesTest, OfNothingAreZero) {
    EXPECT_THAT(shares({Picoseconds{0}, Picoseconds{0}}), ElementsAre(0, 0));
}

TEST(SharesTest, DifferFromTheExactShareByLessThanATenth) {
    EXPECT_THAT(shares({Picoseconds{899'029}, Picoseconds{100'971}}), ElementsAre(899, 101));
}

}  // namespace
}  // namespace trnsim::report
