// SPDX-License-Identifier: Apache-2.0
// The DMA engines take exactly the service time of their work, however rings share them.
#include "trnsim/dma/dma_engines.hpp"

#include "component/core_harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace trnsim::dma {
namespace {

using test::ns;
using testing::ElementsAre;

constexpr std::uint32_t kAll = 0xFFFF;

/// An HBM that never limits.
HbmSpec endless() {
    return {.stacks = 1, .stack_interface_bits = 1'000'000, .pin_gbit_per_s = 1000.0};
}

/// Sustains `rate` bytes per nanosecond.
HbmSpec limited(double rate) {
    return {.stacks = 1,
            .stack_interface_bits = 1000,
            .pin_gbit_per_s = rate * 8.0 / 1000.0,
            .refresh_efficiency = 1.0,
            .turnaround_efficiency = 1.0};
}

class DmaEnginesTest : public test::SystemCTest {
protected:
    void build(const HbmSpec& hbm = endless()) {
        hbm_ = std::make_unique<memory::Hbm>("hbm", hbm);
        engines_ = std::make_unique<DmaEngines>("dma_engines", DmaSpec{}, *hbm_, 0);
        for (int ring = 0; ring < 16; ++ring) {
            engines_->connect(ring, [this, ring] {
                ends_[static_cast<std::size_t>(ring)].push_back(
                    static_cast<double>(sc_core::sc_time_stamp().value()) * 1e-3);
            });
        }
    }

    /// `service` ns on each engine of the mask.
    void submit(int ring,
                std::uint32_t mask,
                std::int64_t service,
                std::int64_t arrival = 0,
                std::int64_t bytes_read = 0) {
        engines_->submit(ring,
                         {.engine_mask = mask,
                          .service = ns(service),
                          .descriptors = 1,
                          .bytes = Bytes{bytes_read},
                          .bytes_read_hbm = Bytes{bytes_read}},
                         ns(arrival));
    }

    [[nodiscard]] const std::vector<double>& ends(int ring) const {
        return ends_[static_cast<std::size_t>(ring)];
    }
    [[nodiscard]] Picoseconds busy(std::size_t engine) const {
        return engines_->stats().engine_busy[engine];
    }

    std::unique_ptr<memory::Hbm> hbm_;
    std::unique_ptr<DmaEngines> engines_;
    std::array<std::vector<double>, 16> ends_;
};

TEST_F(DmaEnginesTest, ATransferAloneTakesItsServiceTime) {
    build();
    submit(0, kAll, 1000);
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(1000));
    EXPECT_EQ(engines_->stats().active, ns(1000));
}

TEST_F(DmaEnginesTest, AnEngineWithLessOfATransferIsFreeForTheNextOneEarlier) {
    build();
    const DmaTransferCost uneven{
        .engine_mask = 0b11, .service = ns(1000), .descriptors = 9, .uneven = {ns(1000), ns(100)}};
    engines_->submit(0, uneven, ns(0));
    submit(1, 0b10, 500, 200);
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(1000));
    EXPECT_THAT(ends(1), ElementsAre(700));
    EXPECT_EQ(busy(0), ns(1000));
    EXPECT_EQ(busy(1), ns(600));
}

TEST_F(DmaEnginesTest, TransfersOfOneRingFollowEachOther) {
    build();
    submit(0, kAll, 1000);
    submit(0, kAll, 500);
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(1000, 1500));
}

TEST_F(DmaEnginesTest, TwoRingsOnTheSameEnginesGetHalfEach) {
    build();
    submit(0, kAll, 1000);
    submit(1, kAll, 1000);
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(2000));
    EXPECT_THAT(ends(1), ElementsAre(2000));
}

TEST_F(DmaEnginesTest, TheLongerOneGoesOnAtFullRateWhenTheShorterIsThrough) {
    build();
    submit(0, kAll, 300);
    submit(1, kAll, 1000);
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(600));
    EXPECT_THAT(ends(1), ElementsAre(1300));
}

TEST_F(DmaEnginesTest, RingsOnDifferentEnginesDoNotDisturbEachOther) {
    build();
    submit(0, 0x00FF, 1000);
    submit(1, 0xFF00, 700);
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(1000));
    EXPECT_THAT(ends(1), ElementsAre(700));
    EXPECT_EQ(busy(0), ns(1000));
    EXPECT_EQ(busy(15), ns(700));
}

