// SPDX-License-Identifier: Apache-2.0
// What is kept of executions: sums by template, and slices with arrows.
#include "trnsim/neuron_core/execution_log.hpp"

#include "component/core_harness.hpp"
#include "support/quiet_timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace trnsim::neuron_core {
namespace {

using test::ns;
using test::PlainEngine;
using test::timed;
using testing::ElementsAre;
using testing::Pair;

class ExecutionLogTest : public test::SystemCTest {};

TEST_F(ExecutionLogTest, SumsCountActiveAndStalledTimeByTemplate) {
    test::CoreHarness core;
    const IssueTemplate& producer = core.script.define(timed("producer", ns(200)));
    const IssueTemplate& consumer = core.script.define(timed("consumer", ns(50)));
    core.script.add(Engine::Vector, producer).signal(1);
    core.script.add(Engine::Scalar, consumer).wait(1, 1);
    core.script.add(Engine::Scalar, consumer);
    PlainEngine vector("vector", Engine::Vector, core);
    PlainEngine scalar("scalar", Engine::Scalar, core);
    test::CoreHarness::run();
    const std::vector<TemplateStats>& stats = core.log().templates();
    ASSERT_EQ(stats.size(), 2U);
    EXPECT_EQ(stats[0].count, 1);
    EXPECT_EQ(stats[0].active, ns(200));
    EXPECT_EQ(stats[0].stalled, ns(0));
    EXPECT_EQ(stats[1].count, 2);
    EXPECT_EQ(stats[1].active, ns(100));
    EXPECT_EQ(stats[1].stalled, ns(210));
    EXPECT_THAT(stats[1].waited_for, ElementsAre(Pair(&producer, ns(210))));
}

/// Keeps what slices say of flows.
class Flows : public test::QuietTimeline {
public:
    struct Flow {
        timeline::FlowId own = 0;
        std::vector<timeline::FlowId> waited_on;
    };
    void slice(const timeline::Slice& slice) override {
        flows_.push_back({slice.flow, {slice.waited_on.begin(), slice.waited_on.end()}});
    }

    [[nodiscard]] const std::vector<Flow>& flows() const { return flows_; }

private:
    std::vector<Flow> flows_;
};

TEST_F(ExecutionLogTest, ASliceNamesTheSliceItWaitedFor) {
    test::Script script;
    Flows sink;
    ExecutionLog log(script, &sink, nullptr);
    QueuedInstruction instruction;
    instruction.what = &script.define(timed("work", ns(10)));
    const Execution producer{.queue = 1, .sequence = 0, .instruction = &instruction};
    const Execution consumer{
        .queue = 2,
        .sequence = 7,
        .instruction = &instruction,
        .start = ns(20),
        .held_by = Producer{.queue = 1, .sequence = 0, .what = instruction.what},
        .held_until = ns(10)};
    for (const Execution& each : {producer, consumer}) {
        log.started(each);
        log.finished(each);
    }
    ASSERT_EQ(sink.flows().size(), 2U);
    EXPECT_NE(sink.flows()[0].own, 0U);
    EXPECT_NE(sink.flows()[0].own, sink.flows()[1].own);
    EXPECT_TRUE(sink.flows()[0].waited_on.empty());
    EXPECT_THAT(sink.flows()[1].waited_on, ElementsAre(sink.flows()[0].own));
    EXPECT_EQ(sink.labels().size(), 1U) << "a template is named once";
}

}  // namespace
}  // namespace trnsim::neuron_core
