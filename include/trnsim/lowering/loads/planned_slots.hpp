// SPDX-License-Identifier: Apache-2.0
// The slots of one site in a plan of loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace trnsim::lowering {

/// The last use of a tile.
struct PlannedEnd {
    std::int64_t time = 0;  ///< When it is over, in picoseconds of the plan,
    std::int64_t step = 0;  ///< and its place in the program.
};

/// Slots of a site, as many as were ever needed at once. Tiles have them in turn: one that is taken
/// goes to the end of the line. A slot is taken on paper, where the plan knows that its tile has
/// been used by then; in the new order the next tile has it once the one before it is released.
class PlannedSlots {
public:
    static constexpr std::int64_t kNone = -1;

    /// No more than that. \pre nothing has been taken
    void limit(std::int64_t slots) { limit_ = slots; }

    /// For a tile whose load begins at `time` and that `reader`, a step of the program, reads
    /// first: the slot that has been free for longest by then, and whose tile no later step uses;
    /// else a new one; else, at the limit, one that nobody has. kNone: there is none.
    [[nodiscard]] std::int64_t take(std::int64_t time, std::int64_t reader);
    /// Of the tile that took it last.
    void end(std::int64_t slot, PlannedEnd end) { at(slot).end = end; }

    /// The next tile that took the slot has it, unless the one before it still does.
    [[nodiscard]] bool begin(std::int64_t slot);
    /// \pre begin(slot)
    void release(std::int64_t slot);

    /// How many there are.
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(slots_.size()); }

private:
    struct Slot {
        PlannedEnd end{};        ///< Of its last tile, if that is known.
        std::int64_t tiles = 0;  ///< That have taken it and not released it.
        bool is_begun = false;   ///< By the first one of them.
    };
    [[nodiscard]] Slot& at(std::int64_t slot) { return slots_[static_cast<std::size_t>(slot)]; }

    std::int64_t limit_ = std::numeric_limits<std::int64_t>::max();
    std::vector<Slot> slots_{};
};

}  // namespace trnsim::lowering
