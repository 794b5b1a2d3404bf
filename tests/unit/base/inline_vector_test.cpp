// SPDX-License-Identifier: Apache-2.0
// InlineVector is a vector, whether its items lie in it or not.
#include "trnsim/base/inline_vector.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace trnsim {
namespace {

using Items = InlineVector<int, 2>;

std::vector<int> contents(const Items& items) {
    return {items.begin(), items.end()};
}

Items numbers(int count) {
    Items items;
    for (int i = 0; i < count; ++i) {
        items.push_back(i);
    }
    return items;
}

bool lies_in(const Items& items) {
    const auto* const place = reinterpret_cast<const char*>(items.data());
    const auto* const begin = reinterpret_cast<const char*>(&items);
    return place >= begin && place < begin + sizeof(items);
}

TEST(InlineVectorTest, HoldsAFewItemsInItselfAndMoreElsewhere) {
    EXPECT_TRUE(Items{}.empty());
    EXPECT_TRUE(lies_in(numbers(2)));
    EXPECT_FALSE(lies_in(numbers(3)));
    EXPECT_EQ(contents(numbers(5)), (std::vector{0, 1, 2, 3, 4}));
}

TEST(InlineVectorTest, MakesNewItemsByDefaultWhateverWasThere) {
    Items items = numbers(2);
    items.clear();
    EXPECT_TRUE(items.empty());
    EXPECT_EQ(items.emplace_back(), 0);
    EXPECT_EQ(items.emplace_back(), 0);
}

TEST(InlineVectorTest, KeepsTheOrderOfWhatIsNotErased) {
    Items items = numbers(6);
    items.erase(items.begin() + 1, items.begin() + 3);
    EXPECT_EQ(contents(items), (std::vector{0, 3, 4, 5}));
    items.erase_if([](int item) { return item == 0 || item == 4; });
    EXPECT_EQ(contents(items), (std::vector{3, 5}));
}

TEST(InlineVectorTest, CopiesAndMovesItsItemsFromWhereverTheyAre) {
    for (const int count : {0, 2, 5}) {
        const std::vector<int> wanted = contents(numbers(count));
        const Items from = numbers(count);
        Items copy = from;
        copy.push_back(8);
        EXPECT_EQ(copy.size(), wanted.size() + 1);
        EXPECT_EQ(contents(from), wanted);
        Items assigned = numbers(7);
        assigned = from;
        EXPECT_EQ(contents(assigned), wanted);
        Items source = numbers(count);
        Items moved = std::move(source);
        EXPECT_EQ(contents(moved), wanted);
        Items other = numbers(4);
        other = std::move(moved);
        other.push_back(9);
        EXPECT_EQ(contents(other).back(), 9);
        EXPECT_EQ(other.size(), wanted.size() + 1);
    }
}

}  // namespace
}  // namespace trnsim
