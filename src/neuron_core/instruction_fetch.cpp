// SPDX-License-Identifier: Apache-2.0
// Demand-driven instruction queues.
#include "trnsim/neuron_core/instruction_fetch.hpp"

#include <bit>

namespace trnsim::neuron_core {

InstructionFetch::InstructionFetch(const sc_core::sc_module_name& name, InstructionSource& source)
    : sc_module(name), source_(source) {}

void InstructionFetch::connect(QueueId queue, sc_core::sc_event& wake) {
    wake_[queue] = &wake;
}

const QueuedInstruction* InstructionFetch::refill(QueueId queue) {
    if (!source_.uses(queue)) {
        return nullptr;
    }
    while (queues_.empty(queue) && !exhausted_ && held_ < capacity_) {
        exhausted_ = !source_.produce(*this);
    }
    if (queues_.empty(queue) && !exhausted_) {
        starving_ |= 1U << queue;
    }
    return peek(queue);
}

QueuedInstruction& InstructionFetch::append(QueueId queue) {
    ++held_;
    ++supplied_;
    if ((starving_ >> queue & 1U) != 0) {
        wake(queue);
    }
    QueuedInstruction& instruction = queues_.append(queue);
    instruction.wait_count = 0;
    instruction.signal_count = 0;
    return instruction;
}

bool InstructionFetch::extend() {
    capacity_ = held_ + kCapacity;
    return wake_starving();
}

bool InstructionFetch::wake_starving() {
    if (exhausted_ || starving_ == 0) {
        return false;
    }
    while (starving_ != 0) {
        wake(static_cast<QueueId>(std::countr_zero(starving_)));
    }
    return true;
}

void InstructionFetch::wake(QueueId queue) {
    starving_ &= ~(1U << queue);
    wake_[queue]->notify(sc_core::SC_ZERO_TIME);
}

}  // namespace trnsim::neuron_core
