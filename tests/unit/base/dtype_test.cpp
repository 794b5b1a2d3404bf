// SPDX-License-Identifier: Apache-2.0
// Names, sizes and kinds of the data types.
#include "trnsim/base/dtype.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace trnsim {
namespace {

constexpr int kLast = static_cast<int>(Dtype::Bool);

TEST(DtypeTest, NamesLeadThereAndBack) {
    std::set<std::string_view> names;
    for (int i = 0; i <= kLast; ++i) {
        const auto dtype = static_cast<Dtype>(i);
        names.insert(name(dtype));
        EXPECT_EQ(dtype_from_name(name(dtype)), dtype);
    }
    EXPECT_EQ(names.size(), std::size_t{kLast} + 1);
}

TEST(DtypeTest, UnknownNamesLeadNowhere) {
    EXPECT_EQ(dtype_from_name("float64"), std::nullopt);
    EXPECT_EQ(dtype_from_name(""), std::nullopt);
}

TEST(DtypeTest, SizesAreThoseInMemory) {
    EXPECT_EQ(size_bytes(Dtype::Tfloat32), 4);
    EXPECT_EQ(size_bytes(Dtype::Bfloat16), 2);
    EXPECT_EQ(size_bytes(Dtype::Float8E8m0), 1);
    EXPECT_EQ(size_bytes(Dtype::Float8E5m2X4), 4);
    EXPECT_EQ(size_bytes(Dtype::Float4E2m1fnX4), 2);
    EXPECT_EQ(size_bytes(Dtype::Int64), 8);
    EXPECT_EQ(size_bytes(Dtype::Bool), 1);
}

TEST(DtypeTest, KindsExcludeEachOther) {
    for (int i = 0; i <= kLast; ++i) {
        const auto dtype = static_cast<Dtype>(i);
        const int kinds = (is_16bit_float(dtype) ? 1 : 0) + (is_fp8(dtype) ? 1 : 0) +
                          (is_packed_x4(dtype) ? 1 : 0) + (is_32bit_float(dtype) ? 1 : 0);
        EXPECT_LE(kinds, 1) << name(dtype);
    }
}

TEST(DtypeTest, KindsHaveTheirMembers) {
    EXPECT_TRUE(is_16bit_float(Dtype::Float16));
    EXPECT_FALSE(is_16bit_float(Dtype::Int16));
    EXPECT_TRUE(is_32bit_float(Dtype::Tfloat32));
    EXPECT_FALSE(is_32bit_float(Dtype::Int32));
    EXPECT_TRUE(is_fp8(Dtype::Float8E4m3fn));
    EXPECT_FALSE(is_fp8(Dtype::Float8E8m0)) << "a scale, not a value";
    EXPECT_TRUE(is_packed_x4(Dtype::Float4E2m1fnX4));
}

}  // namespace
}  // namespace trnsim
