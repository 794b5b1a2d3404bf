// SPDX-License-Identifier: Apache-2.0
// Slots that belong to one allocation site.
#pragma once

#include "trnsim/base/instance_table.hpp"
#include "trnsim/base/ring_buffer.hpp"
#include "trnsim/lowering/allocation.hpp"
#include "trnsim/lowering/tile_store.hpp"
#include "trnsim/lowering/use_counter.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace trnsim::lowering {

/// A site with slots of its own, as many as it ever has live tiles. A new tile takes the slot that
/// has been free for longest; a slot is free when its tile has had its last use.
class TileSlots : public TileStore {
public:
    TileSlots(const SitePlacement& placement,
              const SiteLiveness& liveness,
              std::uint32_t buffer = 0);

    [[nodiscard]] bool next_is_unused() override { return counter_.peek() == 0; }
    bool allocate() override;
    [[nodiscard]] Slot* find(std::int64_t instance) override;
    void use(Slot& slot) override;

    [[nodiscard]] const SitePlacement& placement() const { return placement_; }
    [[nodiscard]] std::vector<Slot>& slots() { return slots_; }

    [[nodiscard]] bool has_free() const { return !free_.empty(); }

    /// Whether the next instance is the first in bytes that belonged to other sites.
    [[nodiscard]] bool is_overlay() const { return !placement_.overlaid.empty(); }

    /// The sites whose bytes these slots take over, at the first call; none later.
    [[nodiscard]] std::vector<std::uint32_t> take_overlaid() {
        return std::exchange(placement_.overlaid, {});
    }

private:
    SitePlacement placement_;
    UseCounter counter_;
    std::vector<Slot> slots_;
    RingBuffer<std::uint32_t> free_;
    InstanceTable<std::uint32_t> resident_;
};

}  // namespace trnsim::lowering
