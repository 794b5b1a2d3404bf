// SPDX-License-Identifier: Apache-2.0
// The Tensor Engine loads one tile ahead, streams at the clock that the gate allows, and counts its
// work.
#include "trnsim/neuron_core/tensor_engine.hpp"

#include "component/core_harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace trnsim::neuron_core {
namespace {

using test::ns;
using test::PlainEngine;
using test::timed;
using testing::ElementsAre;
using testing::Pair;

/// One cycle is one nanosecond.
constexpr TensorEngineSpec plain_spec() {
    TensorEngineSpec spec;
    spec.clock_ghz = Gigahertz{1.0};
    spec.fill_cycles = Cycles{50};
    spec.fill_cold_cycles = Cycles{70};
    return spec;
}

class TensorEngineTest : public test::SystemCTest {
protected:
    const IssueTemplate& load(std::int64_t cycles, std::int64_t passes = 1) {
        IssueTemplate what;
        what.passes = passes;
        what.operation = Operation::LoadStationary;
        what.engine = Engine::Tensor;
        what.name = "load";
        what.tensor_interval = Cycles{cycles};
        return core_.script.define(what);
    }
    const IssueTemplate& multiply(std::int64_t cycles, std::int64_t passes = 1) {
        IssueTemplate what;
        what.passes = passes;
        what.operation = Operation::MultiplyMoving;
        what.engine = Engine::Tensor;
        what.name = "multiply";
        what.tensor_interval = Cycles{cycles};
        what.busy_columns = cycles;
        what.macs = 1000;
        what.peak_weight = 4.0;
        return core_.script.define(what);
    }
    /// The same on a part of the array, with 10 cycles to the next product on another one.
    const IssueTemplate& on(PeBlocks blocks, IssueTemplate what) {
        what.pe_blocks = blocks;
        what.issue_interval = Cycles{10};
        return core_.script.define(what);
    }
    test::Script::Item& add(const IssueTemplate& what) {
        return core_.script.add(Engine::Tensor, what);
    }

    const TensorEngine& run(const TensorEngineSpec& spec = plain_spec()) {
        engine_ = std::make_unique<TensorEngine>("tensor_engine", spec, core_.services());
        engine_->start_at(Picoseconds{});
        test::CoreHarness::run();
        return *engine_;
    }
    /// What the critical path calls it.
    [[nodiscard]] std::string kind(const IssueTemplate& what) const {
        return core_.script.source_text(what) + " " + what.name + " (" +
               std::string(name(what.engine)) + ")";
    }
    /// What the start of an instruction hung on: times by kind, the longest first.
    [[nodiscard]] auto chain(std::uint64_t sequence) const {
        const auto start = static_cast<std::int64_t>(starts()[sequence]);
        return core_.log().critical_path().chain(queue_of(Engine::Tensor), sequence, ns(start));
    }
    [[nodiscard]] std::vector<double> starts() const { return core_.starts(Engine::Tensor); }
    [[nodiscard]] std::vector<double> ends() const { return core_.ends(Engine::Tensor); }

    test::CoreHarness core_;
    std::unique_ptr<TensorEngine> engine_;
};

TEST_F(TensorEngineTest, AProductStartsWhenItsTileIsLoadedAndIsVisibleAFillLater) {
    add(load(30));
    add(multiply(100));
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 30));
    EXPECT_THAT(ends(), ElementsAre(30, 180));
}

TEST_F(TensorEngineTest, ShortLoadsHideBehindTheProductBefore) {
    const IssueTemplate& tile = load(30);
    const IssueTemplate& product = multiply(100);
    for (int i = 0; i < 4; ++i) {
        add(tile);
        add(product);
    }
    const TensorEngine& engine = run();
    // load 0, multiply 30, load 30 (behind it), multiply 130, …
    EXPECT_THAT(starts(), ElementsAre(0, 30, 30, 130, 130, 230, 230, 330));
    EXPECT_EQ(engine.stats().active, ns(430));
}

TEST_F(TensorEngineTest, LongLoadsSetThePace) {
    const IssueTemplate& tile = load(120);
    const IssueTemplate& product = multiply(100);
    for (int i = 0; i < 3; ++i) {
        add(tile);
        add(product);
    }
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 120, 120, 240, 240, 360));
}

TEST_F(TensorEngineTest, AProductOfTwoPassesStartsWhenTheWeightsOfItsFirstAreLoaded) {
    add(load(60, 2));
    add(multiply(200, 2));
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 30));
    EXPECT_THAT(ends(), ElementsAre(60, 280));
}

