// SPDX-License-Identifier: Apache-2.0
// A sequencer issues in order, waits exactly as long as it must, and says what for.
#include "component/core_harness.hpp"
#include "trnsim/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace trnsim {
namespace {

using neuron_core::EngineStats;
using neuron_core::IssueTemplate;
using test::ns;
using test::PlainEngine;
using test::timed;
using testing::ElementsAre;
using testing::IsEmpty;

class SequencerTest : public test::SystemCTest {
protected:
    /// Runs the script on the engines that it uses.
    void run() {
        static constexpr std::array kNames{"tensor", "vector", "scalar", "gpsimd", "sync"};
        for (const Engine engine : kSequencedEngines) {
            if (core_.script.uses(neuron_core::queue_of(engine))) {
                engines_[engine] = std::make_unique<PlainEngine>(
                    kNames[static_cast<std::size_t>(engine)], engine, core_);
            }
        }
        test::CoreHarness::run();
    }

    test::Script::Item& add(Engine engine, const IssueTemplate& what) {
        return core_.script.add(engine, what);
    }
    const IssueTemplate& define(IssueTemplate what) { return core_.script.define(std::move(what)); }

    [[nodiscard]] const EngineStats& stats(Engine engine) const {
        return engines_.at(engine)->stats();
    }
    [[nodiscard]] Picoseconds waited(Engine engine, std::size_t cause) const {
        return stats(engine).waiting[cause];
    }

    test::CoreHarness core_;
    std::map<Engine, std::unique_ptr<PlainEngine>> engines_;
};

constexpr std::size_t kForVector = 1;
constexpr std::size_t kForPort = 6;

TEST_F(SequencerTest, StartsTheNextInstructionWhenTheIntervalHasPassedNotWhenTheResultIsThere) {
    const IssueTemplate& work = define(timed("work", ns(100), ns(100), ns(250)));
    add(Engine::Vector, work);
    add(Engine::Vector, work);
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(0, 100));
    EXPECT_THAT(core_.ends(Engine::Vector), ElementsAre(250, 350));
}

TEST_F(SequencerTest, IssuesInOrderEvenIfALaterInstructionCouldGo) {
    const IssueTemplate& producer = define(timed("producer", ns(500)));
    const IssueTemplate& work = define(timed("work", ns(10)));
    add(Engine::Scalar, producer).signal(1);
    add(Engine::Vector, work).wait(1, 1);
    add(Engine::Vector, work);
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(510, 520));
}

TEST_F(SequencerTest, StartsAWakeUpTimeAfterTheSemaphore) {
    const IssueTemplate& producer = define(timed("producer", ns(100), ns(100), ns(300)));
    const IssueTemplate& work = define(timed("work", ns(50)));
    add(Engine::Scalar, producer).signal(1);
    add(Engine::Vector, work).wait(1, 1);
    add(Engine::Tensor, work).wait(1, 1);
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(310));
    EXPECT_THAT(core_.starts(Engine::Tensor), ElementsAre(320)) << "TensorE wakes up in 20 ns";
}

TEST_F(SequencerTest, AQueueNeedsNoWakeUpForItsOwnResult) {
    const IssueTemplate& work = define(timed("work", ns(100), ns(100), ns(250)));
    add(Engine::Vector, work).signal(1);
    add(Engine::Vector, work).wait(1, 1);
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(0, 250));
}

TEST_F(SequencerTest, ATriggerIsHeardAtOnce) {
    IssueTemplate trigger_of_a_ring = timed("trigger", ns(100), ns(0), ns(100));
    trigger_of_a_ring.operation = neuron_core::Operation::Trigger;
    const IssueTemplate& trigger = define(trigger_of_a_ring);
    const IssueTemplate& work = define(timed("work", ns(50)));
    add(Engine::Scalar, work);
    add(Engine::Scalar, trigger).signal_at_read(1);
    add(Engine::Vector, work).wait(1, 1);
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(50));
}

TEST_F(SequencerTest, ASemaphoreRaisedLongAgoCostsNothing) {
    const IssueTemplate& fast = define(timed("fast", ns(10)));
    const IssueTemplate& slow = define(timed("slow", ns(5000)));
    add(Engine::Scalar, fast).signal(1);
    add(Engine::Vector, slow);
    add(Engine::Vector, fast).wait(1, 1);
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(0, 5000));
}

