// SPDX-License-Identifier: Apache-2.0
// What is counted about a Tensor Engine beyond its queue.
#pragma once

#include "trnsim/base/units.hpp"

#include <cstdint>

namespace trnsim::neuron_core {

/// Work and clock state. Utilisation and MFU are derived in report/.
struct TensorEngineStats {
    std::int64_t macs = 0;  ///< Of products, padding excluded.
    std::int64_t transpose_macs = 0;
    double weighted_macs = 0.0;  ///< By the array time of the dtype, BF16 = 1.
    double weighted_transpose_macs = 0.0;
    Picoseconds cold;  ///< MultiplyMoving time below the full clock.
};

}  // namespace trnsim::neuron_core
