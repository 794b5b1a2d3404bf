// SPDX-License-Identifier: Apache-2.0
// Slots of a site: who gets which, when it is free again, and what goes when none is.
#include "trnsim/lowering/tiles/tile_slots.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace trnsim::lowering {
namespace {

/// A site of `slots` slots whose instances have so many uses each.
class Site {
public:
    Site(std::int64_t slots, const std::vector<std::int64_t>& uses)
        : tiles_({.slots = slots, .slot_bytes = 128, .address = 1024}, liveness_of(uses)) {}

    /// Begins the next tile and gives it bytes; where they are.
    std::int64_t place(std::int64_t instance) {
        tiles_.begin();
        Tile& tile = *tiles_.find(instance);
        tiles_.give(tile);
        return tile.slot->address;
    }

    TileSlots* operator->() { return &tiles_; }
    bool use(std::int64_t instance) { return tiles_.use(*tiles_.find(instance)); }

private:
    static SiteLiveness liveness_of(const std::vector<std::int64_t>& uses) {
        SiteLiveness liveness;
        liveness.instances = static_cast<std::int64_t>(uses.size());
        for (const std::int64_t count : uses) {
            liveness.uses.push_back({.instances = 1, .uses = count});
        }
        return liveness;
    }

    TileSlots tiles_;
};

TEST(TileSlotsTest, TilesTakeSlotsInOrderOfAddress) {
    Site tiles(2, {1, 1});
    EXPECT_EQ(tiles.place(0), 1024);
    EXPECT_EQ(tiles.place(1), 1152);
    EXPECT_FALSE(tiles->has_room());
}

TEST(TileSlotsTest, ASlotIsFreeAfterItsTilesLastUse) {
    Site tiles(1, {2, 1});
    tiles.place(0);
    EXPECT_FALSE(tiles.use(0));
    EXPECT_NE(tiles->find(0), nullptr);
    EXPECT_TRUE(tiles.use(0));
    EXPECT_EQ(tiles->find(0), nullptr);
    EXPECT_EQ(tiles.place(1), 1024);
}

TEST(TileSlotsTest, ANewTileTakesTheSlotFreeForLongest) {
    Site tiles(3, {1, 1, 1, 1, 1});
    for (int i = 0; i < 3; ++i) {
        tiles.place(i);
    }
    tiles.use(2);
    tiles.use(0);
    EXPECT_EQ(tiles->next_slot()->address, 1024 + 2 * 128);
    EXPECT_EQ(tiles.place(3), 1024 + 2 * 128);
    EXPECT_EQ(tiles.place(4), 1024);
    EXPECT_EQ(tiles->next_slot(), nullptr);
}

TEST(TileSlotsTest, TilesGetBytesInTheOrderOfTheirAllocation) {
    Site tiles(1, {1, 1});
    tiles->begin();
    tiles->begin();
    EXPECT_FALSE(tiles->obstacle(*tiles->find(0)).stands());
    EXPECT_TRUE(tiles->obstacle(*tiles->find(1)).stands()) << "tile 0 may need them first";
    tiles->give(*tiles->find(1));  // Nobody else could go on.
    EXPECT_TRUE(tiles->obstacle(*tiles->find(0)).stands());
    tiles.use(1);
    EXPECT_FALSE(tiles->obstacle(*tiles->find(0)).stands());
}

TEST(TileSlotsTest, WhatKeepsATileWaitingStandsUntilItMayHaveBytes) {
    Site tiles(1, {1, 1});
    tiles->begin();
    tiles->begin();
    const Obstacle turn = tiles->obstacle(*tiles->find(1));
    EXPECT_TRUE(turn.stands());
    tiles->give(*tiles->find(0));
    EXPECT_FALSE(turn.stands()) << "tile 1 is next";
    const Obstacle room = tiles->obstacle(*tiles->find(1));
    EXPECT_TRUE(room.stands()) << "but tile 0 has the only slot";
    tiles.use(0);
    EXPECT_FALSE(room.stands());
    EXPECT_FALSE(tiles->obstacle(*tiles->find(1)).stands());
}

TEST(TileSlotsTest, ATurnComesAfterAllThoseBefore) {
    Site tiles(3, {1, 1, 1});
    tiles->begin();
    tiles->begin();
    tiles->begin();
    const Obstacle turn = tiles->obstacle(*tiles->find(2));
    tiles->give(*tiles->find(1));  // Before its turn.
    EXPECT_TRUE(turn.stands());
    EXPECT_TRUE(tiles->obstacle(*tiles->find(2)).stands());
    tiles->give(*tiles->find(0));
    EXPECT_FALSE(turn.stands());
    EXPECT_FALSE(tiles->obstacle(*tiles->find(2)).stands());
}

TEST(TileSlotsTest, AnUnusedInstanceIsNoTile) {
    Site tiles(1, {0, 1, 0});
    tiles->begin();
    EXPECT_EQ(tiles->find(0), nullptr);
    EXPECT_FALSE(tiles->is_over());
    tiles.place(1);
    EXPECT_FALSE(tiles->is_over());
    tiles.use(1);
    EXPECT_TRUE(tiles->is_over());
}

TEST(TileSlotsTest, OverlaidSitesAreHandedOutOnce) {
    SiteLiveness liveness{.instances = 1, .uses = {{1, 1}}};
    TileSlots tiles({.slots = 1, .slot_bytes = 64, .overlaid = {3, 5}}, liveness);
    EXPECT_EQ(tiles.take_overlaid(), (std::vector<std::uint32_t>{3, 5}));
    EXPECT_TRUE(tiles.take_overlaid().empty());
}

}  // namespace
}  // namespace trnsim::lowering
