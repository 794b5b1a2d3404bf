// SPDX-License-Identifier: Apache-2.0
// Vector, Scalar and GpSimd share the ports of SBUF and PSUM as their generation has it.
#include "component/core_harness.hpp"
#include "trnsim/neuron_core/gpsimd_engine.hpp"
#include "trnsim/neuron_core/scalar_engine.hpp"
#include "trnsim/neuron_core/sync_engine.hpp"
#include "trnsim/neuron_core/vector_engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace trnsim::neuron_core {
namespace {

using test::ns;
using testing::ElementsAre;

const VectorEngineSpec kVectorSpec{.clock_ghz = Gigahertz{1.0},
                                   .shuffle_mask_load_cycles = Cycles{12},
                                   .transpose_interval_cycles = Cycles{90},
                                   .transpose_regroup_cycles = Cycles{225}};

class DataPathEngineTest : public test::SystemCTest {
protected:
    /// What touches which memory, for `interval` ns.
    const IssueTemplate& work(std::int64_t interval, bool sbuf, bool psum, bool fast_mode = false) {
        IssueTemplate what = test::timed("work", ns(interval));
        what.cost.uses_fast_mode = fast_mode;
        what.touches_sbuf = sbuf;
        what.touches_psum = psum;
        return core_.script.define(what);
    }
    const IssueTemplate& on_vector(Operation operation, std::uint32_t key) {
        IssueTemplate what = test::timed("special", ns(90));
        what.operation = operation;
        what.state_key = key;
        return core_.script.define(what);
    }
    const IssueTemplate& trigger(DgeMode dge, std::int64_t interval) {
        IssueTemplate what = test::timed("DMA_DIRECT2D", ns(interval));
        what.operation = Operation::Trigger;
        what.dge = dge;
        return core_.script.define(what);
    }
    test::Script::Item& add(Engine engine, const IssueTemplate& what) {
        return core_.script.add(engine, what);
    }

    void run(const SbufSpec& sbuf_spec, const PsumSpec& psum_spec) {
        Sbuf sbuf("sbuf", sbuf_spec);
        Psum psum("psum", psum_spec);
        const CoreMemories memories{sbuf, psum};
        VectorEngine vector("vector_engine", kVectorSpec, core_.services(), memories);
        ScalarEngine scalar("scalar_engine", core_.services(), memories);
        GpsimdEngine gpsimd("gpsimd_engine", core_.services(), memories);
        SyncEngine sync("sync_engine", core_.services(), memories);
        for (Sequencer* engine : {static_cast<Sequencer*>(&vector),
                                  static_cast<Sequencer*>(&scalar),
                                  static_cast<Sequencer*>(&gpsimd),
                                  static_cast<Sequencer*>(&sync)}) {
            engine->start_at(Picoseconds{});
        }
        test::CoreHarness::run();
        vector_stats_ = vector.stats();
        scalar_stats_ = scalar.stats();
        gpsimd_stats_ = gpsimd.stats();
    }
    void run() { run({}, {}); }

    test::CoreHarness core_;
    EngineStats vector_stats_;
    EngineStats scalar_stats_;
    EngineStats gpsimd_stats_;
};

const SbufSpec kSbufV2{.vector_gpsimd_exclusive = true};
const SbufSpec kSbufV3{.fast_modes_share_bus = true};
const PsumSpec kPsumV2{.vector_scalar_exclusive = true};
const PsumSpec kPsumV3{.same_bank_halves_rate = true};
constexpr std::size_t kForPort = 6;

TEST_F(DataPathEngineTest, EnginesRunSideBySideWhereTheyShareNothing) {
    add(Engine::Vector, work(100, true, false));
    add(Engine::Scalar, work(100, true, false));
    add(Engine::Gpsimd, work(100, true, false));
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(0));
    EXPECT_THAT(core_.starts(Engine::Scalar), ElementsAre(0));
    EXPECT_THAT(core_.starts(Engine::Gpsimd), ElementsAre(0));
}

TEST_F(DataPathEngineTest, OnV2VectorAndGpsimdTakeTurnsOnSbuf) {
    add(Engine::Vector, work(100, true, false));
    add(Engine::Gpsimd, work(10, false, false));
    add(Engine::Gpsimd, work(70, true, false));
    add(Engine::Vector, work(10, false, false));
    add(Engine::Vector, work(50, true, false));
    run(kSbufV2, kPsumV2);
    EXPECT_THAT(core_.starts(Engine::Gpsimd), ElementsAre(0, 100));
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(0, 100, 170));
    EXPECT_EQ(gpsimd_stats_.waiting[kForPort], ns(90));
    EXPECT_EQ(vector_stats_.waiting[kForPort], ns(60));
}

