// SPDX-License-Identifier: Apache-2.0
// The Vector Engine of a NeuronCore.
#pragma once

#include "trnsim/neuron_core/data_path_engine.hpp"
#include "trnsim/neuron_core/vector_engine_spec.hpp"

#include <cstdint>

namespace trnsim::neuron_core {

/// The Vector Engine (DVE): 128 lanes for elementwise work, reductions, scans, small transposes,
/// shuffles.
///
/// Models, beyond DataPathEngine: the slow first 32x32 transpose after a change of quadrants or of
/// operation, and the mask load of a shuffle. Does not model: contents of its accumulator
/// registers. One per NeuronCore.
class VectorEngine : public DataPathEngine {
public:
    VectorEngine(const sc_core::sc_module_name& name,
                 const VectorEngineSpec& spec,
                 const CoreServices& services,
                 const CoreMemories& memories);

private:
    [[nodiscard]] StateChange state_change(const IssueTemplate& next) override;

    const VectorEngineSpec spec_;
    std::uint32_t transpose_key_ = 0;  ///< Quadrants of the last instruction if it was a transpose.
    std::uint32_t shuffle_key_ = 0;    ///< Mask in place.
};

}  // namespace trnsim::neuron_core
