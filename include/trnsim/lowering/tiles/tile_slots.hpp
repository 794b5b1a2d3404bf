// SPDX-License-Identifier: Apache-2.0
// Slots that belong to one allocation site.
#pragma once

#include "trnsim/lowering/tiles/allocation.hpp"
#include "trnsim/lowering/tiles/tile_store.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace trnsim::lowering {

/// A site with slots of its own, as many as it ever has live tiles. A new tile takes the slot that
/// has been free for longest.
class TileSlots : public TileStore {
public:
    TileSlots(const SitePlacement& placement,
              const SiteLiveness& liveness,
              std::uint32_t buffer = 0);

    [[nodiscard]] bool has_room() const override { return !free_.empty(); }
    [[nodiscard]] const std::uint64_t& freed() const override { return freed_; }
    /// What the next tile would get; nullptr: nothing.
    [[nodiscard]] const Slot* next_slot() const { return free_.empty() ? nullptr : free_.front(); }

    [[nodiscard]] const SitePlacement& placement() const { return placement_; }
    [[nodiscard]] std::vector<Slot>& slots() { return slots_; }

    /// The sites whose bytes these slots take over, until the first tile has.
    [[nodiscard]] const std::vector<std::uint32_t>& overlaid() const { return placement_.overlaid; }
    [[nodiscard]] std::vector<std::uint32_t> take_overlaid() {
        return std::exchange(placement_.overlaid, {});
    }

private:
    Slot& give_slot(Tile& tile) override;
    void free_slot(Slot& slot) override {
        free_.push_back(&slot);
        ++freed_;
    }

    SitePlacement placement_;
    std::vector<Slot> slots_;
    RingBuffer<Slot*> free_;
    std::uint64_t freed_ = 0;
};

}  // namespace trnsim::lowering
