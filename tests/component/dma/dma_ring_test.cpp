// SPDX-License-Identifier: Apache-2.0
// A ring triggers in order, no faster than its generator and its limit of outstanding transfers let
// it.
#include "trnsim/dma/dma_ring.hpp"

#include "component/core_harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace trnsim::dma {
namespace {

using neuron_core::IssueTemplate;
using neuron_core::queue_of_ring;
using test::ns;
using testing::ElementsAre;

/// Rings, a generator and engines with round numbers: 1000 ns to the first byte, 300 ns to
/// complete.
struct Setting {
    DmaSpec dma{
        .completion_ns = ns(300), .ring_interval_ns = ns(60), .ring_outstanding_transfers = 4};
    DgeSpec dge{.software = {.blocks = 1}, .hardware = {.blocks = 2}};
};

class DmaRingTest : public test::SystemCTest {
protected:
    const IssueTemplate& transfer(std::int64_t service,
                                  DgeMode mode = DgeMode::None,
                                  std::int64_t generator = 0) {
        IssueTemplate what;
        what.operation = neuron_core::Operation::Transfer;
        what.engine = Engine::Dma;
        what.name = "dma_copy";
        what.dge = mode;
        what.dge_cost = {.sequencer = ns(8), .generator = ns(generator), .first_byte = ns(1000)};
        what.transfer = {
            .engine_mask = 0xFFFF, .service = ns(service), .descriptors = 16, .bytes = Bytes{2048}};
        return core_.script.define(what);
    }
    test::Script::Item& add(int ring, const IssueTemplate& what) {
        return core_.script.add(queue_of_ring(ring), what);
    }

    void run(const Setting& setting = {}, int rings = 1) {
        memory::Hbm hbm("hbm", {});
        DmaEngines engines("dma_engines", setting.dma, hbm, 0);
        neuron_core::Dge dge("dge", setting.dge);
        std::vector<std::unique_ptr<DmaRing>> all;
        for (int ring = 0; ring < rings; ++ring) {
            const std::string name = "dma_ring_" + std::to_string(ring);
            all.push_back(
                std::make_unique<DmaRing>(name.c_str(), ring, core_.services(), engines, dge));
            all.back()->start_at(Picoseconds{});
        }
        test::PlainEngine vector("vector", Engine::Vector, core_);
        test::CoreHarness::run();
        stats_ = all.front()->ring_stats();
        sequencer_stats_ = all.front()->stats();
        mode_ = all.front()->dge_mode();
        paced_ = Picoseconds{};
        for (const Picoseconds time : all.front()->paced()) {
            paced_ += time;
        }
    }

    [[nodiscard]] std::vector<double> starts(int ring) const {
        std::vector<double> result;
        for (const auto& span : core_.executed(queue_of_ring(ring))) {
            result.push_back(span.start.nanoseconds());
        }
        return result;
    }
    [[nodiscard]] std::vector<double> ends(int ring) const {
        std::vector<double> result;
        for (const auto& span : core_.executed(queue_of_ring(ring))) {
            result.push_back(span.end.nanoseconds());
        }
        return result;
    }

    test::CoreHarness core_;
    DmaRingStats stats_;
    neuron_core::EngineStats sequencer_stats_;
    DgeMode mode_ = DgeMode::Auto;
    Picoseconds paced_;
};

TEST_F(DmaRingTest, ATransferTakesFirstByteServiceAndCompletion) {
    add(0, transfer(500));
    run();
    EXPECT_THAT(starts(0), ElementsAre(0));
    EXPECT_THAT(ends(0), ElementsAre(1800));
}

TEST_F(DmaRingTest, TheLastEnginesLagDelaysEveryEndAndAddsUpNowhere) {
    IssueTemplate read = transfer(500);
    read.transfer.spread = ns(400);
    const IssueTemplate& copy = core_.script.define(read);
    const IssueTemplate& work = core_.script.define(test::timed("work", ns(100)));
    add(0, copy).signal_at_read(1, 16);
    add(0, copy);
    core_.script.add(Engine::Vector, work).wait(1, 16);
    run();
    EXPECT_THAT(ends(0), ElementsAre(2200, 2700));
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(1910)) << "the source is read until 1900";
}

TEST_F(DmaRingTest, TriggersFollowAtTheRingsInterval) {
    const IssueTemplate& copy = transfer(500);
    add(0, copy);
    add(0, copy);
    add(0, copy);
    run();
    EXPECT_THAT(starts(0), ElementsAre(0, 60, 120));
    EXPECT_THAT(ends(0), ElementsAre(1800, 2300, 2800))
        << "the engines are shared, the latency is not";
}

TEST_F(DmaRingTest, CountsHowLongTransfersStandBehindTheInterval) {
    const IssueTemplate& copy = transfer(500);
    add(0, copy);
    add(0, copy);
    add(0, copy);
    run();
    EXPECT_EQ(paced_, ns(120)) << "the second and the third, 60 ns each";
}

