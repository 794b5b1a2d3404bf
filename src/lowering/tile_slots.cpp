// SPDX-License-Identifier: Apache-2.0
// Slot bookkeeping.
#include "trnsim/lowering/tile_slots.hpp"

#include "trnsim/base/error.hpp"

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
    if (next.uses > 0) {
        take_free(next.number, next.uses);
    }
    return next.uses > 0;
}

TileSlots::Slot& TileSlots::take_free(std::int64_t instance, std::int64_t uses) {
    assert(!free_.empty());
    const std::uint32_t index = free_.front();
    free_.pop_front();
    Slot& slot = slots_[index];
    slot.instance = instance;
    slot.uses_left = uses;
    slot.is_dirty = false;
    slot.is_saved = false;
    resident_[instance] = index;
    return slot;
}

TileSlots::Slot* TileSlots::find(std::int64_t instance) {
    const std::uint32_t* index = resident_.find(instance);
    return index == nullptr ? nullptr : &slots_[*index];
}

TileSlots::Slot& TileSlots::least_recently_used(std::uint64_t stamp) {
    Slot* oldest = nullptr;
    for (Slot& slot : slots_) {
        const bool is_candidate = slot.instance >= 0 && slot.last_use < stamp;
        if (is_candidate && (oldest == nullptr || slot.last_use < oldest->last_use)) {
            oldest = &slot;
        }
    }
    if (oldest == nullptr) {
        throw ProgramError(
            "SBUF: the operands of one instruction do not fit beside each other; make tiles "
            "smaller");
    }
    return *oldest;
}

void TileSlots::forget(Slot& slot) {
    if (slot.uses_left > 0) {
        spilled_[slot.instance] = {
            .uses_left = slot.uses_left, .save = slot.save, .is_saved = slot.is_saved};
    }
    resident_.erase(slot.instance);
    slot.instance = -1;
    free_.push_back(static_cast<std::uint32_t>(&slot - slots_.data()));
}

TileSlots::Slot& TileSlots::restore(std::int64_t instance) {
    const auto found = spilled_.find(instance);
    assert(found != spilled_.end());
    Slot& slot = take_free(instance, found->second.uses_left);
    slot.is_saved = found->second.is_saved;
    slot.save = found->second.save;
    spilled_.erase(found);
    return slot;
}

void TileSlots::use(Slot& slot, std::uint64_t stamp) {
    slot.last_use = stamp;
    if (--slot.uses_left == 0) {
        forget(slot);
    }
}

}  // namespace trnsim::lowering
