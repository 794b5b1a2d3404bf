// SPDX-License-Identifier: Apache-2.0
// Dependencies by region: the rules one by one, then against a map of bytes.
#include "trnsim/lowering/dependencies/access_history.hpp"

#include "queues.hpp"
#include "random_accesses.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace trnsim::lowering {
namespace {

using neuron_core::QueueId;
using test::dense;
using test::kScalar;
using test::kTen;
using test::kTensor;
using test::kVector;

RegionAccess access_to(const RegionShape& shape,
                       std::int64_t byte,
                       Access access,
                       QueueId queue,
                       std::uint64_t number) {
    return {.region = Region(shape, 0, byte), .access = access, .queue = queue, .number = number};
}

RegionAccess read(QueueId queue, std::uint64_t number, std::int64_t byte = 0) {
    return access_to(kTen, byte, Access::Read, queue, number);
}
RegionAccess write(QueueId queue, std::uint64_t number, std::int64_t byte = 0) {
    return access_to(kTen, byte, Access::Write, queue, number);
}
RegionAccess accumulate(std::uint64_t number) {
    return access_to(kTen, 0, Access::Accumulate, kTensor, number);
}

/// "vector done 3, scalar read 1": what an access waits for after others.
std::string waits_after(const std::vector<RegionAccess>& before, const RegionAccess& access) {
    AccessHistory history;
    for (const RegionAccess& each : before) {
        history.record(each);
    }
    WaitSet waits;
    history.collect(access, waits);
    std::string text;
    for (int queue = 0; queue < neuron_core::kEngineQueues; ++queue) {
        const WaitSet::Need& need = waits[static_cast<QueueId>(queue)];
        const std::string engine(name(static_cast<Engine>(queue)));
        if (need.done > 0) {
            text += (text.empty() ? "" : ", ") + engine + " done " + std::to_string(need.done);
        }
        if (need.read > 0) {
            text += (text.empty() ? "" : ", ") + engine + " read " + std::to_string(need.read);
        }
    }
    return text;
}

RegionAccess in_lane(std::int32_t partition, RegionAccess access, std::int32_t row_bytes = 0) {
    access.lanes = {.row_bytes = row_bytes, .partition = partition};
    return access;
}

TEST(AccessHistoryTest, AQueueWaitsForItselfWhereBytesChangeLanes) {
    const std::vector<RegionAccess> before{in_lane(8, write(kVector, 1)),
                                           in_lane(8, read(kVector, 2))};
    EXPECT_EQ(waits_after(before, in_lane(8, write(kVector, 3))), "");
    EXPECT_EQ(waits_after(before, in_lane(0, write(kVector, 3))), "vector done 1, vector read 2");
    EXPECT_EQ(waits_after(before, in_lane(8, write(kVector, 3, 5))), "vector done 1, vector read 2")
        << "other bytes of a lane are in other partitions";
    EXPECT_EQ(waits_after(before, in_lane(0, write(kVector, 3, 10))), "");
    EXPECT_EQ(waits_after({in_lane(8, read(kVector, 1))}, in_lane(0, read(kVector, 2))), "");
    EXPECT_EQ(waits_after({in_lane(8, read(kVector, 1)), in_lane(0, read(kVector, 2))},
                          in_lane(0, write(kVector, 3))),
              "vector read 1")
        << "the later read of the same bytes says nothing about the earlier one";
    EXPECT_EQ(
        waits_after({in_lane(8, write(kVector, 1), 64)}, in_lane(8, write(kVector, 2, 5), 64)), "")
        << "rows of both begin alike";
    EXPECT_EQ(waits_after({in_lane(Lanes::kNowhere, write(kVector, 1))},
                          in_lane(Lanes::kNowhere, write(kVector, 2))),
              "vector done 1");
    EXPECT_EQ(waits_after({in_lane(Lanes::kApart, write(kVector, 1))},
                          in_lane(Lanes::kApart, write(kVector, 2))),
              "");
    EXPECT_EQ(
        waits_after({in_lane(Lanes::kApart, write(kVector, 1))}, in_lane(0, write(kVector, 2))),
        "vector done 1");
}

TEST(RegionTest, OverlapNeedsACommonPartitionAndACommonByte) {
    const RegionShape quadrant = dense(10, 32);
    const Region a(quadrant, 0, 0);
    EXPECT_TRUE(overlap(a, Region(quadrant, 0, 9)));
    EXPECT_FALSE(overlap(a, Region(quadrant, 0, 10)));
    EXPECT_FALSE(overlap(a, Region(quadrant, 32, 0)));
    EXPECT_TRUE(overlap(a, Region(kTen, 0, 0)));
}

TEST(RegionTest, InterleavedRegionsDoNotOverlap) {
    const RegionShape even({.dtype = Dtype::Float32, .partitions = 128, .pattern = {{2, 64}}});
    const Region a(even, 0, 0);
    EXPECT_FALSE(overlap(a, Region(even, 0, 4)));
    EXPECT_TRUE(overlap(a, Region(even, 0, 8)));
}

TEST(RegionTest, ContainsOnlyWhatItTouchesForCertain) {
    const RegionShape inner = dense(4, 32);
    const Region outer(kTen, 0, 0);
    EXPECT_TRUE(contains(outer, Region(inner, 96, 6)));
    EXPECT_FALSE(contains(outer, Region(inner, 96, 7)));
    const RegionShape strided({.dtype = Dtype::Uint8, .partitions = 128, .pattern = {{2, 5}}});
    const Region holes(strided, 0, 0);
    EXPECT_TRUE(contains(outer, holes));
    EXPECT_FALSE(contains(holes, Region(inner, 0, 0)));
    EXPECT_TRUE(contains(holes, holes));
}

TEST(RegionTest, ANegativeStrideReachesBelowItsBase) {
    const RegionShape backwards({.dtype = Dtype::Float32, .partitions = 128, .pattern = {{-1, 4}}});
    const Region region(backwards, 0, 12);
    EXPECT_EQ(region.begin(), 0);
    EXPECT_EQ(region.end(), 16);
    EXPECT_FALSE(overlap(region, Region(backwards, 0, 28)));
}

TEST(AccessHistoryTest, AReadWaitsForTheEndOfTheWriteBeforeIt) {
    EXPECT_EQ(waits_after({write(kVector, 3)}, read(kScalar, 1)), "vector done 3");
}

TEST(AccessHistoryTest, AReadWaitsForTheEndOfItsOwnQueuesWriteToo) {
    EXPECT_EQ(waits_after({write(kVector, 3)}, read(kVector, 4)), "vector done 3");
}

TEST(AccessHistoryTest, AWriteWaitsForReadersToHaveRead) {
    EXPECT_EQ(waits_after({read(kVector, 3), read(kScalar, 2)}, write(kTensor, 1)),
              "vector read 3, scalar read 2");
}

TEST(AccessHistoryTest, AWriteWaitsForTheEndOfAnotherQueuesWrite) {
    EXPECT_EQ(waits_after({write(kVector, 3)}, write(kScalar, 1)), "vector done 3");
}

TEST(AccessHistoryTest, AWriteDoesNotWaitForItsOwnQueuesAccesses) {
    EXPECT_EQ(waits_after({write(kVector, 3), read(kVector, 4)}, write(kVector, 5)), "");
}

TEST(AccessHistoryTest, ReadsDoNotWaitForReads) {
    EXPECT_EQ(waits_after({read(kVector, 3)}, read(kScalar, 1)), "");
}

TEST(AccessHistoryTest, AnUpdateReadsAndWrites) {
    const RegionAccess update = access_to(kTen, 0, Access::Update, kScalar, 1);
    EXPECT_EQ(waits_after({write(kVector, 3)}, update), "vector done 3");
    EXPECT_EQ(waits_after({read(kVector, 3)}, update), "vector read 3");
    EXPECT_EQ(waits_after({update}, read(kVector, 1)), "scalar done 1");
}

TEST(AccessHistoryTest, AccumulationsDoNotWaitForOneAnother) {
    EXPECT_EQ(waits_after({write(kTensor, 1), accumulate(2)}, accumulate(3)), "");
}

TEST(AccessHistoryTest, AnAccumulationWaitsForWhatOthersWroteAndRead) {
    EXPECT_EQ(waits_after({write(kVector, 7), read(kScalar, 5)}, accumulate(1)),
              "vector done 7, scalar read 5");
}

TEST(AccessHistoryTest, AReadWaitsForTheLastAccumulation) {
    EXPECT_EQ(waits_after({write(kTensor, 1), accumulate(2), accumulate(3)}, read(kVector, 1)),
              "tensor done 3");
}

TEST(AccessHistoryTest, AWriteReplacesWhatItCovers) {
    EXPECT_EQ(
        waits_after({write(kVector, 3), read(kTensor, 8), write(kScalar, 4)}, write(kTensor, 9)),
        "scalar done 4");
}

TEST(AccessHistoryTest, AWriteKeepsWhatItCoversInPartOnly) {
    EXPECT_EQ(waits_after({write(kVector, 3, 0), write(kScalar, 4, 5)}, read(kTensor, 9, 0)),
              "vector done 3, scalar done 4");
}

TEST(AccessHistoryTest, DistantBytesDoNotMatter) {
    EXPECT_EQ(waits_after({write(kVector, 3, 100)}, write(kScalar, 1, 110)), "");
}

TEST(AccessHistoryTest, WhatTheQueueHasWaitedForIsLeftOut) {
    AccessHistory history;
    history.record(write(kVector, 3));
    history.record(write(kScalar, 4, 5));
    KnownWaits known;
    known.add(kVector, 3);
    known.add(kScalar, 3);
    WaitSet waits;
    waits.clear(known);
    history.collect(read(kTensor, 1, 5), waits);
    EXPECT_EQ(waits.queues(), 1U << kScalar);
}

TEST(AccessHistoryTest, WhatAQueueKnowsOfEverythingIsLookedAtAgainWhenThereIsMore) {
    AccessHistory history;
    KnownWaits known;
    const auto waits_of_a_read = [&] {
        WaitSet waits;
        waits.clear(known);
        history.collect(read(kTensor, 1), waits);
        return waits[kVector].done;
    };
    history.former().need_done(kVector, 3);
    EXPECT_EQ(waits_of_a_read(), 3U);
    known.add(kVector, 3);
    EXPECT_EQ(waits_of_a_read(), 0U);
    EXPECT_EQ(waits_of_a_read(), 0U);
    history.former().need_done(kVector, 5);
    EXPECT_EQ(waits_of_a_read(), 5U);
}

TEST(AccessHistoryTest, AReadThatKnowsOfEveryEndSaysNothingOfAWriteThatMustWaitForReads) {
    AccessHistory history;
    history.former().need_read(kVector, 3);
    WaitSet waits;
    history.collect(read(kTensor, 1), waits);
    EXPECT_EQ(waits.queues(), 0U);
    history.collect(write(kTensor, 2), waits);
    EXPECT_EQ(waits[kVector].read, 3U);
}

TEST(AccessHistoryTest, AWriteDoesNotWaitForTheInheritedAccessesOfItsOwnQueue) {
    AccessHistory history;
    history.former().need_done(kTensor, 3);
    history.former().need_read(kTensor, 5);
    WaitSet waits;
    history.collect(write(kTensor, 6), waits);
    EXPECT_EQ(waits.queues(), 0U);
    history.collect(read(kTensor, 7), waits);
    EXPECT_EQ(waits[kTensor].done, 3U);
    EXPECT_EQ(waits[kTensor].read, 0U);
}

TEST(AccessHistoryTest, InheritedAccessesOverlapWithEverything) {
    AccessHistory old;
    old.record(write(kVector, 3, 500));
    old.record(read(kScalar, 2, 700));
    AccessHistory history;
    WaitSet all;
    old.collect_all(all);
    history.former().need(all);
    WaitSet waits;
    history.collect(write(kTensor, 1), waits);
    EXPECT_EQ(waits[kVector].done, 3U);
    EXPECT_EQ(waits[kScalar].read, 2U);
}

/// What the next owner of bytes waits for that had a former owner.
WaitSet waits_of_next_owner(const RegionAccess& access) {
    AccessHistory history;
    history.former().need_done(kVector, 3);
    history.former().need_read(kScalar, 4);
    history.record(access);
    WaitSet all;
    history.collect_all(all);
    return all;
}

TEST(AccessHistoryTest, WhoComesAfterAWriteDoesNotWaitForThoseThatTheWriteWaitedFor) {
    const WaitSet after_write = waits_of_next_owner(write(kTensor, 1));
    EXPECT_EQ(after_write[kTensor].done, 1U);
    EXPECT_EQ(after_write.queues(), 1U << kTensor);
}

TEST(AccessHistoryTest, WhoComesAfterAReadStillWaitsForFormerReaders) {
    const WaitSet after_read = waits_of_next_owner(read(kTensor, 1));
    EXPECT_EQ(after_read[kTensor].read, 1U);
    EXPECT_EQ(after_read[kVector].done, 3U);
    EXPECT_EQ(after_read[kScalar].read, 4U) << "a read does not wait for them";
}

TEST(AccessHistoryTest, TheNextOwnerWaitsForAccessesThatWereMerged) {
    AccessHistory history;
    history.former().need_done(kScalar, 9);
    const auto accesses = static_cast<std::int64_t>(2 * AccessHistory::kMaxEntries);
    history.record(write(kTensor, 1, 0));
    for (std::int64_t i = 1; i < accesses; ++i) {
        history.record(write(kVector, static_cast<std::uint64_t>(i), 10 * i));
    }
    WaitSet all;
    history.collect_all(all);
    EXPECT_EQ(all[kTensor].done, 1U);
    EXPECT_EQ(all[kVector].done, static_cast<std::uint64_t>(accesses - 1));
    EXPECT_EQ(all[kScalar].done, 0U);
}

TEST(AccessHistoryTest, WhatIsClearedHasHadNoOwner) {
    AccessHistory history;
    history.record(write(kTensor, 1));
    history.clear();
    history.former().need_done(kVector, 3);
    WaitSet all;
    history.collect_all(all);
    EXPECT_EQ(all[kVector].done, 3U) << "nobody has written since";
    EXPECT_EQ(all[kTensor].done, 0U);
}

TEST(AccessHistoryTest, ForgetsNothingWhenThereAreManyAccesses) {
    AccessHistory history;
    constexpr std::int64_t kAccesses = 5 * static_cast<std::int64_t>(AccessHistory::kMaxEntries);
    for (std::int64_t i = 0; i < kAccesses; ++i) {
        history.record(write(kVector, static_cast<std::uint64_t>(i + 1), 10 * i));
    }
    for (std::int64_t i = 0; i < kAccesses; ++i) {
        WaitSet waits;
        history.collect(read(kScalar, 1, 10 * i), waits);
        ASSERT_GE(waits[kVector].done, static_cast<std::uint64_t>(i + 1));
    }
}

TEST(AccessHistoryTest, BeyondSoManyEntriesTheOlderHalfOverlapsWithEverything) {
    AccessHistory history;
    std::uint64_t recorded = 0;
    const auto record_up_to = [&](std::uint64_t number) {
        while (recorded < number) {
            const auto byte = static_cast<std::int64_t>(10 * ++recorded);
            history.record(recorded % 2 == 0 ? write(kScalar, recorded, byte)
                                             : read(kVector, recorded, byte));
        }
    };
    const auto waits_far_away = [&] {
        WaitSet waits;
        history.collect(write(kTensor, 1, 100'000), waits);
        return waits;
    };
    record_up_to(96);
    EXPECT_EQ(waits_far_away().queues(), 0U);
    record_up_to(97);
    EXPECT_EQ(waits_far_away()[kVector].read, 47U);
    EXPECT_EQ(waits_far_away()[kScalar].done, 48U);
    record_up_to(142);  // 94 and the two that are merged.
    EXPECT_EQ(waits_far_away()[kScalar].done, 48U);
    record_up_to(143);  // The older half of all: 46 beside those two.
    EXPECT_EQ(waits_far_away()[kVector].read, 93U);
    EXPECT_EQ(waits_far_away()[kScalar].done, 94U);
}

/// Accesses of up to `elements` elements that begin below `span` bytes.
struct Dice {
    unsigned seed;
    std::int64_t span;
    std::int64_t elements;

    friend std::ostream& operator<<(std::ostream& os, const Dice& dice) {
        return os << "seed " << dice.seed << ", " << dice.elements << " elements in " << dice.span
                  << " bytes";
    }
};

class AccessHistoryOfDice : public testing::TestWithParam<Dice> {};

TEST_P(AccessHistoryOfDice, WaitsForWhateverAMapOfBytesDemands) {
    const Dice dice = GetParam();
    test::AccessDice draw(dice.seed, dice.span, dice.elements);
    test::ByteMap bytes(dice.span + 1024);
    AccessHistory history;
    for (int i = 0; i < 2000; ++i) {
        const RegionAccess access = draw.next();
        WaitSet waits;
        history.collect(access, waits);
        ASSERT_EQ(test::missing(waits, bytes.required(access)), "covers") << "access " << i;
        history.record(access);
        bytes.record(access);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds,
                         AccessHistoryOfDice,
                         testing::Values(Dice{1, 64, 24},
                                         Dice{2, 256, 24},
                                         Dice{3, 256, 100},
                                         Dice{4, 4096, 4},
                                         Dice{5, 16384, 2}));

TEST(AccessHistoryTest, WaitsOnlyForAccessesWithACommonByteWhileNoneIsMerged) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        test::AccessDice draw(seed, 256, 24);
        const test::ByteMap bytes(2048);
        AccessHistory history;
        std::vector<RegionAccess> all;
        for (std::size_t i = 0; i < AccessHistory::kMaxEntries; ++i) {
            const RegionAccess access = draw.next();
            WaitSet waits;
            history.collect(access, waits);
            for (const RegionAccess& earlier : all) {
                const WaitSet::Need& need = waits[earlier.queue];
                if (need.done == earlier.number || need.read == earlier.number) {
                    ASSERT_TRUE(bytes.meet(access, earlier)) << "seed " << seed;
                }
            }
            history.record(access);
            all.push_back(access);
        }
    }
}

}  // namespace
}  // namespace trnsim::lowering
