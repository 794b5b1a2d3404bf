// SPDX-License-Identifier: Apache-2.0
// Units: arithmetic, and conversions that round once.
#include "trnsim/base/units.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace trnsim {
namespace {

TEST(UnitsTest, CyclesBecomeTimeByOneRounding) {
    // 357 ps a cycle, rounded first, would make 182,784 ps of them.
    EXPECT_EQ(to_picoseconds(Cycles{512}, Gigahertz{2.8}), Picoseconds{182'857});
    EXPECT_EQ(to_picoseconds(Cycles{520}, Gigahertz{2.4}), Picoseconds{216'667});
}

TEST(UnitsTest, BytesBecomeTimeByOneRounding) {
    EXPECT_EQ(to_picoseconds(Bytes{4096}, GigabytesPerSecond{27.2}), Picoseconds{150'588});
    EXPECT_EQ(to_picoseconds(Bytes{0}, GigabytesPerSecond{27.2}), Picoseconds{0});
}

TEST(UnitsTest, NanosecondsRoundToTheNearestPicosecond) {
    EXPECT_EQ(from_nanoseconds(0.0004), Picoseconds{0});
    EXPECT_EQ(from_nanoseconds(0.0005), Picoseconds{1});
    EXPECT_EQ(from_nanoseconds(-0.0005), Picoseconds{-1});
    EXPECT_EQ(from_picoseconds(0.49999999999999994), Picoseconds{0});
    EXPECT_EQ(from_nanoseconds(863.7), Picoseconds{863'700});
    EXPECT_EQ(from_nanoseconds(1e30), kLongestTime);
}

TEST(UnitsTest, AddsSubtractsAndScalesLikeIntegers) {
    EXPECT_EQ(Picoseconds{3} + Picoseconds{4}, Picoseconds{7});
    EXPECT_EQ(Picoseconds{3} - Picoseconds{4}, Picoseconds{-1});
    EXPECT_EQ(3 * Picoseconds{4}, Picoseconds{12});
    EXPECT_EQ(2 * Cycles{64} + Cycles{8} - Cycles{1}, Cycles{135});
    EXPECT_EQ(3 * Bytes{5} - Bytes{1} + Bytes{2}, Bytes{16});
    Picoseconds sum{5};
    sum += Picoseconds{2};
    sum -= Picoseconds{4};
    EXPECT_EQ(sum, Picoseconds{3});
}

TEST(UnitsTest, OrdersByValue) {
    EXPECT_LT(Picoseconds{1}, Picoseconds{2});
    EXPECT_GT(Cycles{3}, Cycles{2});
    EXPECT_LE(Gigahertz{1.2}, Gigahertz{1.4});
}

TEST(UnitsTest, PicosecondsReadInLargerUnits) {
    const Picoseconds time{1'234'567};
    EXPECT_DOUBLE_EQ(time.nanoseconds(), 1234.567);
    EXPECT_DOUBLE_EQ(time.microseconds(), 1.234567);
    EXPECT_DOUBLE_EQ(time.seconds(), 1.234567e-6);
}

TEST(UnitsTest, PrintsItsUnit) {
    std::ostringstream text;
    text << Cycles{64} << ", " << Picoseconds{7} << ", " << Bytes{8} << ", " << Gigahertz{2.4}
         << ", " << GigabytesPerSecond{27.2};
    EXPECT_EQ(text.str(), "64 cycles, 7 ps, 8 B, 2.4 GHz, 27.2 GB/s");
}

}  // namespace
}  // namespace trnsim
