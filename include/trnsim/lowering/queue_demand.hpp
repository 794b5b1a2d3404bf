// SPDX-License-Identifier: Apache-2.0
// Which queues may still get instructions.
#pragma once

#include "trnsim/lowering/instructions/instruction_plan.hpp"
#include "trnsim/lowering/instructions/issue_table.hpp"
#include "trnsim/lowering/policies.hpp"
#include "trnsim/neuron_core/queued_instruction.hpp"
#include "trnsim/program/program.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace trnsim::lowering {

/// The queue in which a transfer's trigger stands, as a bit; 0: it has none.
[[nodiscard]] std::uint32_t trigger_queue(Engine engine);

/// Counts, for every queue, the steps to come that may put an instruction on it: an engine's
/// process ends when there are none.
class QueueDemand {
public:
    /// Nothing is to come.
    QueueDemand() = default;
    /// All steps of the program are to come.
    QueueDemand(const program::Program& program,
                const std::vector<InstructionPlan>& plans,
                const IssueTable& table,
                const Policies& policies);

    [[nodiscard]] bool uses(neuron_core::QueueId queue) const { return to_come_[queue] > 0; }
    /// Somebody may use these queues, a bit each, nobody knows how often.
    void expect_always(std::uint32_t queues) { add(queues, 1); }
    /// A step of this template has put its instructions on their queues.
    void met(std::uint32_t instruction) { add(queues_of_[instruction], -1); }

private:
    void add(std::uint32_t queues, std::int64_t steps);

    std::vector<std::uint32_t> queues_of_;  ///< By template, a bit each.
    std::array<std::int64_t, neuron_core::kQueues> to_come_{};
};

}  // namespace trnsim::lowering
