// SPDX-License-Identifier: Apache-2.0
// SBUF and PSUM while the program runs through the lowering: which tile is where.
#pragma once

#include "trnsim/lowering/tiles/allocation.hpp"
#include "trnsim/lowering/tiles/tile_places.hpp"
#include "trnsim/lowering/tiles/tile_pool.hpp"
#include "trnsim/lowering/tiles/tile_slots.hpp"
#include "trnsim/lowering/tiles/tile_store.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace trnsim::lowering {

/// The tiles of every site on chip. Where a memory is too small for slots of every site's own, its
/// sites share a TilePool; a pool without a gap gives up the tile unused for longest, which comes
/// back at its next use.
class TileMemory : public TilePlaces {
public:
    /// Moves tiles between a full memory and HBM.
    class Mover {
    public:
        Mover() = default;
        Mover(const Mover&) = delete;
        Mover& operator=(const Mover&) = delete;
        Mover(Mover&&) = delete;
        Mover& operator=(Mover&&) = delete;
        virtual ~Mover() = default;

        /// Copies a tile to HBM and says so in `tile.save`.
        virtual void save(Tile& tile) = 0;
        /// Brings its copy back.
        virtual void reload(Tile& tile) = 0;
    };

    /// Program and mover must outlive it. `loads`: see allocate(). \throws ProgramError if the
    /// program does not fit
    TileMemory(const program::Program& program,
               const std::vector<SiteLiveness>& liveness,
               const ChipSpec& chip,
               const Policies& policies,
               Mover& mover,
               const std::vector<LoadPlan::Need>& loads = {});

    /// Begins the next instance of a site, or nothing for one in HBM.
    void begin(std::uint32_t buffer);

    /// A living tile, or nullptr.
    [[nodiscard]] Tile* find(std::uint32_t buffer, std::int64_t instance);

    /// Whether the bytes of a site's tiles are settled in program order, and the step that uses
    /// them waits for whoever had them before, as with addresses that a program fixes.
    [[nodiscard]] bool is_in_turn(std::uint32_t buffer) const {
        return rotation_ && rotation_->has(buffer);
    }
    /// Where such a tile lies that the next step uses; nullopt: it does not live.
    [[nodiscard]] std::optional<std::int64_t> take_turn(std::uint32_t buffer,
                                                        std::int64_t instance) {
        return rotation_->use(buffer, instance);
    }

    /// The next step of the program, its operands resolved.
    void admit(const PlannedStep& step);

    /// The step is on its queue. True if others may take bytes now that could not before.
    bool retire(const PlannedStep& step);

    /// What keeps the tiles of a step from taking bytes before earlier steps have had their turn.
    [[nodiscard]] Obstacle obstacle_ahead(const PlannedStep& step) const;

    [[nodiscard]] Obstacle obstacle(const PlannedStep& step) const override;
    [[nodiscard]] const Slot* next_slot(const Tile& tile) const override;

    /// Gives bytes to a tile that has none. If it must, it moves other tiles out; true if so. Those
    /// used at `stamp` it moves only where they would fit beside the new one in another place.
    bool give_bytes(Tile& tile, const PlannedStep& step, std::uint64_t stamp);

    /// Counts a use of a tile; after the last one it is gone, and true.
    bool use(Tile& tile);

    [[nodiscard]] const Allocation& allocation() const { return allocation_; }
    /// Whether tiles may have to be moved.
    [[nodiscard]] bool can_spill() const { return can_spill_; }
    /// Bytes per partition of SBUF in use, at the fullest moment.
    [[nodiscard]] std::int64_t sbuf_peak_bytes() const {
        return std::max(allocation_.sbuf_bytes, sbuf_pool_.peak_bytes());
    }
    /// Banks of PSUM that have been in use.
    [[nodiscard]] std::int64_t psum_banks() const {
        return std::max(allocation_.psum_banks, rotation_ ? rotation_->banks() : 0);
    }

private:
    [[nodiscard]] Obstacle obstacle(const Tile& tile) const;
    /// What the tiles of a step will take of a pool that had no bytes yet.
    [[nodiscard]] std::int64_t bytes_to_take(const PlannedStep& step, const TilePool& pool) const;
    /// A step takes the bytes of a tile of a pool, before its turn or at it.
    static void take(std::int64_t bytes,
                     const Tile& tile,
                     const PlannedStep& step,
                     InOrderNeed& need);
    bool make_room(const Tile& tile, std::uint64_t stamp);
    void move_out(Tile& tile);
    /// \throws ProgramError: the tile is too large, alone or beside the others in its pool
    [[noreturn]] void does_not_fit(const Tile& tile) const;
    void inherit_overlaid(TileSlots& site);

    const program::Program& program_;
    Mover& mover_;
    Allocation allocation_;
    std::optional<BankRotation> rotation_;
    /// What a tile takes of a pool; 0: it has a slot, or is elsewhere.
    [[nodiscard]] std::int64_t bytes_in(const TilePool& pool, const Tile* tile) const;

    TilePool sbuf_pool_;
    TilePool psum_pool_;
    /// Those with bytes that no step may take from those before it: a shared SBUF, as loads must
    /// not crowd out what is computed, and a shared PSUM where engines keep program order, so that
    /// who reads a tile of a later iteration comes behind who needs its bytes.
    std::vector<TilePool*> guarded_;
    std::vector<std::unique_ptr<TileStore>> sites_;  ///< By buffer; none in HBM.
    std::vector<TileSlots*> slots_;                  ///< The sites with slots of their own.
    std::vector<PooledTiles*> pooled_;               ///< The others.
    bool can_spill_ = false;
    std::uint64_t ends_ = 0;  ///< Sites that are over, and bytes taken over from a site.
};

}  // namespace trnsim::lowering
