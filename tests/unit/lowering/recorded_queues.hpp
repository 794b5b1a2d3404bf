// SPDX-License-Identifier: Apache-2.0
// A sink that keeps what a source pushes, and what tests ask about it.
#pragma once

#include "trnsim/neuron_core/instruction_source.hpp"

#include <string>
#include <vector>

namespace trnsim::test {

/// Instructions of all queues in the order in which they were pushed.
class RecordedQueues : public neuron_core::InstructionSink {
public:
    struct Entry {
        neuron_core::QueueId queue = 0;
        neuron_core::QueuedInstruction instruction{};
        std::size_t step = 0;  ///< Call of produce() that pushed it.
    };

    neuron_core::QueuedInstruction& append(neuron_core::QueueId queue) override {
        return entries_.emplace_back(Entry{.queue = queue, .step = step_}).instruction;
    }

    /// Runs the source to its end.
    void drain(neuron_core::InstructionSource& source) {
        while (source.produce(*this)) {
            ++step_;
        }
    }

    [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

    [[nodiscard]] std::vector<neuron_core::QueuedInstruction> of(neuron_core::QueueId queue) const {
        std::vector<neuron_core::QueuedInstruction> result;
        for (const Entry& entry : entries_) {
            if (entry.queue == queue) {
                result.push_back(entry.instruction);
            }
        }
        return result;
    }

    /// Names of all instructions in order.
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> result;
        for (const Entry& entry : entries_) {
            result.push_back(entry.instruction.what->name);
        }
        return result;
    }

private:
    std::vector<Entry> entries_;
    std::size_t step_ = 0;
};

/// "8>=3 9>=1": the waits of an instruction.
[[nodiscard]] inline std::string waits_of(const neuron_core::QueuedInstruction& instruction) {
    std::string text;
    for (const neuron_core::SemaphoreWait& wait : instruction.waits()) {
        text += (text.empty() ? "" : " ") + std::to_string(wait.semaphore) +
                ">=" + std::to_string(wait.at_least);
    }
    return text;
}

/// The semaphore that counts a queue's ended instructions.
[[nodiscard]] constexpr int done_semaphore(neuron_core::QueueId queue) {
    return queue;
}

}  // namespace trnsim::test
