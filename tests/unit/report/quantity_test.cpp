// SPDX-License-Identifier: Apache-2.0
// Numbers read the way a person writes them, and results keep them exact.
#include "../../../src/report/quantity.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace trnsim::report {
namespace {

TEST(TimeTextTest, TakesTheUnitThatKeepsTheNumberReadable) {
    EXPECT_EQ(time_text(Picoseconds{0}), "0.000 ns");
    EXPECT_EQ(time_text(Picoseconds{833'333}), "833.3 ns");
    EXPECT_EQ(time_text(Picoseconds{1'000'000}), "1.000 us");
    EXPECT_EQ(time_text(Picoseconds{1'036'838'000}, 5), "1,036.8 us");
    EXPECT_EQ(time_text(Picoseconds{9'999'400'000}), "9,999 us");
    EXPECT_EQ(time_text(Picoseconds{10'000'000'000}), "10.00 ms");
    EXPECT_EQ(time_text(Picoseconds{39'894'938'000}), "39.89 ms");
}

TEST(NumberTextTest, KeepsSignificantDigitsAcrossARoundingToTheNextPowerOfTen) {
    EXPECT_EQ(number_text(99.996), "100.0");
    EXPECT_EQ(number_text(99.994), "99.99");
    EXPECT_EQ(number_text(0.25), "0.250");
    EXPECT_EQ(number_text(1'234'567.0), "1,235,000");
    EXPECT_EQ(number_text(-1'234.5), "-1,234");
}

TEST(BytesTextTest, CountsInPowersOf1024) {
    EXPECT_EQ(bytes_text(512.0), "512 B");
    EXPECT_EQ(bytes_text(1'023.0), "1023 B");
    EXPECT_EQ(bytes_text(87'381.3333), "85.33 KiB");
    EXPECT_EQ(bytes_text(83'886'080.0), "80.00 MiB");
    EXPECT_EQ(bytes_text(3.0 * 1024 * 1024 * 1024), "3.000 GiB");
}

TEST(CountTextTest, SeparatesThousands) {
    EXPECT_EQ(count_text(0), "0");
    EXPECT_EQ(count_text(999), "999");
    EXPECT_EQ(count_text(1'000), "1,000");
    EXPECT_EQ(count_text(-1'234'567), "-1,234,567");
}

TEST(CountTextTest, OneIsSingular) {
    EXPECT_EQ(count_text(0, "ring"), "0 rings");
    EXPECT_EQ(count_text(1, "ring"), "1 ring");
    EXPECT_EQ(count_text(1'000, "ring"), "1,000 rings");
}

TEST(RatioTest, OfNothingIsZero) {
    EXPECT_EQ(ratio(5.0, 0.0), 0.0);
    EXPECT_EQ(percent(Picoseconds{5}, Picoseconds{0}), 0.0);
    EXPECT_EQ(percent(1.0, 3.0), 33.3333333);
}

TEST(InSecondsTest, IsTheNearestDoubleToTheDecimalNumber) {
    // Multiplying by 1e-12 gives 0.0010368380000000001.
    EXPECT_EQ(in_seconds(Picoseconds{1'036'838'000}), 0.001036838);
    EXPECT_EQ(in_nanoseconds(Picoseconds{1'234'567}), 1234.567);
}

TEST(TimeColumnTest, UsesOneUnitAndOnePrecisionForATable) {
    const TimeColumn micro(Picoseconds{1'036'838'000});
    EXPECT_STREQ(micro.unit, "us");
    EXPECT_EQ(micro.text(Picoseconds{801'200'000}), "801.2");
    EXPECT_EQ(micro.text(Picoseconds{40'000}), "0.0");
    const TimeColumn milli(Picoseconds{39'894'938'000});
    EXPECT_STREQ(milli.unit, "ms");
    EXPECT_EQ(milli.text(Picoseconds{801'200'000}), "0.801");
}

}  // namespace
}  // namespace trnsim::report
