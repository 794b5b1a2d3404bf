// SPDX-License-Identifier: Apache-2.0
// One DMA ring: triggers transfers in order and tells when they are complete.
#pragma once

#include "trnsim/base/ring_buffer.hpp"
#include "trnsim/dma/dma_engines.hpp"
#include "trnsim/neuron_core/dge.hpp"
#include "trnsim/neuron_core/sequencer.hpp"

#include <vector>

namespace trnsim::dma {

/// A queue of transfers bound to one way of descriptor generation.
///
///     queue --> [ wait for semaphores ] --> DGE --> [ DMA engines ] --> completion --> semaphores
///
/// A transfer that an engine triggers waits for that instruction of the engine's queue, and begins
/// with it; others wait for what they need themselves, as if the ring had a queue (D-05).
///
/// Models: order, generation of descriptors, least interval between triggers, a limit of
/// outstanding transfers, completion latency. One per ring in use.
class DmaRing : public neuron_core::Sequencer {
public:
    DmaRing(const sc_core::sc_module_name& name,
            int ring,
            const neuron_core::CoreServices& services,
            DmaEngines& engines,
            neuron_core::Dge& dge);

    [[nodiscard]] const DmaRingStats& ring_stats() const { return ring_stats_; }

    /// How long transfers that could begin stood behind the ring's interval, by index of their
    /// template; shorter than the run's list of these.
    [[nodiscard]] const std::vector<Picoseconds>& paced() const { return paced_; }

    /// How the ring's transfers so far were described to hardware.
    [[nodiscard]] DgeMode dge_mode() const { return mode_; }

private:
    [[nodiscard]] Picoseconds earliest(const neuron_core::QueuedInstruction& next) const override;
    Issue issue(const neuron_core::QueuedInstruction& next, std::uint64_t sequence) override;
    void issued(const neuron_core::Execution& execution) override;
    void moved();
    [[nodiscard]] bool is_full() const;

    struct Outstanding {
        neuron_core::QueuedInstruction instruction;
        neuron_core::Execution execution;
    };

    const int ring_;
    DmaEngines& engines_;
    neuron_core::Dge& dge_;
    Picoseconds last_trigger_;
    Picoseconds next_trigger_;
    DgeMode mode_ = DgeMode::None;
    RingBuffer<Outstanding> outstanding_;
    DmaRingStats ring_stats_;
    std::vector<Picoseconds> paced_;
};

}  // namespace trnsim::dma
