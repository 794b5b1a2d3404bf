// SPDX-License-Identifier: Apache-2.0
// Whether the element counts of a template's operands fit each other.
#pragma once

#include "place.hpp"
#include "trnsim/isa/instruction.hpp"

namespace trnsim::program {

/// Checks counts that hold on every chip; limits of one chip are the lowering's. \pre the roles are
/// those of the operation. [NKI-ISA] \throws TraceError naming the operands and their counts
void check_operand_shapes(const Place& place, const InstructionTemplate& instruction);

}  // namespace trnsim::program
