// SPDX-License-Identifier: Apache-2.0
// What an instruction costs: the three instants that matter to others.
#pragma once

#include "trnsim/base/units.hpp"

#include <ostream>

namespace trnsim::neuron_core {

/// The time of one instruction on its engine, without waiting for operands, ports or the clock
/// gate. All three count from issue; streaming <= interval <= done.
struct InstructionCost {
    Picoseconds interval{};   ///< Initiation interval: the engine may start its next instruction.
    Picoseconds read{};       ///< The sources have been read and may be overwritten.
    Picoseconds done{};       ///< The result is visible and the semaphore may fire.
    Picoseconds streaming{};  ///< How long of the interval elements pass the ports of the memories.
    bool uses_fast_mode = false;  ///< More than one element per cycle: VectorE's 2x and 4x modes.
    friend bool operator==(const InstructionCost&, const InstructionCost&) = default;
};

std::ostream& operator<<(std::ostream& os, const InstructionCost& cost);

}  // namespace trnsim::neuron_core
