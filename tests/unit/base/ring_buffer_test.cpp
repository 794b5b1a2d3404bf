// SPDX-License-Identifier: Apache-2.0
// RingBuffer is a queue, whatever it held before.
#include "trnsim/base/ring_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <random>
#include <utility>

namespace trnsim {
namespace {

template <typename T, std::size_t kInline>
std::deque<T> contents(const RingBuffer<T, kInline>& buffer) {
    std::deque<T> items;
    for (std::size_t i = 0; i < buffer.size(); ++i) {
        items.push_back(buffer[i]);
    }
    return items;
}

TEST(RingBufferTest, IsEmptyAtFirst) {
    const RingBuffer<int> buffer;
    EXPECT_TRUE(buffer.empty());
    EXPECT_EQ(buffer.size(), 0U);
}

TEST(RingBufferTest, TakesItemsThatLieInItselfAlongWhenItGrowsWhileWrappedAndWhenItIsMoved) {
    RingBuffer<int, 2> buffer;
    for (const int item : {1, 2}) {
        buffer.push_back(item);
    }
    buffer.pop_front();
    buffer.push_back(3);
    RingBuffer<int, 2> moved = std::move(buffer);
    EXPECT_EQ(contents(moved), (std::deque{2, 3}));
    moved.push_back(4);
    EXPECT_EQ(contents(moved), (std::deque{2, 3, 4}));
    RingBuffer<int, 2> again = std::move(moved);
    again.push_back(5);
    EXPECT_EQ(contents(again), (std::deque{2, 3, 4, 5}));
}

TEST(RingBufferTest, GivesItemsBackInTheirOrderWhenItGrowsWhileWrapped) {
    RingBuffer<int> buffer;
    for (int i = 0; i < 8; ++i) {
        buffer.push_back(i);
    }
    for (int i = 0; i < 5; ++i) {
        buffer.pop_front();
    }
    for (int i = 8; i < 20; ++i) {
        buffer.push_back(i);
    }
    EXPECT_EQ(buffer.front(), 5);
    EXPECT_EQ(buffer.back(), 19);
    for (int i = 5; i < 20; ++i) {
        ASSERT_EQ(buffer.front(), i);
        buffer.pop_front();
    }
    EXPECT_TRUE(buffer.empty());
}

TEST(RingBufferTest, InsertsBeforeAnItemAndKeepsTheOthersInOrder) {
    RingBuffer<int> buffer;
    for (const int item : {1, 2, 4}) {
        buffer.push_back(item);
    }
    buffer.insert(2, 3);
    buffer.insert(0, 0);
    buffer.insert(5, 5);
    EXPECT_EQ(contents(buffer), (std::deque<int>{0, 1, 2, 3, 4, 5}));
}

TEST(RingBufferTest, PartsWhereAPredicateIsNotTrueAnyMore) {
    RingBuffer<int> buffer;
    EXPECT_EQ(buffer.partition_point([](int) { return true; }), 0);
    for (int i = 0; i < 11; ++i) {  // Wrapped: three of them have come and gone.
        buffer.push_back(i);
    }
    for (int i = 0; i < 3; ++i) {
        buffer.pop_front();
        buffer.push_back(11 + i);
    }
    for (int below = 0; below < 16; ++below) {
        const auto place = buffer.partition_point([below](int item) { return item < below; });
        EXPECT_EQ(place, static_cast<std::size_t>(std::clamp(below - 3, 0, 11))) << below;
    }
}

TEST(RingBufferTest, ACopyHasTheItemsAndIsAnother) {
    RingBuffer<int, 2> buffer;
    for (int i = 0; i < 9; ++i) {  // Wrapped, and more than lie in itself.
        buffer.push_back(i);
        if (i < 3) {
            buffer.pop_front();
        }
    }
    RingBuffer<int, 2> copy = buffer;
    copy.pop_front();
    copy.push_back(9);
    EXPECT_EQ(contents(buffer), (std::deque{3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(contents(copy), (std::deque{4, 5, 6, 7, 8, 9}));
    buffer = copy;
    copy.drop(copy.size());
    EXPECT_EQ(contents(buffer), (std::deque{4, 5, 6, 7, 8, 9}));
    EXPECT_TRUE(copy.empty());
}

TEST(RingBufferTest, HoldsWhatCanOnlyBeMoved) {
    RingBuffer<std::unique_ptr<int>> buffer;
    for (int i = 0; i < 20; ++i) {
        buffer.push_back(std::make_unique<int>(i));
    }
    EXPECT_EQ(*buffer.front(), 0);
    EXPECT_EQ(*buffer.back(), 19);
}

TEST(RingBufferTest, BehavesLikeADequeUnderAnyMixOfOperations) {
    std::mt19937 random(1);
    RingBuffer<int> buffer;
    std::deque<int> expected;
    for (int i = 0; i < 20'000; ++i) {
        const auto choice = random() % 8;
        if (choice < 4) {
            if (choice < 2) {
                buffer.push_back(i);
            } else {
                buffer.append() = i;
            }
            expected.push_back(i);
        } else if (choice < 7) {
            if (!expected.empty()) {
                buffer.pop_front();
                expected.pop_front();
            }
            const std::size_t dropped = choice == 6 ? expected.size() / 8 : 0;
            buffer.drop(dropped);
            expected.erase(expected.begin(),
                           expected.begin() + static_cast<std::ptrdiff_t>(dropped));
        } else {
            const std::size_t place = random() % (expected.size() + 1);
            buffer.insert(place, i);
            expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(place), i);
        }
        ASSERT_EQ(buffer.size(), expected.size());
        if (!expected.empty()) {
            ASSERT_EQ(buffer.front(), expected.front());
            ASSERT_EQ(buffer.back(), expected.back());
        }
    }
    EXPECT_EQ(contents(buffer), expected);
}

}  // namespace
}  // namespace trnsim