TEST_F(DmaRingTest, WhatWaitsForOthersDoesNotStandBehindTheInterval) {
    const IssueTemplate& copy = transfer(500);
    const IssueTemplate& work = core_.script.define(test::timed("work", ns(500)));
    add(0, copy);
    core_.script.add(Engine::Vector, work).signal(1);
    add(0, copy).wait(1, 1);
    run();
    EXPECT_EQ(paced_, ns(0));
}

TEST_F(DmaRingTest, ATriggerThatHoldsItsSequencerForLongerSetsTheInterval) {
    IssueTemplate slow = transfer(500);
    slow.dge_cost.sequencer = ns(524);
    const IssueTemplate& copy = core_.script.define(slow);
    add(0, copy);
    add(0, copy);
    run();
    EXPECT_THAT(starts(0), ElementsAre(0, 524));
}

TEST_F(DmaRingTest, TheFifthTransferIsTriggeredWhenTheFirstHasMoved) {
    const IssueTemplate& copy = transfer(500);
    for (int i = 0; i < 6; ++i) {
        add(0, copy);
    }
    run();
    EXPECT_THAT(starts(0), ElementsAre(0, 60, 120, 180, 1500, 2000));
}

TEST_F(DmaRingTest, WithoutALimitAllAreTriggered) {
    const IssueTemplate& copy = transfer(500);
    for (int i = 0; i < 6; ++i) {
        add(0, copy);
    }
    Setting setting;
    setting.dma.ring_outstanding_transfers = 0;
    run(setting);
    EXPECT_THAT(starts(0), ElementsAre(0, 60, 120, 180, 240, 300));
}

TEST_F(DmaRingTest, ThreeRingsContendForTwoHardwareGenerators) {
    const IssueTemplate& copy = transfer(500, DgeMode::Hardware, 600);
    for (int ring = 0; ring < 3; ++ring) {
        add(ring, copy);
    }
    run({}, 3);
    const std::vector<double> all{starts(0).front(), starts(1).front(), starts(2).front()};
    EXPECT_THAT(all, testing::UnorderedElementsAre(0, 0, 600));
}

TEST_F(DmaRingTest, StaticDescriptorsDoNotContend) {
    const IssueTemplate& copy = transfer(500, DgeMode::None, 600);
    for (int ring = 0; ring < 3; ++ring) {
        add(ring, copy);
    }
    run({}, 3);
    EXPECT_THAT(starts(2), ElementsAre(0));
}

TEST_F(DmaRingTest, WaitsForASemaphoreBeforeItTriggers) {
    add(0, transfer(500)).wait(1, 1);
    core_.script.add(Engine::Vector, core_.script.define(test::timed("work", ns(200)))).signal(1);
    run();
    EXPECT_THAT(starts(0), ElementsAre(210));
}

TEST_F(DmaRingTest, SourcesAreFreeWhenMovedAndTheResultIsThereWhenComplete) {
    const IssueTemplate& work = core_.script.define(test::timed("work", ns(10)));
    add(0, transfer(500)).signal_at_read(1, 16).signal(2, 16);
    core_.script.add(Engine::Vector, work).wait(1, 16);
    core_.script.add(Engine::Vector, work).wait(2, 16);
    run();
    EXPECT_THAT(core_.starts(Engine::Vector), ElementsAre(1510, 1810));
}

TEST_F(DmaRingTest, AnInstructionThatOnlyWaitsMovesNothing) {
    IssueTemplate wait_only;
    wait_only.operation = neuron_core::Operation::Control;
    wait_only.engine = Engine::Dma;
    wait_only.name = "EVENT_SEMAPHORE";
    core_.script.add(Engine::Vector, core_.script.define(test::timed("work", ns(200)))).signal(1);
    add(0, core_.script.define(wait_only)).wait(1, 1);
    add(0, transfer(500));
    run();
    EXPECT_THAT(starts(0), ElementsAre(210, 210));
    EXPECT_EQ(stats_.transfer_count, 1);
}

TEST_F(DmaRingTest, CountsTransfersDescriptorsAndBytes) {
    const IssueTemplate& copy = transfer(500, DgeMode::Software);
    IssueTemplate save = copy;
    save.is_spill_save = true;
    IssueTemplate reload = copy;
    reload.is_spill_reload = true;
    add(0, copy);
    add(0, core_.script.define(save));
    add(0, core_.script.define(reload));
    run();
    EXPECT_EQ(stats_.transfer_count, 3);
    EXPECT_EQ(stats_.descriptor_count, 48);
    EXPECT_EQ(stats_.bytes, 3 * 2048);
    EXPECT_EQ(stats_.spill_save_bytes, 2048);
    EXPECT_EQ(stats_.spill_reload_bytes, 2048);
    EXPECT_EQ(mode_, DgeMode::Software);
    EXPECT_EQ(sequencer_stats_.instruction_count, 3);
}

TEST_F(DmaRingTest, ActiveTimeIsTriggerToCompletionWithOverlapsCountedOnce) {
    const IssueTemplate& copy = transfer(500);
    add(0, copy);
    add(0, copy);
    run();
    EXPECT_EQ(sequencer_stats_.covered, ns(2300));
}

}  // namespace
}  // namespace trnsim::dma
