// SPDX-License-Identifier: Apache-2.0
// What the control instructions of a sequencer cost: registers, barriers.
#pragma once

#include "trnsim/isa/instruction.hpp"
#include "trnsim/neuron_core/instruction_cost.hpp"
#include "trnsim/neuron_core/sync_engine_spec.hpp"

namespace trnsim::neuron_core {

/// register_move, register_load, register_store and core_barrier: fixed times, the same on every
/// sequencer. [M-VOYAGER] [TRACES-TRN2] [ASSUMED] for core_barrier. \pre the operation is one of
/// them
[[nodiscard]] InstructionCost sync_engine_cost(const SyncEngineSpec& spec,
                                               const InstructionTemplate& instruction);

/// What ends an iteration of a loop of the run time, once all engines are there.
/// [NKI-DYNAMIC-LOOPS] [ASSUMED]
[[nodiscard]] InstructionCost loop_barrier_cost(const SyncEngineSpec& spec);

}  // namespace trnsim::neuron_core
