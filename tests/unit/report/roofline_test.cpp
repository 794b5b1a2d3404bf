// SPDX-License-Identifier: Apache-2.0
// What bounds a run is what needs the most time.
#include "trnsim/report/roofline.hpp"

#include "sample_report.hpp"

#include <gtest/gtest.h>

#include <string>

namespace trnsim::report {
namespace {

constexpr Picoseconds kOneMillisecond{1'000'000'000};

Roofline roofline_of(const RunResult& result) {
    return roofline(result, peaks(ChipSpec{}));
}

RunResult run_with(Engine engine, std::int64_t active_ps) {
    RunResult result;
    result.total = kOneMillisecond;
    result.engines[engine].active = Picoseconds{active_ps};
    return result;
}

TEST(RooflineTest, AnEngineOccupiedForMoreThanHalfBoundsTheRun) {
    EXPECT_EQ(roofline_of(run_with(Engine::Tensor, 500'000'001)).bound_by, Resource::Tensor);
    EXPECT_EQ(roofline_of(run_with(Engine::Vector, 500'000'001)).bound_by, Resource::Vector);
    EXPECT_EQ(roofline_of(run_with(Engine::Scalar, 500'000'001)).bound_by, Resource::Scalar);
    EXPECT_EQ(roofline_of(run_with(Engine::Gpsimd, 500'000'001)).bound_by, Resource::Gpsimd);
    EXPECT_EQ(roofline_of(run_with(Engine::Sync, 500'000'001)).bound_by, Resource::Sync);
}

TEST(RooflineTest, LatencyBoundsARunInWhichNothingIsBusyForHalfOfIt) {
    const Roofline roofline = roofline_of(run_with(Engine::Tensor, 499'999'999));
    EXPECT_EQ(roofline.bound_by, Resource::Latency);
    EXPECT_EQ(roofline.busiest, Resource::Tensor);
    EXPECT_EQ(roofline.of(Resource::Latency), Picoseconds{500'000'001});
}

TEST(RooflineTest, DmaNeedsWhatItsBusiestEngineNeeds) {
    RunResult result = run_with(Engine::Tensor, 100'000'000);
    result.dma.engine_busy = {Picoseconds{100}, Picoseconds{700'000'000}, Picoseconds{600'000'000}};
    const Roofline roofline = roofline_of(result);
    EXPECT_EQ(roofline.of(Resource::Dma), Picoseconds{700'000'000});
    EXPECT_EQ(roofline.bound_by, Resource::Dma);
}

TEST(RooflineTest, HbmTakesTheBlameWhenItSetTheRateForMoreThanHalfOfTheDmaTime) {
    RunResult result = run_with(Engine::Tensor, 100'000'000);
    result.dma.engine_busy = {Picoseconds{700'000'000}};
    result.memory.hbm_limited = Picoseconds{350'000'000};
    EXPECT_EQ(roofline_of(result).bound_by, Resource::Dma);
    result.memory.hbm_limited = Picoseconds{350'000'001};
    EXPECT_EQ(roofline_of(result).bound_by, Resource::Hbm);
    EXPECT_EQ(roofline_of(result).of(Resource::Hbm), Picoseconds{700'000'000});
}

TEST(RooflineTest, HbmNeedsAtLeastItsBytesAtThePeakOfAStack) {
    RunResult result = run_with(Engine::Tensor, 100'000'000);
    result.memory.hbm_read_bytes = 729'600'000;  // 1 ms at 729.6 GB/s.
    EXPECT_EQ(roofline_of(result).of(Resource::Hbm), kOneMillisecond);
}

TEST(RooflineTest, EveryResourceHasAName) {
    for (const Resource resource : kResources) {
        EXPECT_FALSE(name(resource).empty());
    }
    EXPECT_EQ(engine_of(Resource::Gpsimd), Engine::Gpsimd);
    EXPECT_EQ(engine_of(Resource::Dma), std::nullopt);
}

}  // namespace
}  // namespace trnsim::report
