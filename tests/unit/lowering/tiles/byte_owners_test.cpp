// SPDX-License-Identifier: Apache-2.0
// Bytes change owners, and only the last one is told.
#include "trnsim/lowering/tiles/byte_owners.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <set>

namespace trnsim::lowering {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

TEST(ByteOwnersTest, BytesThatNobodyHadHaveNoFormerOwner) {
    ByteOwners owners;
    EXPECT_THAT(owners.take(0, 64, 7), IsEmpty());
    EXPECT_THAT(owners.take(64, 128, 8), IsEmpty()) << "ranges that only touch";
}

TEST(ByteOwnersTest, OnlyTheLatestOwnerIsTold) {
    ByteOwners owners;
    owners.take(0, 64, 1);
    owners.take(0, 64, 2);
    EXPECT_THAT(owners.take(0, 64, 3), ElementsAre(2));
}

TEST(ByteOwnersTest, WhatIsNotTakenKeepsItsOwner) {
    ByteOwners owners;
    owners.take(0, 90, 1);
    owners.take(30, 60, 2);
    EXPECT_THAT(owners.take(0, 30, 3), ElementsAre(1));
    EXPECT_THAT(owners.take(59, 61, 4), ElementsAre(1, 2));
    EXPECT_THAT(owners.take(61, 90, 5), ElementsAre(1));
}

TEST(ByteOwnersTest, AnOwnerOfSeveralPiecesIsToldOnce) {
    ByteOwners owners;
    owners.take(0, 90, 1);
    owners.take(30, 60, 2);
    EXPECT_THAT(owners.take(0, 90, 3), ElementsAre(1, 2));
}

TEST(ByteOwnersTest, NoBytesChangeNothing) {
    ByteOwners owners;
    owners.take(0, 64, 1);
    EXPECT_THAT(owners.take(32, 32, 2), IsEmpty());
    EXPECT_THAT(owners.take(0, 64, 3), ElementsAre(1));
}

TEST(ByteOwnersTest, KnowsTheOwnerOfEveryByte) {
    constexpr std::size_t kBytes = 40;
    std::mt19937 random(1);
    std::array<std::optional<std::uint32_t>, kBytes + 1> expected;
    ByteOwners owners;
    for (std::uint32_t owner = 0; owner < 2000; ++owner) {
        const std::size_t begin = random() % (kBytes + 1);
        const std::size_t end = begin + random() % (kBytes + 1 - begin);
        std::set<std::uint32_t> former;
        for (std::size_t byte = begin; byte < end; ++byte) {
            if (expected.at(byte)) {
                former.insert(*expected.at(byte));
            }
            expected.at(byte) = owner;
        }
        ASSERT_THAT(
            owners.take(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end), owner),
            ElementsAreArray(former));
    }
}

}  // namespace
}  // namespace trnsim::lowering
