// SPDX-License-Identifier: Apache-2.0
// InstanceTable is a map whose size follows the instances alive.
#include "trnsim/base/instance_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace trnsim {
namespace {

TEST(InstanceTableTest, FindsNothingAtFirst) {
    InstanceTable<int> table;
    EXPECT_EQ(table.find(0), nullptr);
    EXPECT_EQ(table.find(1'000'000'000'000), nullptr);
}

TEST(InstanceTableTest, MakesAValueByDefaultAndKeepsIt) {
    InstanceTable<int> table;
    EXPECT_EQ(table[7], 0);
    table[7] = 3;
    EXPECT_EQ(table[7], 3);
    EXPECT_EQ(*table.find(7), 3);
}

TEST(InstanceTableTest, ForgetsAnErasedKeyOnly) {
    InstanceTable<int> table;
    table[1] = 10;
    table[2] = 20;
    table.erase(1);
    table.erase(9);
    EXPECT_EQ(table.find(1), nullptr);
    EXPECT_EQ(*table.find(2), 20);
    EXPECT_EQ(table[1], 0) << "an erased value came back";
}

TEST(InstanceTableTest, KeepsKeysApartThatFallOnTheSamePlace) {
    InstanceTable<int> table;
    for (int i = 0; i < 100; ++i) {
        table[std::int64_t{i} * 1024] = i;
    }
    for (int i = 0; i < 100; ++i) {
        ASSERT_NE(table.find(std::int64_t{i} * 1024), nullptr);
        EXPECT_EQ(*table.find(std::int64_t{i} * 1024), i);
    }
}

TEST(InstanceTableTest, DoesNotGrowWithTheInstancesThatPassWhileAnOldOneStays) {
    InstanceTable<int> table;
    table[0] = 42;
    for (std::int64_t instance = 1; instance < 100'000; ++instance) {
        table[instance] = 1;
        table.erase(instance - 3 > 0 ? instance - 3 : instance);
    }
    EXPECT_EQ(*table.find(0), 42);
    EXPECT_LE(table.capacity(), 64U);
}

TEST(InstanceTableTest, BehavesLikeAMapUnderAnyMixOfOperations) {
    std::mt19937 random(2);
    InstanceTable<std::int64_t> table;
    std::map<std::int64_t, std::int64_t> expected;
    for (std::int64_t i = 0; i < 50'000; ++i) {
        const std::int64_t window = i / 100;
        const std::int64_t key = random() % 16 == 0
                                     ? static_cast<std::int64_t>(random() % 4)
                                     : window + static_cast<std::int64_t>(random() % 40);
        if (random() % 2 == 0) {
            table[key] = i;
            expected[key] = i;
        } else {
            table.erase(key);
            expected.erase(key);
        }
        const auto probe = window + static_cast<std::int64_t>(random() % 40);
        const auto known = expected.find(probe);
        const std::int64_t* found = table.find(probe);
        ASSERT_EQ(found != nullptr, known != expected.end()) << "key " << probe;
        if (found != nullptr) {
            ASSERT_EQ(*found, known->second);
        }
    }
    for (const auto& [key, value] : expected) {
        ASSERT_NE(table.find(key), nullptr);
        EXPECT_EQ(*table.find(key), value);
    }
}

}  // namespace
}  // namespace trnsim
