// SPDX-License-Identifier: Apache-2.0
// Tiles that live in a plan of loads, and their loads.
#pragma once

#include "trnsim/lowering/loads/kept_steps.hpp"
#include "trnsim/lowering/loads/planned_slots.hpp"

#include <cstdint>
#include <vector>

namespace trnsim::lowering {

/// A tile, by its place among those that live.
using PlannedTileId = std::uint32_t;

/// A load of a tile; times in picoseconds of the plan.
struct PlannedLoad {
    KeptSteps::Item item = 0;
    PlannedTileId tile = 0;
    std::int64_t time = 0;      ///< Start that is in time, not before
    std::int64_t earliest = 0;  ///< the one of its iteration (RuntimeIterations).
    std::int64_t latency = 0;   ///< From its trigger to its reader, but for
    std::int64_t transfer = 0;  ///< what its bytes take.
    std::int64_t trigger = 0;   ///< Its start in the plan, once that is settled.
};

/// A tile of a planned site.
struct PlannedTile {
    std::uint32_t buffer = 0;
    std::int64_t instance = 0;
    std::int64_t to_read = 0;     ///< Uses that have not been read from the program,
    std::int64_t to_emit = 0;     ///< that have no place in the new order,
    std::int64_t to_resolve = 0;  ///< and that have not been given out.
    std::int64_t ready = 0;       ///< When it could be there; 0: nobody has read it.
    std::int64_t reader = 0;      ///< The step of the program that reads it first.
    PlannedEnd end{};             ///< Of its uses so far.
    std::int64_t slot = PlannedSlots::kNone;
    bool is_needed = false;
    bool has_slot = false;             ///< It is nobody else's any more.
    std::vector<PlannedLoad> loads{};  ///< Until it is.
};

/// The tiles that live. Numbers of those that do no more are used again, and so is their memory.
class PlannedTiles {
public:
    [[nodiscard]] PlannedTileId begin(std::uint32_t buffer,
                                      std::int64_t instance,
                                      std::int64_t uses);
    /// \pre its loads are needed
    void end(PlannedTileId tile) { unused_.push_back(tile); }

    [[nodiscard]] PlannedTile& operator[](PlannedTileId tile) { return tiles_[tile]; }
    [[nodiscard]] const PlannedTile& operator[](PlannedTileId tile) const { return tiles_[tile]; }

private:
    std::vector<PlannedTile> tiles_{};
    std::vector<PlannedTileId> unused_{};
};

}  // namespace trnsim::lowering
