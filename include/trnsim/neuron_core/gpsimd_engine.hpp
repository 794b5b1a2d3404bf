// SPDX-License-Identifier: Apache-2.0
// The GpSimd Engine of a NeuronCore.
#pragma once

#include "trnsim/neuron_core/data_path_engine.hpp"

namespace trnsim::neuron_core {

/// The GpSimd Engine (Pool): eight SIMD processors, for what no other engine does.
///
/// Models: see DataPathEngine; its accesses reach SBUF only; software descriptor generation takes
/// its time, as triggers in its queue. One per NeuronCore.
class GpsimdEngine : public DataPathEngine {
public:
    GpsimdEngine(const sc_core::sc_module_name& name,
                 const CoreServices& services,
                 const CoreMemories& memories)
        : DataPathEngine(name, Engine::Gpsimd, services, memories) {}
};

}  // namespace trnsim::neuron_core