TEST_F(DmaEnginesTest, WhereRingsMeetOnSomeEnginesThoseSetTheTime) {
    build();
    submit(0, 0x0003, 1000);
    submit(1, 0x0002, 400);
    sc_core::sc_start();
    EXPECT_THAT(ends(1), ElementsAre(800));
    EXPECT_THAT(ends(0), ElementsAre(1400));
    EXPECT_EQ(busy(0), ns(1000));
    EXPECT_EQ(busy(1), ns(1400));
}

TEST_F(DmaEnginesTest, TransfersOfOneRingOnDifferentEnginesRunSideBySideAndEndInOrder) {
    build();
    submit(0, 0x0001, 1000);
    submit(0, 0x0002, 100);
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(1000, 1000));
    EXPECT_EQ(busy(1), ns(100));
}

TEST_F(DmaEnginesTest, TheLastEnginesLagCountsAsActive) {
    build();
    engines_->submit(
        0, {.engine_mask = kAll, .service = ns(1000), .spread = ns(400), .descriptors = 1}, ns(0));
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(1000));
    EXPECT_EQ(engines_->stats().active, ns(1400));
}

TEST_F(DmaEnginesTest, NothingMovesBeforeItsArrival) {
    build();
    submit(0, kAll, 1000, 500);
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(1500));
    EXPECT_EQ(engines_->stats().active, ns(1000));
}

TEST_F(DmaEnginesTest, AnArrivalInTheMiddleOfATransferSharesFromThenOn) {
    build();
    submit(0, kAll, 1000, 0);
    submit(1, kAll, 1000, 400);
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(1600)) << "400 alone, 600 at half rate";
    EXPECT_THAT(ends(1), ElementsAre(2000));
}

TEST_F(DmaEnginesTest, ALaterSubmissionWithAnEarlierArrivalIsNotMissed) {
    build();
    submit(0, kAll, 100, 1000);
    submit(1, kAll, 100, 50);
    sc_core::sc_start();
    EXPECT_THAT(ends(1), ElementsAre(150));
    EXPECT_THAT(ends(0), ElementsAre(1100));
}

TEST_F(DmaEnginesTest, SixteenRingsShareEqually) {
    build();
    for (int ring = 0; ring < 16; ++ring) {
        submit(ring, kAll, 100);
    }
    sc_core::sc_start();
    for (int ring = 0; ring < 16; ++ring) {
        EXPECT_THAT(ends(ring), ElementsAre(1600));
    }
}

TEST_F(DmaEnginesTest, HbmStretchesATransferByWhatItDoesNotSustain) {
    build(limited(200.0));
    submit(0, kAll, 1000, 0, 400'000);  // 400 B/ns
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(2000));
    EXPECT_EQ(engines_->stats().hbm_limited, ns(2000));
}

