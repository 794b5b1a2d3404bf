// SPDX-License-Identifier: Apache-2.0
// The instruction queues of a NeuronCore, refilled on demand.
#pragma once

#include "trnsim/base/shared_queues.hpp"
#include "trnsim/neuron_core/instruction_source.hpp"

#include <systemc>

#include <array>
#include <cstdint>

namespace trnsim::neuron_core {

/// Instruction supply of the five sequencers and the DMA rings.
///
///     InstructionSource --> [ 21 in-order queues ] --> sequencers, DMA rings
///
/// Models: in-order queues. Does not model: fetch by DMA from HBM; the total of instructions in all
/// queues is bounded, for the simulator's memory (D-03). One per NeuronCore.
class InstructionFetch : public sc_core::sc_module, private InstructionSink {
public:
    /// Instructions in all queues together, and what extend() adds. Far beyond any engine's lead
    /// over another.
    static constexpr std::int64_t kCapacity = 16384;

    InstructionFetch(const sc_core::sc_module_name& name, InstructionSource& source);

    /// The event that wakes the consumer of a queue when it had run dry. Set at elaboration.
    void connect(QueueId queue, sc_core::sc_event& wake);

    /// The oldest instruction of a queue, or nullptr: either the queue will stay empty, or its
    /// consumer is woken when there is one.
    [[nodiscard]] const QueuedInstruction* front(QueueId queue) {
        return queues_.empty(queue) ? refill(queue) : &queues_.front(queue);
    }

    /// The oldest instruction that is in the queue already, or nullptr.
    [[nodiscard]] const QueuedInstruction* peek(QueueId queue) const {
        return queues_.empty(queue) ? nullptr : &queues_.front(queue);
    }

    /// Removes the oldest instruction. \pre front(queue) was not nullptr
    void pop(QueueId queue) {
        queues_.pop_front(queue);
        --held_;
        if (const QueuedInstruction* next = peek(queue)) {
            __builtin_prefetch(next);  // It was written long ago.
        }
        if (starving_ != 0 && held_ < kCapacity / 2) {
            wake_starving();
        }
    }

    /// Makes room for more after all queues stood still: one of them may wait for what another
    /// would raise with an instruction far later in the program. False if no queue gets more.
    bool extend();

    [[nodiscard]] bool is_exhausted() const { return exhausted_; }

    /// Instructions handed to queues so far.
    [[nodiscard]] std::int64_t supplied() const { return supplied_; }

private:
    const QueuedInstruction* refill(QueueId queue);
    QueuedInstruction& append(QueueId queue) override;
    bool wake_starving();
    void wake(QueueId queue);

    InstructionSource& source_;
    SharedQueues<QueuedInstruction, kQueues> queues_;
    std::array<sc_core::sc_event*, kQueues> wake_{};
    std::uint32_t starving_ = 0;  ///< Queues whose consumers wait for an instruction, a bit each.
    std::int64_t capacity_ = kCapacity;
    std::int64_t held_ = 0;
    std::int64_t supplied_ = 0;
    bool exhausted_ = false;
};

}  // namespace trnsim::neuron_core
