// SPDX-License-Identifier: Apache-2.0
// Instructions that others depend on because the program says so, not their data.
#pragma once

#include "trnsim/neuron_core/queued_instruction.hpp"

#include <cstdint>
#include <deque>
#include <unordered_map>

namespace trnsim::lowering {

struct PlannedStep;

/// One execution of a run that others depend on: they wait for its end. NkiInstruction.depends_on
/// lowers to a semaphore wait. [NKI-ISA]
struct ProducerExecution {
    PlannedStep* step = nullptr;     ///< While it waits in the window;
    neuron_core::QueueId queue = 0;  ///< then where it is,
    std::uint64_t number = 0;        ///< and its number there.
};

/// Producers by the numbers that the program gives them. Takes memory for each of their executions.
class ProducerTable {
public:
    /// An execution of this producer; earlier ones are forgotten. Stays where it is.
    [[nodiscard]] ProducerExecution& add(std::int64_t producer, PlannedStep& step) {
        ProducerExecution& added = executions_.emplace_back(ProducerExecution{.step = &step});
        latest_[producer] = &added;
        return added;
    }

    /// The latest execution so far; nullptr if there is none.
    [[nodiscard]] const ProducerExecution* find(std::int64_t producer) const {
        const auto found = latest_.find(producer);
        return found == latest_.end() ? nullptr : found->second;
    }

private:
    std::deque<ProducerExecution> executions_;
    std::unordered_map<std::int64_t, ProducerExecution*> latest_;
};

}  // namespace trnsim::lowering
