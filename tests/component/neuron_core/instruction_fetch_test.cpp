// SPDX-License-Identifier: Apache-2.0
// The instruction supply keeps queues in order, holds a bounded number, and never starves anyone
// for good.
#include "trnsim/neuron_core/instruction_fetch.hpp"

#include "component/core_harness.hpp"

#include <gtest/gtest.h>

namespace trnsim::neuron_core {
namespace {

using test::ns;
using test::PlainEngine;
using test::timed;

class InstructionFetchTest : public test::SystemCTest {
protected:
    test::CoreHarness core_;
    const IssueTemplate& work_ = core_.script.define(timed("work", ns(10)));
};

TEST_F(InstructionFetchTest, ProducesNoFurtherThanAQueueAsks) {
    for (int i = 0; i < 10; ++i) {
        core_.script.add(i % 2 == 0 ? Engine::Vector : Engine::Scalar, work_);
    }
    InstructionFetch& fetch = core_.fetch();
    EXPECT_NE(fetch.front(queue_of(Engine::Scalar)), nullptr);
    EXPECT_EQ(fetch.supplied(), 2);
    EXPECT_FALSE(fetch.is_exhausted());
}

TEST_F(InstructionFetchTest, GivesEachQueueItsInstructionsInOrder) {
    const IssueTemplate& other = core_.script.define(timed("other", ns(20)));
    core_.script.add(Engine::Vector, work_);
    core_.script.add(Engine::Scalar, work_);
    core_.script.add(Engine::Vector, other);
    InstructionFetch& fetch = core_.fetch();
    const QueueId vector = queue_of(Engine::Vector);
    EXPECT_EQ(fetch.front(vector)->what, &work_);
    fetch.pop(vector);
    EXPECT_EQ(fetch.front(vector)->what, &other);
    fetch.pop(vector);
    EXPECT_EQ(fetch.front(vector), nullptr);
    EXPECT_TRUE(fetch.is_exhausted());
}

TEST_F(InstructionFetchTest, PeekingProducesNothing) {
    core_.script.add(Engine::Vector, work_);
    EXPECT_EQ(core_.fetch().peek(queue_of(Engine::Vector)), nullptr);
    EXPECT_EQ(core_.fetch().supplied(), 0);
}

TEST_F(InstructionFetchTest, AQueueThatTheProgramDoesNotUseIsNotWaitedFor) {
    core_.script.add(Engine::Vector, work_);
    EXPECT_EQ(core_.fetch().front(queue_of(Engine::Gpsimd)), nullptr);
    EXPECT_EQ(core_.fetch().supplied(), 0);
}

TEST_F(InstructionFetchTest, HoldsABoundedNumberOfInstructions) {
    for (std::int64_t i = 0; i < 3 * InstructionFetch::kCapacity; ++i) {
        core_.script.add(Engine::Vector, work_);
    }
    core_.script.add(Engine::Scalar, work_);
    EXPECT_EQ(core_.fetch().front(queue_of(Engine::Scalar)), nullptr);
    EXPECT_EQ(core_.fetch().supplied(), InstructionFetch::kCapacity);
}

TEST_F(InstructionFetchTest, AQueueFarBehindInTheProgramGetsItsInstructionsInTheEnd) {
    constexpr std::int64_t kAhead = 3 * InstructionFetch::kCapacity;
    for (std::int64_t i = 0; i < kAhead; ++i) {
        core_.script.add(Engine::Vector, work_);
    }
    core_.script.add(Engine::Scalar, work_);
    PlainEngine vector("vector", Engine::Vector, core_);
    PlainEngine scalar("scalar", Engine::Scalar, core_);
    test::CoreHarness::run();
    EXPECT_EQ(vector.stats().instruction_count, kAhead);
    EXPECT_EQ(scalar.stats().instruction_count, 1);
    EXPECT_EQ(vector.stats().last_done, ns(10 * kAhead));
}

TEST_F(InstructionFetchTest, AWaitForAnInstructionFarLaterInTheProgramIsNoDeadlock) {
    // A lowered trace may list its queues one after the other.
    constexpr std::int64_t kEach = 2 * InstructionFetch::kCapacity;
    for (std::int64_t i = 0; i < kEach; ++i) {
        core_.script.add(Engine::Vector, work_).wait(1, static_cast<std::uint64_t>(i) + 1);
    }
    for (std::int64_t i = 0; i < kEach; ++i) {
        core_.script.add(Engine::Scalar, work_).signal(1);
    }
    PlainEngine vector("vector", Engine::Vector, core_);
    PlainEngine scalar("scalar", Engine::Scalar, core_);
    do {
        test::CoreHarness::run();
    } while (core_.fetch().extend());
    EXPECT_EQ(vector.stats().instruction_count, kEach);
    EXPECT_EQ(vector.describe_block(), "");
    EXPECT_EQ(vector.stats().last_done, ns(10 * kEach + 20));
}

}  // namespace
}  // namespace trnsim::neuron_core
