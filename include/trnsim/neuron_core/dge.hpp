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
/// A generator goes to the ring that could have triggered first; of two at once to the lower ring.
/// Models: generators in parallel, each busy for a DMA's generation. One per NeuronCore.
class Dge : public sc_core::sc_module {
public:
    Dge(const sc_core::sc_module_name& name, const DgeSpec& spec);

    /// When a generator of that mode is free.
    [[nodiscard]] Picoseconds earliest(DgeMode mode) const;

    /// When a generator is free for a DMA that `ring` could trigger at `at`, those before it
    /// served. The request stands until serve().
    [[nodiscard]] Picoseconds request(int ring,
                                      DgeMode mode,
                                      const dma::DgeCost& cost,
                                      Picoseconds at);

    /// Generates what `ring` requested. \pre its request was for `now` or an earlier time
    void serve(int ring, Picoseconds now);

    /// Occupies the generator that is free first. \pre earliest(mode) <= now
    void generate(DgeMode mode, const dma::DgeCost& cost, Picoseconds now);

private:
    struct Request {
        Picoseconds at;
        int ring = 0;
        DgeMode mode = DgeMode::None;
        Picoseconds generator;  ///< Busy for it.
    };

    void enter(const Request& request);
    void occupy(DgeMode mode, Picoseconds time, Picoseconds now);

    [[nodiscard]] const std::vector<Picoseconds>& generators(DgeMode mode) const;

    std::vector<Request> requests_;  ///< In the order in which they are served; one of a ring.
    std::vector<Picoseconds>
        plan_;  ///< When generators are free in request(), kept for its memory.
    std::vector<Picoseconds> hardware_free_;
    std::vector<Picoseconds> software_free_;
    std::vector<Picoseconds> static_free_;  ///< Empty: descriptors were written before the kernel.
};

}  // namespace trnsim::neuron_core
