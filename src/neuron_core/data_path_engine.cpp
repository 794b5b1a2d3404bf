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
    Picoseconds extra = state_change_time(*next.what);
    if (next.what->touches_sbuf) {
        extra += memories_.sbuf.access(engine_, begin, cost.interval, cost.uses_fast_mode);
    }
    if (next.what->touches_psum) {
        extra += memories_.psum.access(engine_, begin, cost.interval, next.psum_banks);
    }
    free_ = begin + cost.interval + extra;
    return {
        .interval = cost.interval + extra, .read = cost.read + extra, .done = cost.done + extra};
}

}  // namespace trnsim::neuron_core
