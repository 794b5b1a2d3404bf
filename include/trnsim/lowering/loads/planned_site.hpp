// SPDX-License-Identifier: Apache-2.0
// What a plan of loads knows of one site.
#pragma once

#include "trnsim/base/instance_table.hpp"
#include "trnsim/base/ring_buffer.hpp"
#include "trnsim/lowering/analysis/use_counter.hpp"
#include "trnsim/lowering/loads/planned_slots.hpp"
#include "trnsim/lowering/loads/planned_tiles.hpp"

#include <cstdint>

namespace trnsim::lowering {

/// A site whose loads are planned. Times in picoseconds of the plan.
struct PlannedSite {
    UseCounter uses;
    InstanceTable<PlannedTileId> living{};
    PlannedSlots slots{};
    RingBuffer<PlannedLoad> held{};  ///< Those that wait for a slot, their own or any.
    std::int64_t latest = 0;         ///< Of its loads, in the order of their readers, the last one.
    std::int64_t live = 0;           ///< Tiles needed, and still to be used, in program order;
    std::int64_t live_peak = 0;      ///< most of them at once.
};

}  // namespace trnsim::lowering
