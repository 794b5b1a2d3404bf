// SPDX-License-Identifier: Apache-2.0
// Turns dependencies into semaphore waits and numbers the instructions of every queue.
#pragma once

#include "trnsim/lowering/dependencies/wait_set.hpp"
#include "trnsim/lowering/instructions/issue_table.hpp"
#include "trnsim/neuron_core/instruction_source.hpp"

#include <array>
#include <cstdint>

namespace trnsim::lowering {

/// How many semaphores it uses.
inline constexpr int kOrderingSemaphores = neuron_core::kQueues + neuron_core::kEngineQueues;

/// The one that counts the transfers that an engine's queue has let begin.
[[nodiscard]] constexpr int trigger_semaphore(neuron_core::QueueId queue) {
    return neuron_core::kQueues + queue;
}

/// Semaphore q counts the instructions of queue q that have ended, and an engine has one more, for
/// its triggers. Who is to overwrite what an instruction reads waits for its end, too: nothing in
/// profiles counts earlier (decision 0029) [TRACES-TRN2]. Waits that an earlier instruction of the
/// same queue already made are left out; waits that do not fit into the instruction go into
/// EVENT_SEMAPHORE instructions before it.
class QueueWriter {
public:
    explicit QueueWriter(IssueTable& table) : table_(table) {}

    /// The number the next instruction of a queue will have, from 1.
    [[nodiscard]] std::uint64_t next_number(neuron_core::QueueId queue) const {
        return numbers_[queue] + 1;
    }

    /// What a queue has waited for already.
    [[nodiscard]] const KnownWaits& known(neuron_core::QueueId queue) const {
        return known_[queue];
    }

    /// Appends an instruction that starts when all of `waits` are met.
    void push(neuron_core::InstructionSink& sink,
              neuron_core::QueueId queue,
              const neuron_core::IssueTemplate& what,
              const WaitSet& waits,
              std::uint64_t psum_banks = 0);

    /// Appends a transfer that starts with the latest trigger of an engine's queue.
    void push_triggered(neuron_core::InstructionSink& sink,
                        neuron_core::QueueId ring,
                        const neuron_core::IssueTemplate& what,
                        neuron_core::QueueId triggers);

private:
    /// Its signals: the end of an instruction.
    void end(neuron_core::QueueId queue, neuron_core::QueuedInstruction& instruction);
    /// A new instruction of a queue, still without waits.
    static neuron_core::QueuedInstruction& begin(neuron_core::InstructionSink& sink,
                                                 neuron_core::QueueId queue,
                                                 const neuron_core::IssueTemplate& what,
                                                 std::uint64_t psum_banks);

    IssueTable& table_;
    std::array<std::uint64_t, neuron_core::kQueues> numbers_{};
    std::array<std::uint64_t, neuron_core::kEngineQueues> triggers_{};
    std::array<KnownWaits, neuron_core::kQueues> known_{};
};

}  // namespace trnsim::lowering