TEST_F(TensorEngineTest, TheNextTileIsLoadedDuringTheLastPass) {
    const IssueTemplate& tile = load(60, 2);
    const IssueTemplate& product = multiply(200, 2);
    for (int i = 0; i < 3; ++i) {
        add(tile);
        add(product);
    }
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 30, 130, 230, 330, 430));
}

TEST_F(TensorEngineTest, OneTileIsLoadedAheadAndNoMore) {
    const IssueTemplate& tile = load(10);
    const IssueTemplate& product = multiply(100);
    add(tile);
    add(product);
    add(tile);
    add(tile);
    add(product);
    run();
    // The second load may go when the first product has taken its weights, the third right after
    // it.
    EXPECT_THAT(starts(), ElementsAre(0, 10, 10, 20, 110));
}

TEST_F(TensorEngineTest, ALateLoadHoldsUpTheProduct) {
    const IssueTemplate& slow = core_.script.define(timed("slow", ns(500)));
    const IssueTemplate& tile = load(30);
    const IssueTemplate& product = multiply(100);
    core_.script.add(Engine::Vector, slow).signal(1);
    add(tile);
    add(product);
    add(tile).wait(1, 1);
    add(product);
    PlainEngine vector("vector", Engine::Vector, core_);
    const TensorEngine& engine = run();
    EXPECT_THAT(starts(), ElementsAre(0, 30, 520, 550));
    EXPECT_EQ(engine.stats().waiting[static_cast<std::size_t>(Engine::Vector)], ns(390))
        << "130 to 520";
}

TEST_F(TensorEngineTest, ProductsOfOneTileFollowWithoutLoads) {
    const IssueTemplate& product = multiply(100);
    add(load(30));
    add(product);
    add(product);
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 30, 130));
}

/// Quarters of the array's rows.
constexpr std::array<PeBlocks, 4> kRowTiles{0x000F, 0x00F0, 0x0F00, 0xF000};

TEST_F(TensorEngineTest, ProductsOnDisjointTilesRunSideBySide) {
    for (const PeBlocks blocks : kRowTiles) {
        add(on(blocks, load(5)));
        add(on(blocks, multiply(100)));
    }
    const TensorEngine& engine = run();
    // Issued 10 after each other; a load takes 5 and needs not wait for other tiles' products.
    EXPECT_THAT(starts(), ElementsAre(0, 5, 5, 15, 15, 25, 25, 35));
    EXPECT_EQ(engine.stats().active, ns(135));
}

TEST_F(TensorEngineTest, ProductsOnOneTileFollowEachOther) {
    const IssueTemplate& product = on(kRowTiles[1], multiply(100));
    add(product);
    add(product);
    add(on(kRowTiles[2], multiply(100)));
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 100, 110));
}

TEST_F(TensorEngineTest, AProductShorterThanTheIssueIntervalHoldsUpNoOther) {
    add(on(kRowTiles[0], multiply(6)));
    add(on(kRowTiles[1], multiply(6)));
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 6));
}

TEST_F(TensorEngineTest, AProductOfTheWholeArrayWaitsForAllTilesAndTheyForIt) {
    add(on(kRowTiles[0], multiply(100)));
    add(on(kRowTiles[1], multiply(40)));
    add(multiply(100));
    add(on(kRowTiles[3], multiply(100)));
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 10, 100, 200));
}

TEST_F(TensorEngineTest, ATileIsLoadedWhileItsProductRunsButOnlyOneAhead) {
    const IssueTemplate& tile = on(kRowTiles[0], load(10));
    const IssueTemplate& product = on(kRowTiles[0], multiply(100));
    add(tile);
    add(product);
    add(tile);
    add(product);
    add(on(kRowTiles[1], load(10)));
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 10, 10, 110, 110));
}

TEST_F(TensorEngineTest, AProductHangsOnTheLastOnItsTileWhereThatEndsLast) {
    const IssueTemplate& product = on(kRowTiles[0], multiply(100));
    add(product);
    add(on(kRowTiles[1], multiply(100)));
    add(product);
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 10, 100));
    EXPECT_THAT(chain(2), ElementsAre(Pair(kind(product), ns(100))));
}

TEST_F(TensorEngineTest, AProductHangsOnTheLastOneIssuedWhereItsTileIsFree) {
    const IssueTemplate& first = on(kRowTiles[0], multiply(100));
    const IssueTemplate& second = on(kRowTiles[1], multiply(100));
    add(first);
    add(second);
    add(on(kRowTiles[2], multiply(100)));
    run();
    EXPECT_THAT(chain(2), ElementsAre(Pair(kind(first), ns(10)), Pair(kind(second), ns(10))));
}

