// SPDX-License-Identifier: Apache-2.0
// What is counted about the DMA engines of a NeuronCore.
#pragma once

#include "trnsim/base/units.hpp"

#include <cstdint>
#include <vector>

namespace trnsim::dma {

/// Transfers of one ring.
struct DmaRingStats {
    std::int64_t transfer_count = 0;
    std::int64_t descriptor_count = 0;
    std::int64_t bytes = 0;
    std::int64_t spill_save_bytes = 0;
    std::int64_t spill_reload_bytes = 0;
};

/// Data movement of all engines.
struct DmaStats {
    Picoseconds active;       ///< Any transfer is under way, from its first byte to its completion.
    Picoseconds hbm_limited;  ///< HBM, not an engine, set the rate.
    std::vector<Picoseconds> engine_busy;  ///< One per engine.
    std::int64_t hbm_read_bytes = 0;
    std::int64_t hbm_write_bytes = 0;
};

}  // namespace trnsim::dma
