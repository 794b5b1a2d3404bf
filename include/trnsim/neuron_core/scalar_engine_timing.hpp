// SPDX-License-Identifier: Apache-2.0
// What instructions cost on the Scalar Engine, and which function tables they need.
#pragma once

#include "trnsim/isa/instruction.hpp"
#include "trnsim/neuron_core/instruction_cost.hpp"
#include "trnsim/neuron_core/sbuf_spec.hpp"
#include "trnsim/neuron_core/scalar_engine_spec.hpp"

#include <string_view>

namespace trnsim::neuron_core {

/// interval = issue_overhead + vector_operand x k + N and done = completion_overhead + the same, in
/// ScalarE cycles, with constants by source memory (SBUF, PSUM) and kind (activation, copy); k =
/// [P,1] operands, the implicit bias of functions other than copy included. [M-VOYAGER]
/// [TRACES-TRN2] If it is_accumulated(), the interval lasts until the accumulator may be read.
/// Leaves out that read and the table load. \pre can_run(chip, Engine::Scalar, instruction)
[[nodiscard]] InstructionCost scalar_engine_cost(const ScalarEngineSpec& spec,
                                                 const SbufSpec& sbuf,
                                                 const InstructionTemplate& instruction);

/// Whether ACTIVATION_READ_ACCUMULATOR follows, which writes the reduce_result.
[[nodiscard]] inline bool is_accumulated(const InstructionTemplate& instruction) {
    return instruction.find(Role::ReduceResult) != nullptr;
}

/// ACTIVATION_READ_ACCUMULATOR, an instruction of its own. [M-VOYAGER]
[[nodiscard]] InstructionCost read_accumulator_cost(const ScalarEngineSpec& spec);

/// The table set that must be loaded for `function`, named after one member; empty for functions
/// that every set has (copy, identity, square) and for instructions without a function. Loading
/// another set costs table_load_ns. Sets that were seen on Trn2 are used, any other function is a
/// set of its own [ASSUMED].
[[nodiscard]] std::string_view activation_table(std::string_view function);

}  // namespace trnsim::neuron_core