TEST_F(SequencerTest, WaitsForTheLastOfItsSemaphores) {
    const IssueTemplate& early = define(timed("early", ns(100)));
    const IssueTemplate& late = define(timed("late", ns(400)));
    add(Engine::Scalar, late).signal(1);
    add(Engine::Gpsimd, early).signal(2);
    add(Engine::Vector, early).wait(1, 1).wait(2, 1);
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(410));
}

TEST_F(SequencerTest, ASemaphoreAnnouncedOnlyAfterTheWaitBeganIsSeen) {
    const IssueTemplate& first = define(timed("first", ns(1000)));
    const IssueTemplate& second = define(timed("second", ns(100)));
    add(Engine::Scalar, first);
    add(Engine::Scalar, second).signal(1);
    add(Engine::Vector, second).wait(1, 1);
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(1110));
}

TEST_F(SequencerTest, OfTwoProducersTheEarlierCountsEvenIfItIsAnnouncedLater) {
    // At 0 Scalar announces an update for 1000; at 200 GpSimd announces one for 300.
    const IssueTemplate& slow = define(timed("slow", ns(1000)));
    const IssueTemplate& pause = define(timed("pause", ns(200)));
    const IssueTemplate& fast = define(timed("fast", ns(100)));
    add(Engine::Scalar, slow).signal(1);
    add(Engine::Gpsimd, pause);
    add(Engine::Gpsimd, fast).signal(1);
    add(Engine::Vector, fast).wait(1, 1);
    add(Engine::Sync, fast).wait(1, 2);
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(310));
    EXPECT_THAT(core_.starts(Engine::Sync), ElementsAre(1010));
}

TEST_F(SequencerTest, SourcesAreFreeWhenReadNotWhenDone) {
    const IssueTemplate& producer = define(timed("producer", ns(100), ns(60), ns(300)));
    const IssueTemplate& work = define(timed("work", ns(10)));
    add(Engine::Scalar, producer).signal_at_read(1).signal(2);
    add(Engine::Vector, work).wait(1, 1);
    add(Engine::Gpsimd, work).wait(2, 1);
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(70));
    EXPECT_THAT(core_.starts(Engine::Gpsimd), ElementsAre(310));
}

TEST_F(SequencerTest, WhatIsSaidAtTheBeginIsNotHeldUpByEarlierReads) {
    const IssueTemplate& slow = define(timed("slow", ns(10), ns(200), ns(500)));
    const IssueTemplate& fast = define(timed("fast", ns(10)));
    add(Engine::Scalar, slow);
    add(Engine::Scalar, fast).signal_at_begin(1);
    add(Engine::Vector, fast).wait(1, 1);
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(20)) << "it begins at 10";
}

TEST_F(SequencerTest, ResultsAndReadsOfAQueueComeInItsOrder) {
    const IssueTemplate& slow = define(timed("slow", ns(10), ns(200), ns(500)));
    const IssueTemplate& fast = define(timed("fast", ns(10), ns(10), ns(20)));
    add(Engine::Scalar, slow);
    add(Engine::Scalar, fast).signal_at_read(1).signal(2);
    add(Engine::Vector, fast).wait(1, 1);
    add(Engine::Gpsimd, fast).wait(2, 1);
    run();
    EXPECT_THAT(core_.ends(Engine::Scalar), ElementsAre(500, 500));
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(210));
    EXPECT_THAT(core_.starts(Engine::Gpsimd), ElementsAre(510));
}

TEST_F(SequencerTest, ChargesAGapToTheEngineItWaitedFor) {
    const IssueTemplate& producer = define(timed("producer", ns(300)));
    const IssueTemplate& work = define(timed("work", ns(50)));
    add(Engine::Vector, producer).signal(1);
    add(Engine::Scalar, work);
    add(Engine::Scalar, work).wait(1, 1);
    run();
    EXPECT_EQ(waited(Engine::Scalar, kForVector), ns(260)) << "50 to 310";
    EXPECT_EQ(waited(Engine::Scalar, kForPort), ns(0));
    EXPECT_EQ(stats(Engine::Scalar).active, ns(100));
}

