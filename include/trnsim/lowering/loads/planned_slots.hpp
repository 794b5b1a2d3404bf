// SPDX-License-Identifier: Apache-2.0
// The slots of one site in a plan of loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace trnsim::lowering {

/// Slots of a site, as many as were ever needed at once. Times are of the plan, in picoseconds.
class PlannedSlots {
public:
    static constexpr std::int64_t kNone = -1;

    /// No more than that. \pre nothing has been taken
    void limit(std::int64_t slots) { limit_ = slots; }

    /// The lowest slot that is free at `time`; else a new one; else, at the limit, the lowest one
    /// whose end the plan has given out, but which comes later. kNone: all are in use.
    [[nodiscard]] std::int64_t take(std::int64_t time);

    /// \pre the slot was taken
    void release(std::int64_t slot, std::int64_t end) {
        slots_[static_cast<std::size_t>(slot)] = {.free_at = end, .is_free = true};
    }

    /// How many there are.
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(slots_.size()); }

private:
    struct Slot {
        std::int64_t free_at = 0;
        bool is_free = false;
    };
    std::int64_t limit_ = std::numeric_limits<std::int64_t>::max();
    std::vector<Slot> slots_{};
};

}  // namespace trnsim::lowering
