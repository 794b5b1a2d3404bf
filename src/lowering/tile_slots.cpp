// SPDX-License-Identifier: Apache-2.0
// Slot bookkeeping.
#include "trnsim/lowering/tile_slots.hpp"

#include <cassert>

namespace trnsim::lowering {

TileSlots::TileSlots(const SitePlacement& placement,
                     const SiteLiveness& liveness,
                     std::uint32_t buffer)
    : placement_(placement),
      counter_(liveness.uses),
      slots_(static_cast<std::size_t>(placement.slots)) {
    std::int64_t address = placement.address;
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
        slots_[slot].buffer = buffer;
        slots_[slot].address = address;
        address += placement.slot_bytes;
        free_.push_back(slot);
    }
}

bool TileSlots::allocate() {
    const UseCounter::Instance next = counter_.next();
    if (next.uses == 0) {
        return false;
    }
    assert(!free_.empty());
    const std::uint32_t index = free_.front();
    free_.pop_front();
    Slot& slot = slots_[index];
    slot.instance = next.number;
    slot.uses_left = next.uses;
    resident_[next.number] = index;
    return true;
}

TileSlots::Slot* TileSlots::find(std::int64_t instance) {
    const std::uint32_t* index = resident_.find(instance);
    return index == nullptr ? nullptr : &slots_[*index];
}

void TileSlots::use(Slot& slot) {
    if (--slot.uses_left == 0) {
        resident_.erase(slot.instance);
        slot.instance = -1;
        free_.push_back(static_cast<std::uint32_t>(&slot - slots_.data()));
    }
}

}  // namespace trnsim::lowering
