// SPDX-License-Identifier: Apache-2.0
// What the control instructions of a sequencer cost.
#include "trnsim/neuron_core/sync_engine_timing.hpp"

#include <cassert>

namespace trnsim::neuron_core {
namespace {

Picoseconds control_time(const SyncEngineSpec& spec, Opcode op) {
    switch (op) {
        case Opcode::RegisterMove:
            return to_picoseconds(spec.register_cycles, spec.clock_ghz);
        case Opcode::RegisterLoad:
            return spec.register_load_ns;
        case Opcode::RegisterStore:
            return spec.register_store_ns;
        default:
            assert(op == Opcode::CoreBarrier);
            return spec.core_barrier_ns;
    }
}

}  // namespace

InstructionCost sync_engine_cost(const SyncEngineSpec& spec,
                                 const InstructionTemplate& instruction) {
    const Picoseconds time = control_time(spec, instruction.op);
    return {.interval = time, .read = time, .done = time};
}

InstructionCost loop_barrier_cost(const SyncEngineSpec& spec) {
    const Picoseconds time = spec.loop_barrier_ns;
    return {.interval = time, .read = time, .done = time};
}

}  // namespace trnsim::neuron_core
