// SPDX-License-Identifier: Apache-2.0
// One streaming instruction at a time.
#include "trnsim/neuron_core/data_path_engine.hpp"

#include <algorithm>

namespace trnsim::neuron_core {

namespace {

/// Triggers of transfers that GpSimd does not describe itself.
bool needs_no_data_path(const IssueTemplate& what) {
    return what.operation == Operation::Trigger && what.dge != DgeMode::Software;
}

}  // namespace

DataPathEngine::DataPathEngine(const sc_core::sc_module_name& name,
                               Engine engine,
                               const CoreServices& services,
                               const CoreMemories& memories)
    : Sequencer(name, queue_of(engine), services), engine_(engine), memories_(memories) {}

Picoseconds DataPathEngine::earliest(const QueuedInstruction& next) const {
    if (needs_no_data_path(*next.what)) {
        return sequencer_free_;
    }
    const Picoseconds could = std::max({free_, sequencer_free_, ready_at()});
    const Picoseconds length = next.what->cost.interval;
    Picoseconds time = could;
    if (next.what->touches_sbuf) {
        time = std::max(time, memories_.sbuf.ask(engine_, could, length, now()));
    }
    if (next.what->touches_psum) {
        time = std::max(time, memories_.psum.ask(engine_, could, length, now()));
    }
    if (next.what->touches_sbuf && next.what->touches_psum) {
        memories_.sbuf.postpone(engine_, time);
        memories_.psum.postpone(engine_, time);
    }
    return time;
}

std::uint64_t DataPathEngine::predecessor(const QueuedInstruction& next,
                                          std::uint64_t sequence) const {
    const bool is_kept = !needs_no_data_path(*next.what) && free_ > sequencer_free_;
    return is_kept ? last_streamed_ : sequence - 1;
}

Sequencer::Issue DataPathEngine::issue(const QueuedInstruction& next, std::uint64_t sequence) {
    const InstructionCost& cost = next.what->cost;
    const Picoseconds begin = now();
    if (needs_no_data_path(*next.what)) {
        sequencer_free_ = begin + cost.interval;
        return {.interval = cost.interval, .read = cost.read, .done = cost.done};
    }
    sequencer_free_ = begin;
    last_streamed_ = sequence;
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
