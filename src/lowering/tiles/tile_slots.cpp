// SPDX-License-Identifier: Apache-2.0
// Slot bookkeeping.
#include "trnsim/lowering/tiles/tile_slots.hpp"

namespace trnsim::lowering {

TileSlots::TileSlots(const SitePlacement& placement,
                     const SiteLiveness& liveness,
                     std::uint32_t buffer)
    : TileStore(buffer, liveness),
      placement_(placement),
      slots_(static_cast<std::size_t>(placement.slots)) {
    std::int64_t address = placement.address;
    for (Slot& slot : slots_) {
        slot.address = address;
        address += placement.slot_bytes;
        free_.push_back(&slot);
    }
}

Slot& TileSlots::give_slot(Tile& /*tile*/) {
    Slot& slot = *free_.front();
    free_.pop_front();
    return slot;
}

}  // namespace trnsim::lowering