TEST_F(TensorEngineTest, AProductHangsOnTheOneIssuedBeforeWhateverIsLoadedBetween) {
    const IssueTemplate& first = on(kRowTiles[0], multiply(100));
    add(first);
    add(on(kRowTiles[2], load(5)));
    add(on(kRowTiles[1], multiply(100)));
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 0, 10));
    EXPECT_THAT(chain(2), ElementsAre(Pair(kind(first), ns(10))));
}

TEST_F(TensorEngineTest, WhatNeedsALoadHangsOnItWhateverIsMultipliedBetween) {
    const IssueTemplate& tile = on(kRowTiles[0], load(40));
    add(tile);
    add(on(kRowTiles[1], multiply(100)));
    add(on(kRowTiles[0], multiply(100)));
    add(on(kRowTiles[2], load(40)));
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 0, 40, 40));
    EXPECT_THAT(chain(2), ElementsAre(Pair(kind(tile), ns(40))));
    EXPECT_THAT(chain(3), ElementsAre(Pair(kind(tile), ns(40))));
}

TEST_F(TensorEngineTest, AProductHangsOnItsTileEvenIfALoadOfAnotherEndsThen) {
    const IssueTemplate& product = on(kRowTiles[0], multiply(100));
    add(product);
    add(on(kRowTiles[1], load(100)));
    add(product);
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 0, 100));
    EXPECT_THAT(chain(2), ElementsAre(Pair(kind(product), ns(100))));
}

TEST_F(TensorEngineTest, ALoadHangsOnTheProductThatTookTheWeightsBefore) {
    const IssueTemplate& tile = on(kRowTiles[0], load(5));
    const IssueTemplate& product = on(kRowTiles[0], multiply(100));
    add(tile);
    add(product);
    add(tile);
    add(product);
    add(tile);
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 5, 5, 105, 105));
    EXPECT_THAT(chain(4), ElementsAre(Pair(kind(product), ns(100)), Pair(kind(tile), ns(5))));
}

TEST_F(TensorEngineTest, AProductHangsOnTheLoadOfItsWeightsWhereThatEndsLast) {
    const IssueTemplate& first = on(kRowTiles[0], load(5));
    const IssueTemplate& second = on(kRowTiles[1], load(40));
    add(first);
    add(on(kRowTiles[0], multiply(100)));
    add(second);
    add(on(kRowTiles[1], multiply(100)));
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 5, 5, 45));
    EXPECT_THAT(chain(3), ElementsAre(Pair(kind(second), ns(40)), Pair(kind(first), ns(5))));
}

TEST_F(TensorEngineTest, AProductNeitherWaitsForNorHangsOnTheLoadOfAnotherTile) {
    const IssueTemplate& product = on(kRowTiles[0], multiply(100));
    add(product);
    add(on(kRowTiles[1], load(300)));
    add(product);
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 0, 100));
    EXPECT_THAT(chain(2), ElementsAre(Pair(kind(product), ns(100))));
}

TEST_F(TensorEngineTest, WhatStoodBehindAnotherHangsOnWhatThatWaitedFor) {
    const IssueTemplate& slow = core_.script.define(timed("slow", ns(500)));
    core_.script.add(Engine::Vector, slow).signal(1);
    add(on(kRowTiles[0], multiply(100)));
    add(on(kRowTiles[1], load(30))).wait(1, 1);
    add(on(kRowTiles[0], multiply(100)));
    add(on(kRowTiles[1], multiply(10))).wait(1, 1);
    add(on(kRowTiles[2], load(30)));
    PlainEngine vector("vector", Engine::Vector, core_);
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 520, 520, 550, 550));
    EXPECT_THAT(
        chain(2),
        ElementsAre(Pair("kernel.py:1 slow (vector)", ns(500)), Pair("semaphore wake-up", ns(20))));
}

TEST_F(TensorEngineTest, ALoadDoesNotHangOnTheEndOfTheProductOnItsTile) {
    const IssueTemplate& slow = core_.script.define(timed("slow", ns(80)));
    core_.script.add(Engine::Vector, slow).signal(1);
    add(on(kRowTiles[0], multiply(100)));
    add(on(kRowTiles[1], multiply(100))).wait(1, 1);
    add(on(kRowTiles[0], load(5)));
    PlainEngine vector("vector", Engine::Vector, core_);
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 100, 100));
    EXPECT_THAT(
        chain(2),
        ElementsAre(Pair("kernel.py:1 slow (vector)", ns(80)), Pair("semaphore wake-up", ns(20))));
}