TEST_F(DataPathEngineTest, AWaitForAPortBehindOneForASemaphoreIsChargedToBoth) {
    add(Engine::Scalar, work(50, false, false)).signal(1);
    add(Engine::Vector, work(100, true, false));
    add(Engine::Gpsimd, work(70, true, false)).wait(1, 1);
    run(kSbufV2, kPsumV2);
    ASSERT_THAT(core_.starts(Engine::Gpsimd), ElementsAre(100));
    constexpr auto kForWork = static_cast<std::size_t>(Engine::Vector);  // As its template says.
    EXPECT_EQ(gpsimd_stats_.waiting[kForWork] + gpsimd_stats_.waiting[kForPort], ns(100));
    EXPECT_EQ(gpsimd_stats_.waiting[kForWork], ns(60)) << "with the wake-up";
}

TEST_F(DataPathEngineTest, OnV2NeitherKeepsTheOtherOutByWorkingBackToBack) {
    for (int i = 0; i < 3; ++i) {
        add(Engine::Gpsimd, work(70, true, true));
        add(Engine::Vector, work(100, true, true));
        add(Engine::Scalar, work(30, true, true));
    }
    run(kSbufV2, kPsumV2);
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(70, 240, 410));
    EXPECT_THAT(core_.starts(Engine::Gpsimd), ElementsAre(0, 170, 340));
    EXPECT_THAT(core_.starts(Engine::Scalar), ElementsAre(0, 30, 170));
}

TEST_F(DataPathEngineTest, OnV2WhatScalarWaitsForKeepsNobodyOutOfSbuf) {
    add(Engine::Vector, work(400, false, true));  // PSUM, until 400.
    add(Engine::Scalar, work(10, false, false));
    add(Engine::Scalar, work(50, true, true));  // Waits for it.
    add(Engine::Gpsimd, work(20, true, false));
    add(Engine::Vector, work(30, true, false));
    add(Engine::Vector, work(30, true, false));
    run(kSbufV2, kPsumV2);
    EXPECT_THAT(core_.starts(Engine::Scalar), ElementsAre(0, 400));
    EXPECT_THAT(core_.starts(Engine::Gpsimd), ElementsAre(0));
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(0, 400, 430));
}

TEST_F(DataPathEngineTest, OnV2AShortAccessFillsTheTimeUntilTheOthersTurn) {
    add(Engine::Scalar, work(200, false, true));  // PSUM, until 200.
    add(Engine::Vector, work(50, true, true));    // Waits for it, with SBUF free until then.
    add(Engine::Gpsimd, work(90, true, false));
    add(Engine::Gpsimd, work(90, true, false));
    add(Engine::Gpsimd, work(90, true, false));
    run(kSbufV2, kPsumV2);
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(200));
    EXPECT_THAT(core_.starts(Engine::Gpsimd), ElementsAre(0, 90, 250));
}

TEST_F(DataPathEngineTest, OnV2ScalarDoesNotTakeTurnsOnSbuf) {
    add(Engine::Vector, work(100, true, false));
    add(Engine::Scalar, work(100, true, false));
    run(kSbufV2, kPsumV2);
    EXPECT_THAT(core_.starts(Engine::Scalar), ElementsAre(0));
}

TEST_F(DataPathEngineTest, OnV2VectorAndScalarTakeTurnsOnPsum) {
    add(Engine::Vector, work(100, false, true)).banks(0b1);
    add(Engine::Scalar, work(10, false, false));
    add(Engine::Scalar, work(70, false, true)).banks(0b10);
    run(kSbufV2, kPsumV2);
    EXPECT_THAT(core_.starts(Engine::Scalar), ElementsAre(0, 100));
    EXPECT_EQ(scalar_stats_.waiting[kForPort], ns(90));
}

TEST_F(DataPathEngineTest, OnV3VectorAndScalarReadDifferentBanksAtOnce) {
    add(Engine::Vector, work(100, false, true)).banks(0b01);
    add(Engine::Scalar, work(100, false, true)).banks(0b10);
    run(kSbufV3, kPsumV3);
    EXPECT_THAT(core_.ends(Engine::Vector), ElementsAre(100));
    EXPECT_THAT(core_.ends(Engine::Scalar), ElementsAre(100));
}

TEST_F(DataPathEngineTest, OnV3TheSecondReaderOfABankEndsWhenTheBankHasServedBoth) {
    add(Engine::Vector, work(60, false, true)).banks(0b11);
    add(Engine::Scalar, work(10, false, false));
    add(Engine::Scalar, work(100, false, true)).banks(0b10);
    run(kSbufV3, kPsumV3);
    EXPECT_THAT(core_.ends(Engine::Vector), ElementsAre(60));
    EXPECT_THAT(core_.starts(Engine::Scalar), ElementsAre(0, 10));
    EXPECT_THAT(core_.ends(Engine::Scalar), ElementsAre(10, 160));
    EXPECT_EQ(scalar_stats_.active, ns(160));
}

TEST_F(DataPathEngineTest, OnV3AFastModeAndGpsimdShareTheBusWhileBothRun) {
    add(Engine::Vector, work(100, true, false, true));
    add(Engine::Gpsimd, work(10, false, false));
    add(Engine::Gpsimd, work(300, true, false));
    run(kSbufV3, kPsumV3);
    EXPECT_THAT(core_.ends(Engine::Vector), ElementsAre(100));
    EXPECT_THAT(core_.ends(Engine::Gpsimd), ElementsAre(10, 400));
}

