// SPDX-License-Identifier: Apache-2.0
// Demand-driven instruction queues.
#include "trnsim/neuron_core/instruction_fetch.hpp"

namespace trnsim::neuron_core {

InstructionFetch::InstructionFetch(const sc_core::sc_module_name& name, InstructionSource& source)
    : sc_module(name), source_(source) {}

void InstructionFetch::connect(QueueId queue, sc_core::sc_event& wake) {
    wake_[queue] = &wake;
}

const QueuedInstruction* InstructionFetch::front(QueueId queue) {
    RingBuffer<QueuedInstruction>& instructions = queues_[queue];
    while (instructions.empty() && !exhausted_ && held_ < capacity_ && source_.uses(queue)) {
        exhausted_ = !source_.produce(*this);
    }
    if (!instructions.empty()) {
        return &instructions.front();
    }
    starving_[queue] = true;
    return nullptr;
}

const QueuedInstruction* InstructionFetch::peek(QueueId queue) const {
    return queues_[queue].empty() ? nullptr : &queues_[queue].front();
}

void InstructionFetch::pop(QueueId queue) {
    queues_[queue].pop_front();
    --held_;
    if (held_ < kCapacity / 2) {
        wake_starving();
    }
}

void InstructionFetch::push(QueueId queue, const QueuedInstruction& instruction) {
    queues_[queue].push_back(instruction);
    ++held_;
    ++supplied_;
    if (starving_[queue]) {
        starving_[queue] = false;
        wake_[queue]->notify(sc_core::SC_ZERO_TIME);
    }
}

bool InstructionFetch::extend() {
    capacity_ = held_ + kCapacity;
    return wake_starving();
}

bool InstructionFetch::wake_starving() {
    bool woke = false;
    for (std::size_t queue = 0; queue < starving_.size(); ++queue) {
        if (starving_[queue] && !exhausted_ && source_.uses(static_cast<QueueId>(queue))) {
            starving_[queue] = false;
            wake_[queue]->notify(sc_core::SC_ZERO_TIME);
            woke = true;
        }
    }
    return woke;
}

}  // namespace trnsim::neuron_core