TEST_F(DmaEnginesTest, RingsThatShareEnginesAskHbmForNoMoreThanOne) {
    build(limited(200.0));
    submit(0, kAll, 1000, 0, 400'000);  // 400 B/ns alone, 200 beside the other.
    submit(1, kAll, 1000, 0, 400'000);
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(4000));
    EXPECT_THAT(ends(1), ElementsAre(4000));
}

TEST_F(DmaEnginesTest, HbmStretchesWhatOneEngineMoves) {
    build(limited(100.0));
    submit(0, 0x1, 1000, 0, 200'000);
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(2000));
}

TEST_F(DmaEnginesTest, DrawsGigabytesPerSecondWhereTheyChange) {
    build(limited(200.0));
    test::RecordedTimeline timeline;
    engines_->draw(timeline, timeline.add_counter("core", "DMA", "GB/s"));
    submit(0, kAll, 1000, 100, 400'000);
    submit(0, 0x1, 1000, 100, 100'000);
    sc_core::sc_start();
    std::vector<std::pair<double, double>> drawn;
    for (const auto& sample : timeline.samples()) {
        drawn.emplace_back(sample.at.nanoseconds(), std::round(sample.value));
    }
    const std::vector<std::pair<double, double>> wanted{{100, 200}, {2100, 100}, {3100, 0}};
    EXPECT_EQ(drawn, wanted);
}

TEST_F(DmaEnginesTest, TransfersThatDoNotTouchHbmAreNotLimitedByIt) {
    build(limited(1.0));
    submit(0, kAll, 1000);
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(1000));
    EXPECT_EQ(engines_->stats().hbm_limited, ns(0));
}

TEST_F(DmaEnginesTest, ShortPiecesAskMoreOfHbm) {
    build(limited(400.0));
    engines_->submit(0,
                     {.engine_mask = kAll,
                      .service = ns(1000),
                      .bytes = Bytes{400'000},
                      .bytes_read_hbm = Bytes{400'000},
                      .hbm_page_efficiency = 0.5},
                     ns(0));
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(2000));
}

TEST_F(DmaEnginesTest, AnArrivalOnASharedStackSlowsTheOtherCoreFromThenOn) {
    build(limited(400.0));
    DmaEngines neighbour("neighbour", DmaSpec{}, *hbm_, 0);
    double end = 0.0;
    neighbour.connect(
        0, [&end] { end = static_cast<double>(sc_core::sc_time_stamp().value()) * 1e-3; });
    submit(0, kAll, 1000, 0, 400'000);  // All that HBM sustains.
    neighbour.submit(0,
                     {.engine_mask = kAll,
                      .service = ns(1000),
                      .bytes = Bytes{400'000},
                      .bytes_read_hbm = Bytes{400'000}},
                     ns(400));
    sc_core::sc_start();
    EXPECT_THAT(ends(0), ElementsAre(1600)) << "400 alone, 600 at half rate";
    EXPECT_DOUBLE_EQ(end, 2000);
}

TEST_F(DmaEnginesTest, ATransferThatFindsItsEnginesFreeCostsOneWakeUp) {
    build();
    for (std::int64_t i = 0; i < 100; ++i) {
        submit(0, kAll, 100, 1000 * i);
    }
    const auto before = sc_core::sc_delta_count();
    sc_core::sc_start();
    EXPECT_THAT(ends(0), testing::SizeIs(100));
    EXPECT_LE(sc_core::sc_delta_count() - before, 102U);
}

TEST_F(DmaEnginesTest, CountsTheBytesThatHbmReadsAndWrites) {
    build();
    submit(0, kAll, 100, 0, 4096);
    engines_->submit(
        1, {.engine_mask = kAll, .service = ns(100), .bytes_written_hbm = Bytes{1024}}, ns(0));
    sc_core::sc_start();
    EXPECT_EQ(engines_->stats().hbm_read_bytes, 4096);
    EXPECT_EQ(engines_->stats().hbm_write_bytes, 1024);
}

/// At least one of the engines.
std::uint32_t any_engines(std::mt19937& random) {
    return 1U + static_cast<std::uint32_t>(random() % kAll);
}

/// Transfers of all kinds at all times.
class DmaEnginesOfDice : public DmaEnginesTest, public testing::WithParamInterface<unsigned> {};

TEST_P(DmaEnginesOfDice, EveryEngineIsBusyForTheServiceTimesOfItsTransfersAndRingsKeepOrder) {
    build();
    std::mt19937 random(GetParam());
    std::array<std::int64_t, 16> service{};
    std::array<std::size_t, 16> submitted{};
    double arrival = 0.0;
    for (int i = 0; i < 400; ++i) {
        const int ring = static_cast<int>(random() % 16);
        const std::uint32_t mask = random() % 3 == 0 ? kAll : any_engines(random);
        const auto time = static_cast<std::int64_t>(1 + random() % 5000);
        arrival += static_cast<double>(random() % 800);
        submit(ring, mask, time, static_cast<std::int64_t>(arrival));
        ++submitted[static_cast<std::size_t>(ring)];
        for (std::size_t e = 0; e < service.size(); ++e) {
            service[e] += ((mask >> e) & 1U) != 0 ? time : 0;
        }
    }
    sc_core::sc_start();
    for (std::size_t e = 0; e < service.size(); ++e) {
        // Every wake-up is on a whole picosecond, at most one late.
        EXPECT_NEAR(busy(e).nanoseconds(), static_cast<double>(service[e]), 2.0) << "engine " << e;
    }
    for (std::size_t ring = 0; ring < ends_.size(); ++ring) {
        EXPECT_EQ(ends_[ring].size(), submitted[ring]);
        EXPECT_TRUE(std::ranges::is_sorted(ends_[ring]));
    }
}

TEST_P(DmaEnginesOfDice, NoTransferIsFasterThanAloneNorSlowerThanEverythingBeforeIt) {
    build();
    std::mt19937 random(GetParam());
    std::int64_t total = 0;
    std::vector<std::int64_t> service;
    for (int ring = 0; ring < 16; ++ring) {
        service.push_back(static_cast<std::int64_t>(1 + random() % 5000));
        total += service.back();
        submit(ring, any_engines(random), service.back());
    }
    sc_core::sc_start();
    for (int ring = 0; ring < 16; ++ring) {
        const auto alone = static_cast<double>(service[static_cast<std::size_t>(ring)]);
        EXPECT_GE(ends(ring).front(), alone - 0.002);
        EXPECT_LE(ends(ring).front(), static_cast<double>(total) + 0.1);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DmaEnginesOfDice, testing::Range(1U, 6U));

}  // namespace
}  // namespace trnsim::dma
