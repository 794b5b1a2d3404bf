// SPDX-License-Identifier: Apache-2.0
// Immutable numbers of what surrounds a kernel's instruction streams.
#pragma once

#include "trnsim/base/units.hpp"

namespace trnsim {

/// Device time of one kernel launch outside its own work, as a profiler's total_time counts it.
struct RuntimeSpec {
    Picoseconds kernel_start_ns{};  ///< Before the first instruction can trigger a DMA.
    Picoseconds kernel_end_ns{};    ///< After the last result is visible.
};

}  // namespace trnsim
