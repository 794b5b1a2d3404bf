// SPDX-License-Identifier: Apache-2.0
// Immutable numbers of a NeuronCore's DMA engines.
#pragma once

#include "trnsim/base/units.hpp"

#include <cstdint>

namespace trnsim {

/// Bits of an engine mask.
inline constexpr int kMostDmaEngines = 32;

/// The DMA engines of one NeuronCore. A transfer is split by partition over the engines; an engine
/// moves descriptors (elements) one after the other, round robin over its rings.
struct DmaSpec {
    std::int64_t engines = 16;
    std::int64_t rings = 16;  ///< Per engine.
    std::int64_t partitions_per_engine = 8;
    GigabytesPerSecond engine_gb_per_s{27.2};
    Picoseconds descriptor_overhead_ns{};      ///< Added to every descriptor.
    std::int64_t descriptor_bytes_max = 4096;  ///< Longer runs are split.
    Picoseconds read_turn_ns{};                ///< Engines begin with a read of HBM in turn, each
    GigabytesPerSecond read_turn_gb_per_s{10000};  ///< this and a descriptor after the one before.
    Picoseconds completion_ns{};                   ///< Last byte to semaphore visible.
    Picoseconds ring_interval_ns{};               ///< Least time between two transfers of one ring.
    std::int64_t ring_outstanding_transfers = 4;  ///< Issue stalls beyond; 0: no limit.
    std::int64_t priority_classes = 1;            ///< 4 on v4.
    double transpose_efficiency_hbm = 0.9;        ///< DMA transpose relative to copy, from HBM.
    double transpose_efficiency_sbuf = 0.5;       ///< From SBUF.
    double compute_efficiency = 0.5;              ///< dma_compute relative to copy.
};

}  // namespace trnsim
