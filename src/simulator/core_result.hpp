// SPDX-License-Identifier: Apache-2.0
// What a NeuronCore measured, from its modules.
#pragma once

#include "core_source.hpp"
#include "trnsim/neuron_core/neuron_core.hpp"
#include "trnsim/simulator/run_result.hpp"

namespace trnsim {

/// Everything but the list of cores. To be called once the core stands still.
[[nodiscard]] RunResult core_result(const neuron_core::NeuronCore& core,
                                    const CoreSource& source,
                                    const ChipSpec& chip,
                                    Method method);

}  // namespace trnsim
