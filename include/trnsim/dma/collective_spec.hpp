// SPDX-License-Identifier: Apache-2.0
// Immutable numbers of exchanges between NeuronCores and between chips.
#pragma once

#include "trnsim/base/units.hpp"

#include <cstdint>

namespace trnsim {

/// Latencies (alpha) and rates (beta) of the collectives of one instance, and of what goes beyond
/// it. They stand for links and collective cores, which are not modelled one by one (D-31).
struct CollectiveSpec {
    Picoseconds launch_ns{};                      ///< Trigger and descriptor fetch, once.
    Picoseconds step_ns{};                        ///< A step of the mesh and of halving/doubling.
    Picoseconds ring_hop_ns{};                    ///< A hop of the ring.
    GigabytesPerSecond ring_gb_per_s{512};        ///< Links of a chip that a ring uses, one way.
    GigabytesPerSecond rdh_gb_per_s{400};         ///< The same of recursive doubling and halving.
    GigabytesPerSecond all_to_all_gb_per_s{256};  ///< Of a chip when all send to all.
    std::int64_t mesh_bytes_max = 1 << 20;        ///< Above: recursive doubling and halving.
    std::int64_t rdh_bytes_max = 56 << 20;        ///< Above: ring.
    double all_gather_touches = 3.0;      ///< HBM accesses per byte and pair of ranks, of the ring.
    double reduce_scatter_touches = 4.0;  ///< The same.
    std::int64_t chips_per_instance = 16;
    Picoseconds network_latency_ns{};         ///< A step between instances.
    GigabytesPerSecond network_gb_per_s{25};  ///< Of a chip, one way.
    Picoseconds sendrecv_ns{};                ///< sendrecv between cores by DMA, before its bytes.
    Picoseconds sendrecv_gpsimd_ns{};         ///< The same by the GpSimd engine's own DMA.
};

}  // namespace trnsim