TEST_F(SequencerTest, BeforeItsTriggerThereIsNothingToWaitWith) {
    IssueTemplate trigger_of_a_ring = timed("trigger", ns(100), ns(0), ns(100));
    trigger_of_a_ring.operation = neuron_core::Operation::Trigger;
    const IssueTemplate& trigger = define(trigger_of_a_ring);
    const IssueTemplate& work = define(timed("work", ns(50)));
    add(Engine::Scalar, work);
    add(Engine::Scalar, work);
    add(Engine::Scalar, trigger).signal_at_read(1);
    add(Engine::Scalar, trigger).signal_at_read(1);
    const IssueTemplate& lengthy = define(timed("lengthy", ns(500)));
    add(Engine::Vector, work);
    add(Engine::Vector, lengthy).wait(1, 1);
    add(Engine::Vector, work).wait(1, 2);
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(0, 100, 600));
    for (const Picoseconds waiting : stats(Engine::Vector).waiting) {
        EXPECT_EQ(waiting, ns(0));
    }
}

TEST_F(SequencerTest, ActiveTimeIsTheUnionOfIntervalsAndCoveredTimeThatOfResults) {
    const IssueTemplate& work = define(timed("work", ns(100), ns(100), ns(250)));
    add(Engine::Vector, work).signal(1);
    add(Engine::Vector, work);
    add(Engine::Vector, work).wait(1, 1);
    run();
    EXPECT_EQ(stats(Engine::Vector).active, ns(300));
    EXPECT_EQ(stats(Engine::Vector).covered, ns(500)) << "0 to 350, and to 500 from 250 on";
    EXPECT_EQ(stats(Engine::Vector).last_done, ns(500));
    EXPECT_EQ(stats(Engine::Vector).instruction_count, 3);
}

TEST_F(SequencerTest, ADeadlockIsDescribedWithSemaphoreValueAndLastRaise) {
    const IssueTemplate& producer = define(timed("producer", ns(300)));
    const IssueTemplate& work = define(timed("work", ns(50)));
    add(Engine::Scalar, producer).signal(3, 2);
    add(Engine::Vector, work).wait(3, 2).wait(3, 4).wait(5, 1);
    run();
    EXPECT_THAT(core_.executed(Engine::Vector), IsEmpty());
    EXPECT_EQ(
        engines_[Engine::Vector]->describe_block(),
        "vector stands before kernel.py:2 work: waits for semaphore 3 >= 4, value 2, last raised "
        "by "
        "kernel.py:1 producer at 0.300 us: waits for semaphore 5 >= 1, value 0, never raised");
    EXPECT_EQ(engines_[Engine::Scalar]->describe_block(), "");
}

/// Complains when it is told of the third start.
class Complaint : public neuron_core::ExecutionObserver {
public:
    void started(neuron_core::QueueId /*queue*/, std::uint64_t /*sequence*/) override {
        if (++starts_ == 3) {
            throw ProgramError("race: two accesses, none ordered; order them");
        }
    }
    [[nodiscard]] int starts() const { return starts_; }

private:
    int starts_ = 0;
};

class SequencerObserverTest : public test::SystemCTest {};

TEST_F(SequencerObserverTest, WhatAnObserverThrowsStopsTheSimulationAndIsKept) {
    Complaint complaint;
    test::CoreHarness core(&complaint);
    const IssueTemplate& work = core.script.define(timed("work", ns(100)));
    for (int i = 0; i < 10; ++i) {
        core.script.add(Engine::Vector, work);
    }
    PlainEngine vector("vector", Engine::Vector, core);
    test::CoreHarness::run();
    EXPECT_EQ(complaint.starts(), 3);
    ASSERT_TRUE(core.fault());
    EXPECT_THROW(std::rethrow_exception(core.fault()), ProgramError);
}

TEST_F(SequencerTest, AThousandRelayedInstructionsKeepExactTime) {
    // Two engines hand over to each other: 30 ns of work and 10 ns of waking up, 1000 times.
    const IssueTemplate& work = define(timed("work", ns(30)));
    for (std::uint64_t i = 0; i < 1000; ++i) {
        add(Engine::Vector, work).wait(1, i).signal(2);
        add(Engine::Scalar, work).wait(2, i + 1).signal(1);
    }
    run();
    EXPECT_EQ(stats(Engine::Scalar).last_done, ns(2000 * 40 - 10));
    EXPECT_EQ(stats(Engine::Scalar).active, ns(30'000));
}

}  // namespace
}  // namespace trnsim
