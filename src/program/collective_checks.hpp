// SPDX-License-Identifier: Apache-2.0
// Whether the ranks, channels and bytes of a collective fit each other.
#pragma once

#include "place.hpp"
#include "trnsim/isa/instruction.hpp"

namespace trnsim::program {

/// Checks what a collective says of its ranks and channels, and its bytes against its operands;
/// any other operation passes. [NKI-COLLECTIVES] \throws TraceError naming the attribute
void check_collective(const Place& place, const InstructionTemplate& instruction);

}  // namespace trnsim::program
