// SPDX-License-Identifier: Apache-2.0
// The Sync Engine of a NeuronCore.
#pragma once

#include "trnsim/neuron_core/data_path_engine.hpp"

namespace trnsim::neuron_core {

/// The Sync Engine (SP): a sequencer without a data path, for registers, barriers and DMA triggers.
///
/// Models: see DataPathEngine; its instructions touch no memory port. Does not model: triggers of
/// DMAs for which nothing says who triggers them (D-05). One per NeuronCore.
class SyncEngine : public DataPathEngine {
public:
    SyncEngine(const sc_core::sc_module_name& name,
               const CoreServices& services,
               const CoreMemories& memories)
        : DataPathEngine(name, Engine::Sync, services, memories) {}
};

}  // namespace trnsim::neuron_core
