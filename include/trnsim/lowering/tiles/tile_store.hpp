// SPDX-License-Identifier: Apache-2.0
// The tiles of one allocation site while the program runs through the lowering.
#pragma once

#include "trnsim/base/instance_table.hpp"
#include "trnsim/base/ring_buffer.hpp"
#include "trnsim/lowering/analysis/use_counter.hpp"
#include "trnsim/lowering/tiles/tile_places.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace trnsim::lowering {

/// Which instances of a site live. They get bytes in the order of their allocation, so that a later
/// one never takes what an earlier one needs. Its variants are TileSlots, slots of the site's own,
/// and PooledTiles, a share of one pool for all sites.
class TileStore {
public:
    TileStore(std::uint32_t buffer, const SiteLiveness& liveness);
    TileStore(const TileStore&) = delete;
    TileStore& operator=(const TileStore&) = delete;
    TileStore(TileStore&&) = delete;
    TileStore& operator=(TileStore&&) = delete;
    virtual ~TileStore() = default;

    /// Begins the next instance of the site, still without bytes; one never used is left out.
    void begin();

    /// A living instance, or nullptr.
    [[nodiscard]] Tile* find(std::int64_t instance);

    /// Counts a use; after the last one the tile is gone, and its bytes are free. True if so.
    bool use(Tile& tile);

    /// What stands in the way of a tile without bytes: those before it, too many others, or no
    /// room.
    [[nodiscard]] Obstacle obstacle(const Tile& tile) const {
        if (!tile.is_spilled) {
            if (const std::size_t before = place_in_line(tile); before > 0) {
                return {.count = &turns_, .until = turns_ + before};
            }
            if (!may_have_one_beside(living_ - static_cast<std::int64_t>(waiting_.size()))) {
                return {.count = &ends_, .until = ends_ + 1};
            }
        }
        return has_room() ? Obstacle{} : Obstacle{.count = &freed(), .until = freed() + 1};
    }

    /// Gives bytes to a tile that has none. \pre has_room()
    void give(Tile& tile);

    /// Takes them away.
    void take(Tile& tile);

    /// Whether every instance has come and gone.
    [[nodiscard]] bool is_over() const { return to_come_ == 0 && living_ == 0; }

    /// Whether there are bytes for one more tile.
    [[nodiscard]] virtual bool has_room() const = 0;

    /// How often there came to be more room.
    [[nodiscard]] virtual const std::uint64_t& freed() const = 0;

private:
    /// Whether a tile may come to its first bytes while so many others have theirs, or are moved
    /// out.
    [[nodiscard]] virtual bool may_have_one_beside(std::int64_t /*others*/) const { return true; }
    [[nodiscard]] virtual Slot& give_slot(Tile& tile) = 0;
    virtual void free_slot(Slot& slot) = 0;

    /// How many wait for their first bytes before one that does.
    [[nodiscard]] std::size_t place_in_line(const Tile& tile) const;

    std::uint32_t buffer_;
    UseCounter counter_;
    std::int64_t to_come_;  ///< Instances with uses, not begun.
    std::int64_t living_ = 0;
    static constexpr std::size_t kAtOnce = 8;  ///< Tiles that are made together.
    std::vector<std::unique_ptr<std::array<Tile, kAtOnce>>> storage_;
    std::vector<Tile*> blanks_;
    InstanceTable<Tile*> tiles_;
    RingBuffer<Tile*> waiting_;  ///< For their first bytes, in order.
    std::uint64_t turns_ = 0;    ///< How many got them,
    std::uint64_t ends_ = 0;     ///< and how many are gone.
};

}  // namespace trnsim::lowering
