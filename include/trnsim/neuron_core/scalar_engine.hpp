// SPDX-License-Identifier: Apache-2.0
// The Scalar Engine of a NeuronCore.
#pragma once

#include "trnsim/neuron_core/data_path_engine.hpp"

namespace trnsim::neuron_core {

/// The Scalar Engine (Activation): one element per partition and cycle through a function table.
///
/// Models: see DataPathEngine; table loads and accumulator reads are instructions of their own or
/// part of a cost (scalar_engine_timing.hpp). Does not model: contents of its accumulators. One per
/// NeuronCore.
class ScalarEngine : public DataPathEngine {
public:
    ScalarEngine(const sc_core::sc_module_name& name,
                 const CoreServices& services,
                 const CoreMemories& memories)
        : DataPathEngine(name, Engine::Scalar, services, memories) {}
};

}  // namespace trnsim::neuron_core
