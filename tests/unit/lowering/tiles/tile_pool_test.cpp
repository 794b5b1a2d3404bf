// SPDX-License-Identifier: Apache-2.0
// A pool gives tiles of all sites bytes of their own, reused late, with everything they must wait
// for.
#include "trnsim/lowering/tiles/tile_pool.hpp"

#include "queues.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/lowering/order/planned_step.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>
#include <vector>

namespace trnsim::lowering {
namespace {

using neuron_core::queue_of;
using neuron_core::QueueId;
using test::kVector;

/// Records that Vector's instruction `number` wrote the whole tile.
void write(Slot& slot, const RegionShape& shape, std::uint64_t number) {
    slot.history.record(
        {.region = Region(shape), .access = Access::Write, .queue = kVector, .number = number});
}

/// Which instruction of Vector another queue must wait for before it writes the tile.
std::uint64_t needed(const Slot& slot, const RegionShape& shape) {
    WaitSet waits;
    slot.history.collect({.region = Region(shape),
                          .access = Access::Write,
                          .queue = queue_of(Engine::Scalar),
                          .number = 1},
                         waits);
    return waits[kVector].done;
}

/// A pool whose tiles are nobody's.
class Pool : public TilePool {
public:
    using TilePool::TilePool;
    Slot& put(std::int64_t bytes) { return place(tiles_.emplace_back(), bytes); }

private:
    std::deque<Tile> tiles_;
};

const RegionShape kTile({.dtype = Dtype::Uint8, .partitions = 128, .pattern = {{1, 100}}});

TEST(TilePoolTest, TilesLieBehindEachOther) {
    Pool pool(1000);
    EXPECT_EQ(pool.put(300).address, 0);
    EXPECT_EQ(pool.put(200).address, 300);
    EXPECT_EQ(pool.put(500).address, 500);
    EXPECT_FALSE(pool.has_gap(1));
}

TEST(TilePoolTest, BytesAreReusedAsLateAsPossible) {
    Pool pool(1000);
    Slot& first = pool.put(300);
    pool.remove(first);
    EXPECT_EQ(pool.put(300).address, 300);
    EXPECT_EQ(pool.put(300).address, 600);
    EXPECT_EQ(pool.put(300).address, 0);
}

TEST(TilePoolTest, AGapMustBeLargeEnough) {
    Pool pool(1000);
    Slot& low = pool.put(300);
    static_cast<void>(pool.put(300));
    Slot& high = pool.put(300);
    pool.remove(low);
    pool.remove(high);
    EXPECT_TRUE(pool.has_gap(400));
    EXPECT_FALSE(pool.has_gap(401)) << "700 bytes are free, but not in one piece";
    EXPECT_EQ(pool.put(400).address, 600);
}

TEST(TilePoolTest, RemembersItsFullestMoment) {
    Pool pool(1000);
    Slot& first = pool.put(300);
    static_cast<void>(pool.put(200));
    pool.remove(first);
    static_cast<void>(pool.put(100));
    EXPECT_EQ(pool.peak_bytes(), 500);
}

TEST(TilePoolTest, ATileWaitsForWhatItsBytesHeldBefore) {
    Pool pool(200);
    Slot& old = pool.put(100);
    write(old, kTile, 7);
    pool.remove(old);
    EXPECT_EQ(needed(pool.put(100), kTile), 0U) << "other bytes";
    EXPECT_EQ(needed(pool.put(100), kTile), 7U);
}

TEST(TilePoolTest, AllWhoTakeAPartOfATilesBytesWaitForIt) {
    Pool pool(100);
    Slot& old = pool.put(100);
    write(old, kTile, 7);
    pool.remove(old);
    const Slot& low = pool.put(40);
    EXPECT_EQ(needed(low, kTile), 7U);
    EXPECT_EQ(needed(pool.put(60), kTile), 7U);
}

TEST(TilePoolTest, WhoComesAfterAlsoWaitsForWhatThoseWaitedFor) {
    Pool pool(100);
    Slot& old = pool.put(100);
    write(old, kTile, 7);
    pool.remove(old);
    pool.remove(pool.put(100));
    EXPECT_EQ(needed(pool.put(100), kTile), 7U) << "the tile between them was never touched";
}

TEST(TilePoolTest, GivesUpTheTileUnusedForLongestButNoneInUse) {
    Pool pool(300);
    std::array<Tile, 3> tiles{Tile{.last_use = 5}, Tile{.last_use = 3}, Tile{.last_use = 4}};
    for (Tile& tile : tiles) {
        static_cast<void>(pool.place(tile, 100));
    }
    Tile& oldest = tiles[1];
    EXPECT_EQ(pool.victim(9), &oldest);
    EXPECT_EQ(pool.victim(3), nullptr);
}

TEST(TilePoolTest, GivesUpTheTileThatTheStepsInTheWindowNeedLast) {
    Pool pool(300);
    std::array<Tile, 3> tiles{Tile{.last_use = 1}, Tile{.last_use = 2}, Tile{.last_use = 3}};
    for (Tile& tile : tiles) {
        static_cast<void>(pool.place(tile, 100));
    }
    std::array<PlannedStep, 4> steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        steps[i].order = i;
    }
    const auto reads = [&steps](Tile& tile, std::size_t step) {
        tile.pending.add(steps.at(step), steps.at(step).order, {}, Access::Read);
    };
    reads(tiles[0], 0);
    reads(tiles[0], 3);
    reads(tiles[1], 2);
    reads(tiles[2], 1);
    EXPECT_EQ(pool.victim(9), &tiles[1]);
    tiles[2].pending.remove(steps[1], Access::Read);
    EXPECT_EQ(pool.victim(9), &tiles[2]) << "nothing in the window needs it";
}

TEST(TilePoolTest, RestartsOnceAtAStampIfAllWouldFitBesideEachOther) {
    Pool pool(300);
    Slot& low = pool.put(50);
    static_cast<void>(pool.put(150));
    pool.remove(low);
    EXPECT_FALSE(pool.has_gap(120)) << "150 bytes are free, but not in one piece";
    EXPECT_FALSE(pool.restart(160, 1)) << "too many";
    EXPECT_TRUE(pool.restart(120, 1));
    EXPECT_FALSE(pool.restart(120, 1)) << "it did not help";
    EXPECT_TRUE(pool.restart(120, 2));
}

TEST(TilePoolTest, ATileOfPsumStaysInABankOrBeginsOne) {
    Pool pool(4000, 1000);
    EXPECT_EQ(pool.put(600).address, 0);
    EXPECT_EQ(pool.put(600).address, 1000);
    EXPECT_EQ(pool.put(400).address, 1600);
    EXPECT_EQ(pool.put(2000).address, 2000);
    EXPECT_TRUE(pool.has_gap(400)) << "behind the first tile";
    EXPECT_FALSE(pool.has_gap(401));
}

TEST(TilePoolTest, NeverOverlapsTilesAndForgetsNoAccessUnderAnyMixOfSizes) {
    constexpr std::int64_t kBytes = 256;
    std::mt19937 random(3);
    Pool pool(kBytes);
    std::map<std::int64_t, std::pair<Slot*, std::int64_t>> tiles;
    std::vector<std::uint64_t> last_write(kBytes);
    std::deque<RegionShape> shapes;
    std::uint64_t number = 0;
    for (int i = 0; i < 20'000; ++i) {
        const std::int64_t bytes = 1 + static_cast<std::int64_t>(random() % 64);
        if (random() % 2 == 0 && pool.has_gap(bytes)) {
            Slot& slot = pool.put(bytes);
            for (const auto& [address, tile] : tiles) {
                ASSERT_TRUE(slot.address + bytes <= address ||
                            address + tile.second <= slot.address);
            }
            const RegionShape& shape = shapes.emplace_back(
                Operand{.dtype = Dtype::Uint8, .partitions = 128, .pattern = {{1, bytes}}});
            const auto begin = last_write.begin() + slot.address;
            ASSERT_GE(needed(slot, shape), *std::max_element(begin, begin + bytes));
            write(slot, shape, ++number);
            std::fill(begin, begin + bytes, number);
            tiles[slot.address] = {&slot, bytes};
        } else if (!tiles.empty()) {
            auto tile = tiles.begin();
            std::advance(tile, static_cast<std::ptrdiff_t>(random() % tiles.size()));
            pool.remove(*tile->second.first);
            tiles.erase(tile);
        }
    }
}

TEST(PooledTilesTest, ATileHasBytesFromItsFirstUserToItsLast) {
    TilePool pool(100);
    const SiteLiveness liveness{.instances = 3, .uses = {{1, 2}, {1, 0}, {1, 1}}};
    PooledTiles site(pool, 0, {.slot_bytes = 100}, liveness);
    site.begin();
    EXPECT_TRUE(site.has_room()) << "nobody has used it yet";
    site.give(*site.find(0));
    EXPECT_FALSE(site.has_room());
    site.use(*site.find(0));
    EXPECT_NE(site.find(0), nullptr);
    site.use(*site.find(0));
    EXPECT_EQ(site.find(0), nullptr);
    EXPECT_TRUE(site.has_room());
    site.begin();
    EXPECT_EQ(site.find(1), nullptr) << "never used";
    site.begin();
    EXPECT_EQ(site.find(2)->instance, 2);
}

TEST(PooledTilesTest, OneSitesTileMakesRoomForAnothers) {
    TilePool pool(100);
    const SiteLiveness liveness{.instances = 1, .uses = {{1, 1}}};
    PooledTiles a(pool, 0, {.slot_bytes = 100}, liveness);
    PooledTiles b(pool, 1, {.slot_bytes = 60}, liveness);
    a.begin();
    b.begin();
    a.give(*a.find(0));
    const Obstacle room = b.obstacle(*b.find(0));
    EXPECT_TRUE(room.stands());
    a.use(*a.find(0));
    EXPECT_FALSE(room.stands());
    EXPECT_FALSE(b.obstacle(*b.find(0)).stands());
}

/// Four tiles of one use each, two of them at once.
const SiteLiveness kFour{.instances = 4, .live_peak = 2, .uses = {{4, 1}}};

TEST(PooledTilesTest, ASiteHasNoMoreTilesAtOnceThanItMay) {
    TilePool pool(400);
    PooledTiles site(pool, 0, {.slot_bytes = 100, .most = 2}, kFour);
    for (int i = 0; i < 4; ++i) {
        site.begin();
    }
    site.give(*site.find(0));
    EXPECT_FALSE(site.obstacle(*site.find(1)).stands());
    site.give(*site.find(1));
    const Obstacle others = site.obstacle(*site.find(2));
    EXPECT_TRUE(others.stands() && site.has_room());
    site.take(*site.find(0));
    EXPECT_TRUE(others.stands()) << "one that was moved out is still alive";
    EXPECT_FALSE(site.obstacle(*site.find(0)).stands()) << "and may come back";
    site.use(*site.find(1));
    EXPECT_FALSE(others.stands());
    EXPECT_FALSE(site.obstacle(*site.find(2)).stands());
}

TEST(PooledTilesTest, WhereProgramOrderDoesNotFitASiteHasAsManyTilesAsThereIsRoomFor) {
    TilePool pool(400);
    PooledTiles site(pool, 0, {.slot_bytes = 100, .most = 1}, kFour);
    site.begin();
    site.begin();
    site.give(*site.find(0));
    pool.need().admit(400, 0);
    EXPECT_TRUE(site.obstacle(*site.find(1)).stands());
    pool.need().admit(100, 0);
    EXPECT_FALSE(site.obstacle(*site.find(1)).stands());
}

TEST(PooledTilesTest, SitesGiveUpEachOthersTiles) {
    TilePool pool(200);
    const SiteLiveness liveness{.instances = 2, .uses = {{2, 5}}};
    PooledTiles a(pool, 3, {.slot_bytes = 100}, liveness);
    PooledTiles b(pool, 4, {.slot_bytes = 100}, liveness);
    a.begin();
    b.begin();
    a.give(*a.find(0));
    b.give(*b.find(0));
    a.find(0)->last_use = 1;
    b.find(0)->last_use = 2;
    Tile& victim = *b.pool().victim(9);
    EXPECT_EQ(victim.buffer, 3U);
    a.take(victim);
    EXPECT_TRUE(a.find(0)->is_spilled);
    EXPECT_EQ(a.find(0)->slot, nullptr);
    EXPECT_TRUE(b.has_room());
}

TEST(PooledTilesTest, ASpilledTileComesBackBeforeItsTurnWithTheUsesAndTheCopyItHad) {
    TilePool pool(100);
    PooledTiles site(pool, 0, {.slot_bytes = 100}, {.instances = 2, .uses = {{2, 3}}});
    site.begin();
    site.begin();
    Tile& tile = *site.find(0);
    site.give(tile);
    site.use(tile);
    tile.is_saved = true;
    tile.save.number = 77;
    site.take(tile);
    EXPECT_FALSE(site.obstacle(tile).stands());
    EXPECT_FALSE(site.obstacle(*site.find(1)).stands());
    site.give(tile);
    EXPECT_EQ(tile.uses_left, 2);
    EXPECT_TRUE(tile.is_saved);
    EXPECT_EQ(tile.save.number, 77U);
    EXPECT_FALSE(tile.is_spilled);
}

}  // namespace
}  // namespace trnsim::lowering
