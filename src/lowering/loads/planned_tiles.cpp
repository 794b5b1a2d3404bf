// SPDX-License-Identifier: Apache-2.0
// Tiles that live in a plan of loads.
#include "trnsim/lowering/loads/planned_tiles.hpp"

#include <cassert>
#include <utility>

namespace trnsim::lowering {

PlannedTileId PlannedTiles::begin(std::uint32_t buffer, std::int64_t instance, std::int64_t uses) {
    if (unused_.empty()) {
        unused_.push_back(static_cast<PlannedTileId>(tiles_.size()));
        tiles_.emplace_back();
    }
    const PlannedTileId id = unused_.back();
    unused_.pop_back();
    PlannedTile& tile = tiles_[id];
    assert(tile.loads.empty());
    std::vector<PlannedLoad> room = std::move(tile.loads);
    tile = {.buffer = buffer,
            .instance = instance,
            .to_read = uses,
            .to_emit = uses,
            .to_resolve = uses,
            .loads = std::move(room)};
    return id;
}

}  // namespace trnsim::lowering
