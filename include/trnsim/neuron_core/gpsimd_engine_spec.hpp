// SPDX-License-Identifier: Apache-2.0
// Immutable numbers of one GpSimd Engine.
#pragma once

#include "trnsim/base/units.hpp"

#include <cstdint>

namespace trnsim {

/// One GpSimd Engine: eight 512-bit SIMD processors of 16 partitions each. Rates are cycles per
/// element and partition.
struct GpsimdEngineSpec {
    Gigahertz clock_ghz{1.2};
    Cycles issue_overhead_cycles{150};  ///< GPSIMD_START.
    Cycles completion_overhead_cycles{212};
    double elementwise = 1.0;  ///< iota, affine_select, copy, memset, integer tensor_tensor.
    double rsqrt = 4.0;
    double random = 8.0;  ///< rng.
    double partition_reduce = 16.0;
    double serial = 3.0;               ///< sequence_bounds, nonzero_with_count.
    double topk = 4.0;                 ///< Per element of the 16-partition snake.
    double local_gather_start = 28.0;  ///< Cycles before the elements of one index.
    double local_gather_step = 4.0;    ///< t of the published formula, which divides the start.
    std::int64_t gather_group_elements =
        512;              ///< nc_n_gather works in groups of this many outputs.
    double gather = 2.0;  ///< Cycles per gathered element of nc_n_gather.
};

}  // namespace trnsim