TEST_F(DataPathEngineTest, OnV3OrdinaryVectorWorkDoesNotDisturbGpsimd) {
    add(Engine::Vector, work(100, true, false, false));
    add(Engine::Gpsimd, work(300, true, false));
    run(kSbufV3, kPsumV3);
    EXPECT_THAT(core_.ends(Engine::Gpsimd), ElementsAre(300));
}

// "DGE and the compute pipeline of ScalarE are independent." [NKI-ARCH-V3]
TEST_F(DataPathEngineTest, ATriggerBeginsBehindTheInstructionThatStillRuns) {
    add(Engine::Scalar, work(300, true, false));
    add(Engine::Scalar, trigger(DgeMode::Hardware, 120));
    add(Engine::Scalar, trigger(DgeMode::Hardware, 120));
    add(Engine::Scalar, work(100, true, false));
    add(Engine::Scalar, trigger(DgeMode::Hardware, 120));
    add(Engine::Scalar, work(10, true, false));
    run();
    EXPECT_THAT(core_.starts(Engine::Scalar), ElementsAre(0, 0, 120, 300, 300, 420));
    EXPECT_EQ(scalar_stats_.active, ns(430));
}

TEST_F(DataPathEngineTest, AnInstructionWaitsForTheTriggerBeforeIt) {
    add(Engine::Scalar, work(50, true, false));
    add(Engine::Scalar, trigger(DgeMode::Hardware, 120));
    add(Engine::Scalar, work(100, true, false));
    run();
    EXPECT_THAT(core_.starts(Engine::Scalar), ElementsAre(0, 0, 120));
}

TEST_F(DataPathEngineTest, ATransposesSourceIsReadWhenItHasRegrouped) {
    IssueTemplate what = test::timed("transpose", ns(90), ns(90), ns(240));
    what.operation = Operation::StreamTranspose;
    what.state_key = 1;
    add(Engine::Vector, core_.script.define(what)).signal_at_read(1);
    add(Engine::Sync, work(10, false, false)).wait(1, 1);
    run();
    EXPECT_THAT(core_.starts(Engine::Sync), ElementsAre(235)) << "225 and the wake-up";
}

TEST_F(DataPathEngineTest, GpsimdDescribesTransfersWhenItHasDoneWhatCameBefore) {
    add(Engine::Gpsimd, work(300, true, false));
    add(Engine::Gpsimd, trigger(DgeMode::Software, 120));
    add(Engine::Gpsimd, work(100, true, false));
    run();
    EXPECT_THAT(core_.starts(Engine::Gpsimd), ElementsAre(0, 300, 420));
}

TEST_F(DataPathEngineTest, TheFirstTransposeOfARowRegroupsAndTheNextDoNot) {
    const IssueTemplate& transpose = on_vector(Operation::StreamTranspose, 1);
    add(Engine::Vector, transpose);
    add(Engine::Vector, transpose);
    add(Engine::Vector, transpose);
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(0, 225, 315));
}

TEST_F(DataPathEngineTest, RegroupingKeepsTheNextOneWaitingAndNotTheResult) {
    IssueTemplate what = test::timed("transpose", ns(90), ns(90), ns(240));
    what.operation = Operation::StreamTranspose;
    what.state_key = 1;
    const IssueTemplate& transpose = core_.script.define(what);
    add(Engine::Vector, transpose);
    add(Engine::Vector, transpose);
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(0, 225));
    EXPECT_THAT(core_.ends(Engine::Vector), ElementsAre(240, 465));
}

TEST_F(DataPathEngineTest, ATransposeOfOtherQuadrantsRegroups) {
    add(Engine::Vector, on_vector(Operation::StreamTranspose, 1));
    add(Engine::Vector, on_vector(Operation::StreamTranspose, 2));
    run();
    EXPECT_THAT(core_.ends(Engine::Vector), ElementsAre(225, 450));
}

TEST_F(DataPathEngineTest, ATransposeAfterOtherWorkRegroups) {
    const IssueTemplate& transpose = on_vector(Operation::StreamTranspose, 1);
    add(Engine::Vector, transpose);
    add(Engine::Vector, work(100, true, false));
    add(Engine::Vector, transpose);
    run();
    EXPECT_THAT(core_.ends(Engine::Vector), ElementsAre(225, 325, 550));
}

TEST_F(DataPathEngineTest, AShuffleLoadsItsMaskWhenItIsAnotherOne) {
    const IssueTemplate& shuffle = on_vector(Operation::StreamShuffle, 5);
    add(Engine::Vector, shuffle);
    add(Engine::Vector, shuffle);
    add(Engine::Vector, work(100, true, false));
    add(Engine::Vector, shuffle);
    add(Engine::Vector, on_vector(Operation::StreamShuffle, 6));
    run();
    EXPECT_THAT(core_.ends(Engine::Vector), ElementsAre(102, 192, 292, 382, 484));
}

}  // namespace
}  // namespace trnsim::neuron_core
