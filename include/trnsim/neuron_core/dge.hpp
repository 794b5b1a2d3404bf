// SPDX-License-Identifier: Apache-2.0
// The Descriptor Generation Engine of a NeuronCore.
#pragma once

#include "trnsim/dma/dma_timing.hpp"
#include "trnsim/isa/engine.hpp"
#include "trnsim/neuron_core/sync_engine_spec.hpp"

#include <systemc>

#include <vector>

namespace trnsim::neuron_core {

/// Makes the descriptors of dynamic DMAs: hardware blocks, or GpSimd in software.
///
///     DMA rings --> [ hardware: 2 blocks | software: GpSimd | static: nothing to do ] -->
///     descriptors
///
/// Models: generators in parallel, each busy for a DMA's generation. One per NeuronCore.
class Dge : public sc_core::sc_module {
public:
    Dge(const sc_core::sc_module_name& name, const DgeSpec& spec);

    /// When a generator of that mode is free.
    [[nodiscard]] Picoseconds earliest(DgeMode mode) const;

    /// Occupies the generator that is free first. \pre earliest(mode) <= now
    void generate(DgeMode mode, const dma::DgeCost& cost, Picoseconds now);

private:
    [[nodiscard]] const std::vector<Picoseconds>& generators(DgeMode mode) const;

    std::vector<Picoseconds> hardware_free_;
    std::vector<Picoseconds> software_free_;
    std::vector<Picoseconds> static_free_;  ///< Empty: descriptors were written before the kernel.
};

}  // namespace trnsim::neuron_core
