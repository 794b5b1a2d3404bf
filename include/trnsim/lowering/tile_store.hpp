// SPDX-License-Identifier: Apache-2.0
// The tiles of one allocation site while the program runs through the lowering.
#pragma once

#include "trnsim/lowering/access_history.hpp"
#include "trnsim/lowering/pending_accesses.hpp"

#include <cstdint>

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
        PendingAccesses pending;
    };

    TileStore() = default;
    TileStore(const TileStore&) = delete;
    TileStore& operator=(const TileStore&) = delete;
    TileStore(TileStore&&) = default;
    TileStore& operator=(TileStore&&) = default;
    virtual ~TileStore() = default;

    /// Whether the next instance is never used, and needs no bytes.
    [[nodiscard]] virtual bool next_is_unused() = 0;

    /// Begins the next instance of the site; false if it is never used. \pre there is room for it
    virtual bool allocate() = 0;

    /// The slot of an instance, or nullptr if it is not in memory.
    [[nodiscard]] virtual Slot* find(std::int64_t instance) = 0;

    /// Counts a use; frees the slot after the last one.
    virtual void use(Slot& slot) = 0;
};

}  // namespace trnsim::lowering
