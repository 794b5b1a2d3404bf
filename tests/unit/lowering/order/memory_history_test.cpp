// SPDX-License-Identifier: Apache-2.0
// MemoryHistory is an AccessHistory that looks at near accesses only.
#include "trnsim/lowering/order/memory_history.hpp"

#include "random_accesses.hpp"
#include "trnsim/lowering/order/planned_step.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace trnsim::lowering {
namespace {

using neuron_core::queue_of_ring;

constexpr std::int64_t kBlock = 4096;

/// `bytes` of HBM from `begin` on.
struct Span {
    RegionShape shape;
    std::int64_t begin;

    Span(std::int64_t first, std::int64_t bytes)
        : shape({.space = Space::Hbm, .dtype = Dtype::Uint8, .pattern = {{1, bytes}}}),
          begin(first) {}

    [[nodiscard]] RegionAccess access(Access access, int ring, std::uint64_t number) const {
        return {.region = Region(shape, 0, begin),
                .access = access,
                .queue = queue_of_ring(ring),
                .number = number};
    }
};

std::uint64_t done_needed(const MemoryHistory& history,
                          const RegionAccess& access,
                          int ring,
                          const MemoryHistory::Block* block = nullptr) {
    WaitSet waits;
    history.collect(access, waits, block);
    return waits[queue_of_ring(ring)].done;
}

TEST(MemoryHistoryTest, FindsAnAccessThatReachesOverABlocksEdge) {
    MemoryHistory history;
    const Span first(0, kBlock);
    const Span over(kBlock - 1, 2);
    const Span after(kBlock, 1);
    history.record(first.access(Access::Write, 0, 1));
    history.record(over.access(Access::Write, 0, 2));
    EXPECT_EQ(done_needed(history, after.access(Access::Read, 1, 1), 0), 2U);
}

TEST(MemoryHistoryTest, FindsAnAccessFarLongerThanABlockFromAnywhereInIt) {
    MemoryHistory history;
    const Span near(0, 1);
    const Span wide(0, 1000 * kBlock);
    const Span far(999 * kBlock, 1);
    const Span beyond(1000 * kBlock, 1);
    history.record(near.access(Access::Write, 0, 1));
    history.record(wide.access(Access::Write, 0, 2));
    EXPECT_EQ(done_needed(history, far.access(Access::Read, 1, 1), 0), 2U);
    EXPECT_EQ(done_needed(history, beyond.access(Access::Read, 1, 2), 0), 0U);
}

TEST(MemoryHistoryTest, AnAnnouncedAccessIsFoundFromItsBytesUntilItIsWithdrawn) {
    const Span near(kBlock, 16);
    const Span far(999 * kBlock, 16);
    for (const Span& announced : {Span(kBlock, 16), Span(0, 500 * kBlock)}) {
        MemoryHistory history(kBlock);
        PlannedStep step;
        const auto comes_first = [&](const Span& span) {
            bool is_found = false;
            history.for_each_before(span.access(Access::Read, 0, 0).region,
                                    Access::Read,
                                    [&](PlannedStep& found) { is_found = &found == &step; });
            return is_found;
        };
        const Region region = announced.access(Access::Write, 0, 0).region;
        history.announce(step, region, Access::Write);
        EXPECT_TRUE(comes_first(near));
        EXPECT_TRUE(comes_first(Span(0, 600 * kBlock)));
        EXPECT_FALSE(comes_first(far));
        history.withdraw(step, region, Access::Write);
        EXPECT_FALSE(comes_first(near));
    }
}

TEST(MemoryHistoryTest, AWideAccessFindsEveryBlock) {
    MemoryHistory history;
    std::deque<Span> pieces;
    for (std::uint64_t i = 0; i < 50; ++i) {
        const Span& piece = pieces.emplace_back(static_cast<std::int64_t>(i) * 10 * kBlock, 16);
        history.record(piece.access(Access::Write, 0, i + 1));
    }
    const Span all(0, 500 * kBlock);
    const Span half(0, 250 * kBlock);
    EXPECT_EQ(done_needed(history, all.access(Access::Read, 1, 1), 0), 50U);
    EXPECT_EQ(done_needed(history, half.access(Access::Read, 1, 1), 0), 25U);
}

TEST(MemoryHistoryTest, WhoKnowsTheOneBlockOfItsBytesFindsTheSame) {
    MemoryHistory history(kBlock);
    const Span inside(kBlock, 16);
    const Span over(kBlock - 1, 2);
    const Span wide(0, 500 * kBlock);
    const RegionAccess read = inside.access(Access::Read, 1, 1);
    MemoryHistory::Block* const block = history.block_of(read.region);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(history.block_of(over.access(Access::Read, 1, 1).region), nullptr);
    history.record(over.access(Access::Write, 0, 1));
    EXPECT_EQ(done_needed(history, read, 0, block), 1U);
    history.record(inside.access(Access::Write, 0, 2), AccessHistory::kMaxEntries, block);
    EXPECT_EQ(done_needed(history, read, 0), 2U);
    history.record(wide.access(Access::Write, 0, 3));
    EXPECT_EQ(done_needed(history, read, 0, block), 3U) << "those of many blocks too";

    PlannedStep step;
    int found = 0;
    const auto count = [&found](PlannedStep&) { ++found; };
    history.announce(step, read.region, Access::Write, block);
    history.for_each_before(read.region, Access::Read, count);
    history.for_each_before(read.region, Access::Read, count, block);
    EXPECT_EQ(found, 2);
    history.withdraw(step, read.region, Access::Write, block);
    history.for_each_before(read.region, Access::Read, count, block);
    EXPECT_EQ(found, 2);
}

TEST(MemoryHistoryTest, ManyAccessesApartDoNotMeet) {
    MemoryHistory history;
    std::deque<Span> pieces;
    constexpr std::uint64_t kPieces = 10 * AccessHistory::kMaxEntries;
    for (std::uint64_t i = 0; i < kPieces; ++i) {
        const Span& piece = pieces.emplace_back(static_cast<std::int64_t>(i) * kBlock, kBlock);
        const RegionAccess access = piece.access(Access::Write, 0, i + 1);
        ASSERT_EQ(done_needed(history, piece.access(Access::Read, 1, 1), 0), 0U);
        history.record(access);
    }
}

TEST(MemoryHistoryTest, EqualsAnAccessHistoryOnAccessesOfFewBlocks) {
    // As long as the AccessHistory need not merge: accesses supersede one another on few bytes.
    for (unsigned seed = 1; seed <= 20; ++seed) {
        test::AccessDice dice(seed, 3 * kBlock, 1000);
        MemoryHistory blocks;
        AccessHistory whole;
        for (std::size_t i = 0; i < AccessHistory::kMaxEntries; ++i) {
            const RegionAccess access = dice.next();
            WaitSet found;
            WaitSet expected;
            blocks.collect(access, found);
            whole.collect(access, expected);
            ASSERT_TRUE(test::same(found, expected)) << "seed " << seed << ", access " << i;
            blocks.record(access);
            whole.record(access);
        }
    }
}

TEST(MemoryHistoryTest, WaitsForWhateverAMapOfBytesDemands) {
    test::AccessDice dice(7, 2000, 40);
    test::ByteMap bytes(4096);
    MemoryHistory history;
    for (int i = 0; i < 3000; ++i) {
        const RegionAccess access = dice.next();
        WaitSet waits;
        history.collect(access, waits);
        ASSERT_EQ(test::missing(waits, bytes.required(access)), "covers") << "access " << i;
        history.record(access);
        bytes.record(access);
    }
}

}  // namespace
}  // namespace trnsim::lowering
