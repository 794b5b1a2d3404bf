// SPDX-License-Identifier: Apache-2.0
// When an instruction would start, as far as a compiler can tell.
#pragma once

#include "trnsim/lowering/dependencies/access_history.hpp"
#include "trnsim/neuron_core/queued_instruction.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace trnsim::lowering {

/// A schedule on paper: every queue in order, every instruction as soon as what it waits for has
/// ended, at the cost that *_timing gives it, plus a wake-up where another queue is waited for.
/// A matmul on a tile of the PE array keeps the Tensor Engine busy for the tile's share of its
/// time; LoadStationary runs behind the matmul before it, but for a pass of weights that come late.
/// Leaves out memory ports, the clock gate, that a trigger runs behind any instruction, and how DMA
/// engines are shared: they serve one transfer after the other.
class TimeEstimate {
public:
    /// The chip must outlive it. `dma_rate`: share of their rate at which DMA engines serve, above
    /// 0; a compiler that counts on less has more work ready while it waits for a load.
    explicit TimeEstimate(const ChipSpec& chip, double dma_rate = 1.0);

    /// From now on loads count as there with their last byte, as in the plan that says when they
    /// begin (LoadPlan); until then they have to become visible, too.
    void follow_plan_of_loads() { follows_plan_ = true; }

    /// When the queue could take another instruction.
    [[nodiscard]] Picoseconds free_at(neuron_core::QueueId queue) const {
        return queues_[queue].free_at;
    }

    /// When all of these have happened, for an instruction of that queue.
    [[nodiscard]] Picoseconds met(neuron_core::QueueId queue, const WaitSet& waits) const;

    /// The next instruction of a queue, which may start from `ready` on.
    void push(neuron_core::QueueId queue,
              const neuron_core::IssueTemplate& what,
              Picoseconds ready);

private:
    /// What began longer ago than this many instructions of its queue holds nobody up.
    static constexpr std::size_t kRemembered = 256;

    struct Queue {
        Picoseconds free_at;
        std::uint64_t count = 0;
        std::vector<Picoseconds> ends;  ///< Of the last kRemembered, by number.
    };

    [[nodiscard]] Picoseconds end_of(neuron_core::QueueId queue, std::uint64_t number) const;
    /// Of LoadStationary and MultiplyMoving, by a warm array.
    [[nodiscard]] Picoseconds tensor_time(const neuron_core::IssueTemplate& what) const;
    void trigger(neuron_core::QueueId ring,
                 const neuron_core::IssueTemplate& what,
                 Picoseconds start);
    static void append(Queue& queue, Picoseconds end);

    const ChipSpec& chip_;
    double dma_rate_;
    std::int64_t dma_engines_;  ///< That serve partitions.
    bool follows_plan_ = false;
    std::array<Queue, neuron_core::kQueues> queues_;
    Picoseconds dma_free_at_;
    Picoseconds fill_;
    Picoseconds wakeup_;
    Picoseconds tensor_wakeup_;
};

}  // namespace trnsim::lowering
