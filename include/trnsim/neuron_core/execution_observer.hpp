// SPDX-License-Identifier: Apache-2.0
// Who wants to know that an instruction has started.
#pragma once

#include "trnsim/neuron_core/queued_instruction.hpp"

#include <cstdint>

namespace trnsim::neuron_core {

/// Is told of every start in the order of simulated time.
class ExecutionObserver {
public:
    ExecutionObserver() = default;
    ExecutionObserver(const ExecutionObserver&) = delete;
    ExecutionObserver& operator=(const ExecutionObserver&) = delete;
    virtual ~ExecutionObserver() = default;

    /// Instruction `sequence` (from 0) of a queue starts.
    virtual void started(QueueId queue, std::uint64_t sequence) = 0;
};

}  // namespace trnsim::neuron_core
