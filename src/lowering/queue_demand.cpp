// SPDX-License-Identifier: Apache-2.0
// Queues of templates, times their executions.
#include "trnsim/lowering/queue_demand.hpp"

#include <bit>

namespace trnsim::lowering {

using neuron_core::queue_of;
using neuron_core::queue_of_ring;

namespace {

/// By template: how many steps it is.
std::vector<std::int64_t> count_executions(const program::Program& program) {
    std::vector<std::int64_t> counts(program.templates.size());
    const std::vector<std::int64_t> executions = program.executions();
    for (std::size_t i = 0; i < executions.size(); ++i) {
        const program::Node& node = program.nodes[i];
        if (node.kind == program::Node::Kind::Run) {
            counts[program.runs[node.index].instruction] += executions[i];
        }
    }
    return counts;
}

/// The queues onto which a template's instructions may go, a bit each.
std::uint32_t queues_of(const std::vector<Engine>& engines,
                        const InstructionPlan& plan,
                        const Policies& policies) {
    if (plan.is_transfer) {
        return 1U << queue_of_ring(plan.ring) | trigger_queue(plan.trigger.engine);
    }
    std::uint32_t queues = 0;
    for (const Engine engine : engines) {
        queues |= 1U << queue_of(engine);
        if (policies.engine_choice == EngineChoice::First) {
            break;
        }
    }
    return queues;
}

}  // namespace

std::uint32_t trigger_queue(Engine engine) {
    return engine != Engine::Dma ? 1U << queue_of(engine) : 0U;
}

QueueDemand::QueueDemand(const program::Program& program,
                         const std::vector<InstructionPlan>& plans,
                         const IssueTable& table,
                         const Policies& policies) {
    const std::vector<std::int64_t> executions = count_executions(program);
    for (std::uint32_t index = 0; index < program.templates.size(); ++index) {
        queues_of_.push_back(queues_of(table.engines(index), plans[index], policies));
        add(queues_of_.back(), executions[index]);
    }
}

void QueueDemand::add(std::uint32_t queues, std::int64_t steps) {
    for (std::uint32_t left = queues; left != 0; left &= left - 1) {
        to_come_[static_cast<std::size_t>(std::countr_zero(left))] += steps;
    }
}

}  // namespace trnsim::lowering
