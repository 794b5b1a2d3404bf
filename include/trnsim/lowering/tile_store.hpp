// SPDX-License-Identifier: Apache-2.0
// The tiles of one allocation site while the program runs through the lowering.
#pragma once

#include "trnsim/lowering/access_history.hpp"

#include <cstdint>
#include <vector>

namespace trnsim::lowering {

/// Which instances of a site are in memory, and where. Its variants are TileSlots, slots of the
/// site's own, and PooledTiles, a share of one pool for all sites.
class TileStore {
public:
    /// A tile in memory.
    struct Slot {
        std::uint32_t buffer = 0;  ///< The site.
        std::int64_t address = 0;  ///< Byte within the partition.
        std::int64_t instance = -1;
        std::int64_t uses_left = 0;
        std::uint64_t last_use = 0;  ///< Stamp of the instruction.
        bool is_dirty = false;       ///< Written since it was last saved.
        bool is_saved = false;       ///< A copy in HBM exists.
        RegionAccess save{};         ///< The transfer that made it.
        AccessHistory history;
    };

    TileStore() = default;
    TileStore(const TileStore&) = delete;
    TileStore& operator=(const TileStore&) = delete;
    TileStore(TileStore&&) = default;
    TileStore& operator=(TileStore&&) = default;
    virtual ~TileStore() = default;

    [[nodiscard]] virtual bool next_is_unused() = 0;

    /// Begins the next instance of the site; false if it is never used.
    /// \pre has_free_slot() unless next_is_unused()
    virtual bool allocate() = 0;

    /// Whether one more tile of the site fits.
    [[nodiscard]] virtual bool has_free_slot() const = 0;

    /// The slot of an instance, or nullptr if it was spilled.
    [[nodiscard]] virtual Slot* find(std::int64_t instance) = 0;

    /// The tile to give up: unused for longest, its last use older than `stamp`. It may be another
    /// site's. \throws ProgramError if there is none
    [[nodiscard]] virtual Slot& least_recently_used(std::uint64_t stamp) = 0;

    /// Frees the slot of a tile of this site; one with uses left is remembered as spilled.
    virtual void forget(Slot& slot) = 0;

    /// Whether an instance lost its slot and is still to be used.
    [[nodiscard]] virtual bool is_spilled(std::int64_t instance) const = 0;

    /// Brings a spilled instance back. \pre has_free_slot()
    [[nodiscard]] virtual Slot& restore(std::int64_t instance) = 0;

    /// Counts a use; frees the slot after the last one.
    virtual void use(Slot& slot, std::uint64_t stamp) = 0;
};

}  // namespace trnsim::lowering