TEST_F(TensorEngineTest, WhatFollowsAControlInstructionHangsOnIt) {
    IssueTemplate what = timed("register_move", ns(60));
    what.operation = Operation::Control;
    const IssueTemplate& move = core_.script.define(what);
    const IssueTemplate& tile = load(30);
    add(move);
    add(tile);
    add(move);
    add(multiply(100));
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 60, 60, 120));
    EXPECT_THAT(chain(3), ElementsAre(Pair(kind(move), ns(120))));
}

TEST_F(TensorEngineTest, ControlInstructionsHoldUpWhatFollowsThem) {
    const IssueTemplate& move = core_.script.define([] {
        IssueTemplate what = timed("register_move", ns(60));
        what.operation = Operation::Control;
        return what;
    }());
    add(move);
    add(move);
    add(load(30));
    add(multiply(100));
    add(move);
    run();
    EXPECT_THAT(starts(), ElementsAre(0, 60, 120, 150, 150)) << "they need no array themselves";
}

TEST_F(TensorEngineTest, CountsMacsOfProductsAndOfTransposesApart) {
    const IssueTemplate& product = multiply(100);
    IssueTemplate transpose = product;
    transpose.is_transpose = true;
    transpose.peak_weight = 1.0;
    add(product);
    add(product);
    add(core_.script.define(transpose));
    const TensorEngineStats stats = run().tensor_stats();
    EXPECT_EQ(stats.macs, 2000);
    EXPECT_EQ(stats.transpose_macs, 1000);
    EXPECT_EQ(stats.weighted_macs, 8000.0);
    EXPECT_EQ(stats.weighted_transpose_macs, 1000.0);
    EXPECT_EQ(stats.cold, ns(0));
}

/// Windows of 1000 ns; half rate until one was 0.4 busy, then full until one is less than 0.3 busy.
TensorEngineSpec gated_spec() {
    TensorEngineSpec spec = plain_spec();
    spec.clock_gate = {.enabled = true,
                       .window_cycles = Cycles{1000},
                       .phase_cycles = Cycles{0},
                       .warm_up_utilization = 0.4,
                       .warm_up_leak = 0.39,
                       .warm_up_sum = 1.0,
                       .cool_down_utilization = 0.3,
                       .cold_rate = 0.5};
    return spec;
}

TEST_F(TensorEngineTest, TheFirstWindowRunsAtHalfRateAndTheNextAtFull) {
    const IssueTemplate& product = multiply(100);
    for (int i = 0; i < 10; ++i) {
        add(product);
    }
    const TensorEngine& engine = run(gated_spec());
    EXPECT_THAT(starts(), ElementsAre(0, 200, 400, 600, 800, 1000, 1100, 1200, 1300, 1400));
    EXPECT_EQ(engine.tensor_stats().cold, ns(1000));
    EXPECT_EQ(ends().front(), 270) << "filling takes longer when cold";
    EXPECT_EQ(ends().back(), 1550);
}

TEST_F(TensorEngineTest, ATileIsColdForItsShareOfTheArray) {
    add(on(kRowTiles[0], multiply(100)));
    EXPECT_EQ(run(gated_spec()).tensor_stats().cold, ns(50)) << "a quarter of 200";
}

TEST_F(TensorEngineTest, AProductOverTheEndOfAColdWindowIsPartSlowPartFast) {
    const IssueTemplate& product = multiply(300);
    for (int i = 0; i < 3; ++i) {
        add(product);
    }
    run(gated_spec());
    // 600 cold; then 400 cold for 200 of its columns, and 100 warm; then warm.
    EXPECT_THAT(starts(), ElementsAre(0, 600, 1100));
    EXPECT_THAT(ends(), ElementsAre(670, 1150, 1450));
}

TEST_F(TensorEngineTest, AnIdleWindowCoolsTheArrayDown) {
    const IssueTemplate& slow = core_.script.define(timed("slow", ns(3500)));
    const IssueTemplate& product = multiply(100);
    core_.script.add(Engine::Vector, slow).signal(1);
    for (int i = 0; i < 10; ++i) {
        add(product);
    }
    add(product).wait(1, 1);
    PlainEngine vector("vector", Engine::Vector, core_);
    run(gated_spec());
    EXPECT_EQ(starts().back(), 3520);
    EXPECT_EQ(ends().back(), 3520 + 200 + 70);
}

}  // namespace
}  // namespace trnsim::neuron_core
