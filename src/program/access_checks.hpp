// SPDX-License-Identifier: Apache-2.0
// Whether a run's accesses stay where they may, at every iteration.
#pragma once

#include "reader_state.hpp"
#include "trnsim/program/program.hpp"

namespace trnsim::program {

/// Checks one operand of a run of a program trace: the instance exists, the access stays within it,
/// and the start partition is one that the engines can address. Notes the highest instance used.
void check_program_access(ReaderState& state,
                          const InstructionTemplate& instruction,
                          const Operand& operand,
                          const Position& position);

/// Checks one operand of a run of a lowered trace: address and partitions.
void check_lowered_access(const ReaderState& state,
                          const InstructionTemplate& instruction,
                          const Operand& operand,
                          const Position& position);

/// Checks, at the end of the program, that all instances used come into being.
void check_instances_exist(const ReaderState& state);

}  // namespace trnsim::program
