// SPDX-License-Identifier: Apache-2.0
// One memory for the tiles of all sites, when slots of their own would not fit.
#pragma once

#include "trnsim/lowering/dependencies/former_accesses.hpp"
#include "trnsim/lowering/tiles/allocation.hpp"
#include "trnsim/lowering/tiles/free_bytes.hpp"
#include "trnsim/lowering/tiles/in_order_need.hpp"
#include "trnsim/lowering/tiles/tile_store.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace trnsim::lowering {

/// Bytes of every partition, dealt out to tiles of any site as long as they live. A tile takes the
/// next gap that is large enough, going round, so that bytes are reused as late as possible. What a
/// tile's bytes held before is remembered until they are taken again: the new tile waits for it.
/// In PSUM no tile crosses into another bank unless it is larger than one, and begins with one.
class TilePool {
public:
    /// Bytes per partition; `bank_bytes` of PSUM, 0 in SBUF.
    explicit TilePool(std::int64_t capacity, std::int64_t bank_bytes = 0)
        : capacity_(capacity), free_(capacity, bank_bytes), need_(capacity) {}

    /// Whether a gap of that many bytes exists.
    [[nodiscard]] bool has_gap(std::int64_t bytes) const { return free_.has(bytes); }

    /// Puts a tile into a gap. \pre has_gap(bytes)
    [[nodiscard]] Slot& place(Tile& tile, std::int64_t bytes);

    /// Takes a tile out. \pre the slot came from place()
    void remove(Slot& slot);

    /// The tile to give up: not used since `stamp`, needed latest by the steps in the window; of
    /// those that none of them needs, the one unused for longest. nullptr if there is none.
    [[nodiscard]] Tile* victim(std::uint64_t stamp);

    /// Whether so many bytes would fit beside the tiles in it if all were placed anew; from now on
    /// they are placed from the first byte on. False the second time at a stamp.
    [[nodiscard]] bool restart(std::int64_t bytes, std::uint64_t stamp);

    /// The tiles in it, by address, with their bytes per partition.
    [[nodiscard]] std::vector<std::pair<const Tile*, std::int64_t>> tiles() const;

    [[nodiscard]] std::int64_t capacity() const { return capacity_; }

    /// Who may take its bytes ahead of time.
    [[nodiscard]] InOrderNeed& need() { return need_; }
    [[nodiscard]] const InOrderNeed& need() const { return need_; }

    /// A count that changes before has_gap() says yes where it said no.
    [[nodiscard]] const std::uint64_t& growths() const { return free_.growths(); }

    /// Most bytes in use at once.
    [[nodiscard]] std::int64_t peak_bytes() const { return peak_; }

private:
    struct Place : Slot {
        std::int64_t bytes = 0;
        std::size_t index = 0;  ///< Among those in use.
    };
    struct Use {
        Tile* tile = nullptr;
        Place* place = nullptr;
    };

    [[nodiscard]] Place& new_place();

    std::int64_t capacity_;
    FreeBytes free_;
    FormerAccesses former_;
    InOrderNeed need_;
    std::int64_t next_ = 0;        ///< Where the search for a gap begins.
    std::uint64_t restarted_ = 0;  ///< Stamp.
    std::int64_t used_ = 0;
    std::int64_t peak_ = 0;
    std::deque<Place> storage_;
    std::vector<Use> uses_;       ///< In any order.
    std::vector<Place*> blanks_;  ///< Not in use.
};

/// One site's tiles in a pool.
class PooledTiles : public TileStore {
public:
    /// The pool must outlive it.
    PooledTiles(TilePool& pool,
                std::uint32_t buffer,
                const SitePlacement& placement,
                const SiteLiveness& liveness)
        : TileStore(buffer, liveness),
          pool_(pool),
          tile_bytes_(placement.slot_bytes),
          most_(placement.most) {}

    [[nodiscard]] TilePool& pool() const { return pool_; }
    [[nodiscard]] std::int64_t tile_bytes() const { return tile_bytes_; }
    [[nodiscard]] bool has_room() const override { return pool_.has_gap(tile_bytes_); }
    [[nodiscard]] const std::uint64_t& freed() const override { return pool_.growths(); }

private:
    /// Where program order does not fit, nothing is held back.
    [[nodiscard]] bool may_have_one_beside(std::int64_t others) const override {
        return others < most_ || !pool_.need().fits();
    }
    Slot& give_slot(Tile& tile) override { return pool_.place(tile, tile_bytes_); }
    void free_slot(Slot& slot) override { pool_.remove(slot); }

    TilePool& pool_;
    std::int64_t tile_bytes_;
    std::int64_t most_;
};

}  // namespace trnsim::lowering
