// SPDX-License-Identifier: Apache-2.0
// Turns dependencies into semaphore waits and numbers the instructions of every queue.
#pragma once

#include "trnsim/lowering/issue_table.hpp"
#include "trnsim/lowering/wait_set.hpp"
#include "trnsim/neuron_core/instruction_source.hpp"

#include <array>
#include <cstdint>

namespace trnsim::lowering {

/// Every queue owns two semaphores: 2q counts its instructions that are done, 2q + 1 those that
/// have read their sources. Waits that an earlier instruction of the same queue already made are
/// left out; waits that do not fit into the instruction go into EVENT_SEMAPHORE instructions before
/// it.
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

private:
    /// A new instruction of a queue, still without waits.
    static neuron_core::QueuedInstruction& begin(neuron_core::InstructionSink& sink,
                                                 neuron_core::QueueId queue,
                                                 const neuron_core::IssueTemplate& what,
                                                 std::uint64_t psum_banks);

    IssueTable& table_;
    std::array<std::uint64_t, neuron_core::kQueues> numbers_{};
    std::array<KnownWaits, neuron_core::kQueues> known_{};
};

}  // namespace trnsim::lowering
