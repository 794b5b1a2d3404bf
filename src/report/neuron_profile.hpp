// SPDX-License-Identifier: Apache-2.0
// The JSON that Neuron's profiler writes of a measured run, as a table of instructions.
#pragma once

#include "trnsim/report/instruction_table.hpp"

#include <simdjson.h>

#include <string>

namespace trnsim::report {

/// Only what the compiler made of the kernel (it has a `bir_instruction_name`): what the runtime
/// puts around it is left out. The halves of an fp32 matmul are one instruction of two pieces.
/// A transfer's `duration` is from its trigger to its last packet. An instruction `waited` as long
/// as its engine was free and the profiler says that it waited. [AKC-PROFILE]
/// \throws UserError with a JSON pointer where something is missing or wrong
[[nodiscard]] InstructionTable read_profile(std::string name, simdjson::dom::element profile);

}  // namespace trnsim::report
