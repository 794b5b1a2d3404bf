// SPDX-License-Identifier: Apache-2.0
// State of the Vector Engine between instructions.
#include "trnsim/neuron_core/vector_engine.hpp"

#include "trnsim/neuron_core/vector_engine_timing.hpp"

namespace trnsim::neuron_core {

VectorEngine::VectorEngine(const sc_core::sc_module_name& name,
                           const VectorEngineSpec& spec,
                           const CoreServices& services,
                           const CoreMemories& memories)
    : DataPathEngine(name, Engine::Vector, services, memories), spec_(spec) {}

VectorEngine::StateChange VectorEngine::state_change(const IssueTemplate& next) {
    if (next.operation == Operation::StreamTranspose) {
        const bool changed = transpose_key_ != next.state_key;
        transpose_key_ = next.state_key;
        // Its completion was measured with the change.
        return {.interval = changed ? transpose_regroup_time(spec_) : Picoseconds{}};
    }
    transpose_key_ = 0;
    if (next.operation == Operation::StreamShuffle && shuffle_key_ != next.state_key) {
        shuffle_key_ = next.state_key;
        const Picoseconds load = shuffle_mask_load_time(spec_);
        return {.interval = load, .done = load};
    }
    return {};
}

}  // namespace trnsim::neuron_core
