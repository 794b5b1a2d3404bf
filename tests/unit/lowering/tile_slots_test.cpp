// SPDX-License-Identifier: Apache-2.0
// Slots of a site: who gets which, when it is free again, and what goes when none is.
#include "trnsim/lowering/tile_slots.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace trnsim::lowering {
namespace {

/// A site of `slots` slots whose instances have so many uses each.
TileSlots site(std::int64_t slots, const std::vector<std::int64_t>& uses) {
    SiteLiveness liveness;
    liveness.instances = static_cast<std::int64_t>(uses.size());
    for (const std::int64_t count : uses) {
        liveness.uses.push_back({.instances = 1, .uses = count});
    }
    return TileSlots({.slots = slots, .slot_bytes = 128, .address = 1024}, liveness);
}

std::int64_t address_of(TileSlots& tiles, std::int64_t instance) {
    return tiles.find(instance)->address;
}

TEST(TileSlotsTest, TilesTakeSlotsInOrderOfAddress) {
    TileSlots tiles = site(2, {1, 1});
    EXPECT_TRUE(tiles.allocate());
    EXPECT_TRUE(tiles.allocate());
    EXPECT_EQ(address_of(tiles, 0), 1024);
    EXPECT_EQ(address_of(tiles, 1), 1152);
}

TEST(TileSlotsTest, ASlotIsFreeAfterItsTilesLastUse) {
    TileSlots tiles = site(1, {2, 1});
    tiles.allocate();
    tiles.use(*tiles.find(0));
    EXPECT_NE(tiles.find(0), nullptr);
    tiles.use(*tiles.find(0));
    EXPECT_EQ(tiles.find(0), nullptr);
    tiles.allocate();
    EXPECT_EQ(address_of(tiles, 1), 1024);
}

TEST(TileSlotsTest, ANewTileTakesTheSlotFreeForLongest) {
    TileSlots tiles = site(3, {1, 1, 1, 1, 1});
    for (int i = 0; i < 3; ++i) {
        tiles.allocate();
    }
    tiles.use(*tiles.find(2));
    tiles.use(*tiles.find(0));
    tiles.allocate();
    tiles.allocate();
    EXPECT_EQ(address_of(tiles, 3), 1024 + 2 * 128);
    EXPECT_EQ(address_of(tiles, 4), 1024);
}

TEST(TileSlotsTest, AnUnusedInstanceTakesNoSlot) {
    TileSlots tiles = site(1, {0, 1});
    EXPECT_TRUE(tiles.next_is_unused());
    EXPECT_FALSE(tiles.allocate());
    EXPECT_FALSE(tiles.next_is_unused());
    EXPECT_TRUE(tiles.allocate());
    EXPECT_NE(tiles.find(1), nullptr);
}

TEST(TileSlotsTest, OverlaidSitesAreHandedOutOnce) {
    SiteLiveness liveness{.instances = 1, .uses = {{1, 1}}};
    TileSlots tiles({.slots = 1, .slot_bytes = 64, .overlaid = {3, 5}}, liveness);
    EXPECT_EQ(tiles.take_overlaid(), (std::vector<std::uint32_t>{3, 5}));
    EXPECT_TRUE(tiles.take_overlaid().empty());
}

}  // namespace
}  // namespace trnsim::lowering
