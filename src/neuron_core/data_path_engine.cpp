// SPDX-License-Identifier: Apache-2.0
// One streaming instruction at a time.
#include "trnsim/neuron_core/data_path_engine.hpp"

#include <algorithm>

namespace trnsim::neuron_core {

DataPathEngine::DataPathEngine(const sc_core::sc_module_name& name,
                               Engine engine,
                               const CoreServices& services,
                               const CoreMemories& memories)
    : Sequencer(name, queue_of(engine), services), engine_(engine), memories_(memories) {}

Picoseconds DataPathEngine::earliest(const QueuedInstruction& next) const {
    Picoseconds time = free_;
    if (next.what->touches_sbuf) {
        time = std::max(time, memories_.sbuf.earliest(engine_));
    }
    if (next.what->touches_psum) {
        time = std::max(time, memories_.psum.earliest(engine_));
    }
    return time;
}

Sequencer::Issue DataPathEngine::issue(const QueuedInstruction& next, std::uint64_t /*sequence*/) {
    const InstructionCost& cost = next.what->cost;
    const Picoseconds begin = now();
    Picoseconds shared;
    if (next.what->touches_sbuf) {
        shared += memories_.sbuf.access(engine_, begin, cost);
    }
    if (next.what->touches_psum) {
        shared += memories_.psum.access(engine_, begin, cost, next.psum_banks);
    }
    const StateChange change = state_change(*next.what);
    const Picoseconds interval = cost.interval + shared + change.interval;
    free_ = begin + interval;
    return {.interval = interval,
            .read = cost.read + shared + change.interval,
            .done = std::max(interval, cost.done + shared + change.done)};
}

}  // namespace trnsim::neuron_core
