// SPDX-License-Identifier: Apache-2.0
// Instructions at which the cores of a program wait for each other.
#pragma once

#include "trnsim/program/program.hpp"

#include <cstdint>

namespace trnsim::lowering {

/// Whom an instruction waits for: a core_barrier for its cores, or for all; a sendrecv for its
/// partner.
struct MeetingPlan {
    std::uint32_t cores = 0;    ///< A bit each, with or without its own; none: it waits for nobody.
    std::uint32_t channel = 0;  ///< Instructions of one channel meet.
};

/// Of a program of so many cores. \pre check_meetings() passed
[[nodiscard]] MeetingPlan plan_meeting(const InstructionTemplate& instruction, std::int32_t cores);

/// \param program the part of one of several cores
/// \throws ProgramError for a barrier that leaves its own core out, or an exchange with oneself,
/// with a core that the program does not have, or with two cores
void check_meetings(const program::Program& program, std::int32_t core);

}  // namespace trnsim::lowering
