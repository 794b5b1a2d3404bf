// SPDX-License-Identifier: Apache-2.0
// Edit distance and the name that was probably meant.
#include "trnsim/base/nearest_name.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace trnsim {
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

TEST(NearestNameTest, HasTheFewestEdits) {
    constexpr std::array<std::string_view, 3> kNames{"tensor_copy", "tensor_scalar", "memset"};
    EXPECT_EQ(nearest_name("tensr_copy", kNames), "tensor_copy");
    EXPECT_EQ(nearest_name("mem_set", kNames), "memset");
    EXPECT_EQ(nearest_name("memset", kNames), "memset");
}

TEST(NearestNameTest, OfEquallyNearOnesIsTheOneThatBeginsAlike) {
    constexpr std::array<std::string_view, 2> kNames{"dst", "data"};
    EXPECT_EQ(nearest_name("dat", kNames), "data");
    EXPECT_EQ(nearest_name("dstt", kNames), "dst");
}

TEST(NearestNameTest, IsOneThatBeginsWithWhatWasTyped) {
    const std::vector<std::string> names{"dma.rings", "dma.engine_gb_per_s", "dma.engines", "dma"};
    EXPECT_EQ(nearest_name("dma.eng", names), "dma.engines");
    EXPECT_EQ(nearest_name("dma.engine", names), "dma.engines");
    EXPECT_EQ(nearest_name("dma.ring", names), "dma.rings");
    EXPECT_EQ(nearest_name("dma.e", std::vector<std::string>{"dma.engine_gb_per_s"}), "");
}

TEST(NearestNameTest, IsNoneWhenNoneIsNear) {
    const std::vector<std::string> names{"affine", "static"};
    EXPECT_EQ(nearest_name("while", names), "");
    EXPECT_EQ(nearest_name("", names), "");
    EXPECT_EQ(nearest_name("while", std::vector<std::string>{}), "");
}

TEST(NearestNameTest, DoesNotCompareNamesTooLongToBeTyped) {
    const std::string longest(std::size_t{16} << 20, 'x');
    EXPECT_EQ(nearest_name("while", std::vector{longest}), "");
    EXPECT_EQ(nearest_name(longest, std::vector{longest}), "");
    EXPECT_EQ(nearest_name(longest, std::vector<std::string>{"while"}), "");
}

}  // namespace
}  // namespace trnsim
