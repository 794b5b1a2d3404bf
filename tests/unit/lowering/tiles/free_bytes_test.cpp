// SPDX-License-Identifier: Apache-2.0
// Gaps against a map of bytes.
#include "trnsim/lowering/tiles/free_bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <random>
#include <utility>
#include <vector>

namespace trnsim::lowering {
namespace {

TEST(FreeBytesTest, AllAreFreeAtFirst) {
    const FreeBytes free(100);
    EXPECT_TRUE(free.has(100));
    EXPECT_FALSE(free.has(101));
    EXPECT_EQ(free.find(0, 100), 0);
    EXPECT_EQ(free.find(30, 70), 30);
}

TEST(FreeBytesTest, TheSearchGoesRoundOnce) {
    const FreeBytes free(100);
    EXPECT_EQ(free.find(30, 71), 0);
    EXPECT_EQ(free.find(100, 1), 0);
    EXPECT_EQ(free.find(30, 101), std::nullopt);
}

TEST(FreeBytesTest, WhatIsGivenBackJoinsItsNeighbours) {
    FreeBytes free(100);
    free.take(0, 100);
    EXPECT_FALSE(free.has(1));
    free.give_back(20, 40);
    free.give_back(60, 80);
    EXPECT_TRUE(free.has(20));
    EXPECT_FALSE(free.has(21));
    free.give_back(40, 60);
    EXPECT_TRUE(free.has(60));
    EXPECT_EQ(free.find(0, 60), 20);
}

TEST(FreeBytesTest, KnowsWhatFitsAfterEveryChange) {
    FreeBytes free(100);
    EXPECT_TRUE(free.has(100));
    free.take(50, 60);
    EXPECT_FALSE(free.has(51)) << "100 fitted before";
    EXPECT_TRUE(free.has(50));
    free.give_back(50, 60);
    EXPECT_TRUE(free.has(100)) << "51 did not fit before";
}

TEST(FreeBytesTest, GrowthsAreGapsAsLargeAsWhatDidNotFit) {
    FreeBytes free(100);
    free.take(0, 100);
    EXPECT_FALSE(free.has(30));
    const std::uint64_t before = free.growths();
    free.give_back(0, 20);
    EXPECT_EQ(free.growths(), before) << "30 bytes do not fit into 20";
    free.give_back(20, 30);
    EXPECT_GT(free.growths(), before);
    EXPECT_TRUE(free.has(30));
}

/// One flag per byte.
class ByteMap {
public:
    ByteMap(std::int64_t capacity, std::int64_t bank_bytes)
        : bank_bytes_(bank_bytes), is_taken_(static_cast<std::size_t>(capacity)) {}

    [[nodiscard]] bool fits(std::int64_t address, std::int64_t bytes) const {
        const std::int64_t into_bank = bank_bytes_ == 0 ? 0 : address % bank_bytes_;
        const auto begin = is_taken_.begin() + address;
        return address + bytes <= static_cast<std::int64_t>(is_taken_.size()) &&
               (into_bank == 0 || into_bank + bytes <= bank_bytes_) &&
               std::none_of(begin, begin + bytes, [](bool taken) { return taken; });
    }

    [[nodiscard]] std::optional<std::int64_t> find(std::int64_t start, std::int64_t bytes) const {
        const auto capacity = static_cast<std::int64_t>(is_taken_.size());
        for (std::int64_t i = 0; i < capacity; ++i) {
            const std::int64_t address = (start + i) % capacity;
            if (fits(address, bytes)) {
                return address;
            }
        }
        return std::nullopt;
    }

    void set(std::int64_t begin, std::int64_t end, bool taken) {
        std::fill(is_taken_.begin() + begin, is_taken_.begin() + end, taken);
    }

private:
    std::int64_t bank_bytes_;
    std::vector<bool> is_taken_;
};

struct Memory {
    std::int64_t capacity = 0;
    std::int64_t bank_bytes = 0;
    friend std::ostream& operator<<(std::ostream& out, const Memory& memory) {
        return out << memory.capacity << " bytes in banks of " << memory.bank_bytes;
    }
};

class FreeBytesOfDice : public testing::TestWithParam<Memory> {};

TEST_P(FreeBytesOfDice, AreThoseOfAMapOfBytes) {
    const auto [capacity, bank_bytes] = GetParam();
    std::mt19937 random(5);
    const auto below = [&random](std::int64_t bound) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
    };
    FreeBytes free(capacity, bank_bytes);
    ByteMap expected(capacity, bank_bytes);
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
    std::map<std::int64_t, std::uint64_t> refused;  // Sizes, with the growths so far.
    for (int i = 0; i < 20'000; ++i) {
        const std::int64_t bytes = 1 + below(capacity / 3);
        const std::int64_t start = below(capacity + 1);
        const std::optional<std::int64_t> found = free.find(start, bytes);
        ASSERT_EQ(found, expected.find(start, bytes)) << bytes << " bytes from " << start;
        ASSERT_EQ(free.has(bytes), found.has_value()) << bytes;
        if (!found) {
            refused[bytes] = free.growths();
        } else if (refused.contains(bytes)) {
            ASSERT_GT(free.growths(), refused[bytes]) << bytes;
            refused.erase(bytes);
        }
        if (found && below(2) == 0) {
            free.take(*found, *found + bytes);
            expected.set(*found, *found + bytes, true);
            taken.emplace_back(*found, *found + bytes);
        } else if (!taken.empty()) {
            std::swap(
                taken[static_cast<std::size_t>(below(static_cast<std::int64_t>(taken.size())))],
                taken.back());
            const auto [begin, end] = taken.back();
            taken.pop_back();
            free.give_back(begin, end);
            expected.set(begin, end, false);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Memories,
                         FreeBytesOfDice,
                         testing::Values(Memory{.capacity = 100},
                                         Memory{.capacity = 61},
                                         Memory{.capacity = 128, .bank_bytes = 16},
                                         Memory{.capacity = 120, .bank_bytes = 40}));

}  // namespace
}  // namespace trnsim::lowering
