// SPDX-License-Identifier: Apache-2.0
// The slots of one allocation site while the program runs through the lowering.
#pragma once

#include "trnsim/base/instance_table.hpp"
#include "trnsim/base/ring_buffer.hpp"
#include "trnsim/lowering/access_history.hpp"
#include "trnsim/lowering/allocation.hpp"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace trnsim::lowering {

/// Which instance is in which slot. A new tile takes the slot that has been free for longest; a
/// slot is free when its tile has had its last use. A site that spills gives up the tile unused for
/// longest instead.
class TileSlots {
public:
    struct Slot {
        std::int64_t instance = -1;
        std::int64_t uses_left = 0;
        std::uint64_t last_use = 0;  ///< Stamp of the instruction.
        bool is_dirty = false;       ///< Written since it was last saved.
        bool is_saved = false;       ///< A copy in HBM exists.
        RegionAccess save{};         ///< The transfer that made it.
        AccessHistory history;
    };
    /// What make_room() took out.
    struct Evicted {
        std::int64_t instance = 0;
        bool needs_save = false;
    };

    TileSlots(const SitePlacement& placement, const SiteLiveness& liveness);

    /// Begins the next instance of the site; false if it is never used. Uses a free slot.
    /// \pre has_free_slot() unless next_is_unused()
    bool allocate();
    [[nodiscard]] bool next_is_unused();

    [[nodiscard]] bool has_free_slot() const { return !free_.empty(); }
    [[nodiscard]] const SitePlacement& placement() const { return placement_; }

    /// The slot of an instance, or nullptr if it was spilled.
    [[nodiscard]] Slot* find(std::int64_t instance);

    /// Takes the tile unused for longest, older than `stamp`, out of its slot, which becomes free.
    /// Returns the slot, still describing that tile; after a save pass it on to forget().
    [[nodiscard]] Slot& least_recently_used(std::uint64_t stamp);
    void forget(Slot& slot);

    /// Whether an instance lost its slot and is still to be used.
    [[nodiscard]] bool is_spilled(std::int64_t instance) const {
        return spilled_.contains(instance);
    }

    /// Puts a spilled instance into a free slot.
    [[nodiscard]] Slot& restore(std::int64_t instance);

    /// Counts a use; frees the slot after the last one.
    void use(Slot& slot, std::uint64_t stamp);

    /// Byte address of a slot within its partitions.
    [[nodiscard]] std::int64_t address(const Slot& slot) const;

    [[nodiscard]] std::vector<Slot>& slots() { return slots_; }

    /// The sites whose bytes these slots take over, at the first call; none later.
    [[nodiscard]] std::vector<std::uint32_t> take_overlaid() {
        return std::exchange(placement_.overlaid, {});
    }

private:
    struct Spilled {
        std::int64_t uses_left = 0;
        RegionAccess save{};
        bool is_saved = false;
    };
    Slot& take_free(std::int64_t instance, std::int64_t uses);

    SitePlacement placement_;
    std::vector<SiteLiveness::Uses> uses_;
    std::size_t uses_run_ = 0;  ///< Position in uses_.
    std::int64_t uses_done_ = 0;
    std::int64_t next_instance_ = 0;
    std::vector<Slot> slots_;
    RingBuffer<std::uint32_t> free_;
    InstanceTable<std::uint32_t> resident_;
    std::unordered_map<std::int64_t, Spilled> spilled_;
};

}  // namespace trnsim::lowering
