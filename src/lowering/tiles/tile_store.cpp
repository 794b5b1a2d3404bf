// SPDX-License-Identifier: Apache-2.0
// Lives of tiles.
#include "trnsim/lowering/tiles/tile_store.hpp"

#include <algorithm>
#include <cassert>

namespace trnsim::lowering {
namespace {

std::int64_t used_instances(const SiteLiveness& liveness) {
    std::int64_t sum = 0;
    for (const SiteLiveness::Uses& run : liveness.uses) {
        sum += run.uses > 0 ? run.instances : 0;
    }
    return sum;
}

}  // namespace

TileStore::TileStore(std::uint32_t buffer, const SiteLiveness& liveness)
    : buffer_(buffer), counter_(liveness.uses), to_come_(used_instances(liveness)) {}

void TileStore::begin() {
    const UseCounter::Instance next = counter_.next();
    if (next.uses == 0) {
        return;
    }
    if (blanks_.empty()) {
        auto& made = *storage_.emplace_back(std::make_unique<std::array<Tile, kAtOnce>>());
        for (std::size_t i = kAtOnce; i > 0; --i) {
            blanks_.push_back(&made[i - 1]);
        }
    }
    Tile* const tile = blanks_.back();
    blanks_.pop_back();
    tile->buffer = buffer_;
    tile->instance = next.number;
    tile->uses_left = tile->uses_to_come = next.uses;
    tile->is_begun = false;
    tile->is_refused = false;
    tiles_[next.number] = tile;
    waiting_.push_back(tile);
    --to_come_;
    ++living_;
}

Tile* TileStore::find(std::int64_t instance) {
    Tile** tile = tiles_.find(instance);
    return tile == nullptr ? nullptr : *tile;
}

std::size_t TileStore::place_in_line(const Tile& tile) const {
    if (waiting_.front() == &tile) {
        return 0;
    }
    const std::size_t place = waiting_.partition_point(
        [&tile](const Tile* other) { return other->instance < tile.instance; });
    assert(waiting_[place] == &tile);
    return place;
}

bool TileStore::use(Tile& tile) {
    if (--tile.uses_left > 0) {
        return false;
    }
    assert(tile.slot != nullptr && tile.pending.empty());
    free_slot(*tile.slot);
    tiles_.erase(tile.instance);
    tile.slot = nullptr;  // The rest keeps its memory for the next tile.
    tile.is_spilled = tile.is_dirty = tile.is_saved = false;
    tile.save = RegionAccess{};
    tile.last_use = 0;
    blanks_.push_back(&tile);
    --living_;
    ++ends_;
    return true;
}

void TileStore::give(Tile& tile) {
    assert(tile.slot == nullptr && has_room());
    if (!tile.is_spilled) {
        waiting_.erase(place_in_line(tile));
        ++turns_;
    }
    tile.is_spilled = false;
    tile.slot = &give_slot(tile);
}

void TileStore::take(Tile& tile) {
    free_slot(*tile.slot);
    tile.slot = nullptr;
    tile.is_spilled = true;
}

}  // namespace trnsim::lowering
