// SPDX-License-Identifier: Apache-2.0
// A queue is in use until the last step that may need it.
#include "trnsim/lowering/queue_demand.hpp"

#include "lowered_program.hpp"
#include "support/program_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace trnsim::lowering {
namespace {

using neuron_core::queue_of;
using neuron_core::queue_of_ring;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t kLoad = 0;
constexpr std::uint32_t kCopy = 1;

/// A load, then three copies that Vector and Scalar may run; a fill that nobody runs.
program::Program load_and_copies() {
    test::ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128, 64});
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto load = builder.copy(tile, in);
    const auto copy =
        builder.add(Opcode::TensorCopy,
                    {Engine::Vector, Engine::Scalar},
                    {builder.whole(Role::Dst, tile), builder.whole(Role::Data, tile)});
    builder.add(Opcode::Memset, {Engine::Gpsimd}, {builder.whole(Role::Dst, tile)}, {.value = 1.0});
    builder.alloc(tile).run(load).loop(3).run(copy).end();
    return builder.build();
}

QueueDemand demand_of(const program::Program& program, const Policies& policies) {
    const ChipSpec chip = test::chip_named("trainium2");
    IssueTable table(program, chip);
    return {program,
            plan_instructions(program, chip, table, plan_rings(program, chip, policies), policies),
            table,
            policies};
}

std::vector<neuron_core::QueueId> used(const QueueDemand& demand) {
    std::vector<neuron_core::QueueId> queues;
    for (neuron_core::QueueId queue = 0; queue < neuron_core::kQueues; ++queue) {
        if (demand.uses(queue)) {
            queues.push_back(queue);
        }
    }
    return queues;
}

TEST(QueueDemandTest, WithoutAProgramNoQueueIsUsed) {
    EXPECT_THAT(used(QueueDemand()), IsEmpty());
}

TEST(QueueDemandTest, EveryEngineThatMayRunAStepIsUsedUnlessTheFirstIsTaken) {
    const program::Program program = load_and_copies();
    EXPECT_THAT(used(demand_of(program, {.engine_choice = EngineChoice::Balanced})),
                ElementsAre(queue_of(Engine::Vector), queue_of(Engine::Scalar), queue_of_ring(0)));
    EXPECT_THAT(used(demand_of(program, {.engine_choice = EngineChoice::First})),
                ElementsAre(queue_of(Engine::Vector), queue_of_ring(0)))
        << "and what never runs needs no queue";
}

TEST(QueueDemandTest, AQueueIsUsedUntilItsLastStep) {
    QueueDemand demand = demand_of(load_and_copies(), {.engine_choice = EngineChoice::First});
    demand.met(kCopy);
    demand.met(kCopy);
    EXPECT_THAT(used(demand), ElementsAre(queue_of(Engine::Vector), queue_of_ring(0)));
    demand.met(kCopy);
    EXPECT_THAT(used(demand), ElementsAre(queue_of_ring(0)));
    demand.met(kLoad);
    EXPECT_THAT(used(demand), IsEmpty());
}

TEST(QueueDemandTest, WhatNobodyCanCountIsExpectedToTheEnd) {
    QueueDemand demand = demand_of(load_and_copies(), {.engine_choice = EngineChoice::First});
    demand.expect_always(1U << queue_of(Engine::Sync));
    demand.met(kLoad);
    for (int i = 0; i < 3; ++i) {
        demand.met(kCopy);
    }
    EXPECT_THAT(used(demand), ElementsAre(queue_of(Engine::Sync)));
}

}  // namespace
}  // namespace trnsim::lowering
