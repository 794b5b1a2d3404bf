// SPDX-License-Identifier: Apache-2.0
// Summary numbers follow Neuron Explorer's formulas.
#include "trnsim/report/summary.hpp"

#include "sample_report.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace trnsim::report {
namespace {

Summary sample_summary() {
    return make_report(matmul_subject(), matmul_result()).summary;
}

TEST(PeaksTest, AreGeometryTimesClockAndOneStack) {
    const Peaks trn2 = peaks(ChipSpec{});
    EXPECT_DOUBLE_EQ(trn2.tensor_flops_per_s, 2.0 * 128 * 128 * 2.4e9);
    EXPECT_DOUBLE_EQ(trn2.hbm_gb_per_s, 729.6);
}

TEST(SummaryTest, MfuCountsFlopsOfEveryTypeAgainstTheBf16Peak) {
    // 2048^3 MACs in FP32 take 218.4 us of an array of 128 x 128 at 2.4 GHz if they were BF16.
    EXPECT_NEAR(sample_summary().mfu_estimated_percent, 100.0 * 218.453 / 1036.838, 0.001);
}

TEST(SummaryTest, MfuOfAwsTutorialMatmulIsWhatAwsProfilerPrints) {
    // 4096 x 8192 x 8192 in FP32, 28,301.971 us: 24.70 percent. [NKI-MATMUL-TUTORIAL]
    RunResult result = empty_result();
    result.total = Picoseconds{28'301'971'000};
    result.tensor.macs = 4096LL * 8192 * 8192;
    EXPECT_NEAR(summarize(result, peaks(ChipSpec{})).mfu_estimated_percent, 24.70, 0.005);
}

TEST(SummaryTest, HfuIsMfuPlusTransposes) {
    RunResult result = matmul_result();
    result.tensor.transpose_macs = result.tensor.macs / 4;
    const Summary summary = summarize(result, peaks(ChipSpec{}));
    EXPECT_NEAR(summary.hfu_estimated_percent, 1.25 * summary.mfu_estimated_percent, 1e-6);
    EXPECT_EQ(summary.hardware_flops, summary.model_flops + summary.transpose_flops);
}

TEST(SummaryTest, MbuIsHbmBytesOverThePeakOfAStack) {
    EXPECT_NEAR(sample_summary().mbu_estimated_percent,
                100.0 * 100'663'296 / (729.6e9 * 1036.838e-6),
                1e-5);
}

TEST(SummaryTest, MfuMaxAchievableIsIntensityOverTheRidge) {
    const Summary summary = sample_summary();
    EXPECT_NEAR(summary.mfu_max_achievable_estimated_percent,
                100.0 * summary.mm_arithmetic_intensity / summary.peak_flops_bandwidth_ratio,
                1e-5);
}

TEST(SummaryTest, TheArrayIsActiveWhileItIsOccupiedAndOtherEnginesUntilTheirResults) {
    RunResult result = matmul_result();
    const EngineResult engine{.active = Picoseconds{1'000'000}, .covered = Picoseconds{2'000'000}};
    result.engines[Engine::Tensor] = result.engines[Engine::Vector] = engine;
    const Summary summary = summarize(result, peaks(ChipSpec{}));
    EXPECT_EQ(summary.engines[0].active_time, 1e-6);
    EXPECT_EQ(summary.engines[1].active_time, 2e-6);
}

TEST(SummaryTest, ALatencyLiesBetweenThoseThatTheModelsErrorWouldMakeOfIt) {
    const Summary summary = summarize(matmul_result(), peaks(ChipSpec{}), 0.25);
    EXPECT_NEAR((summary.latency_us - summary.latency_low_us) / summary.latency_low_us, 0.25, 1e-9);
    EXPECT_NEAR(
        (summary.latency_high_us - summary.latency_us) / summary.latency_high_us, 0.25, 1e-9);
}

TEST(SummaryTest, TheBandOfTheLongestLatencyReachesBeyondIt) {
    RunResult result = matmul_result();
    result.total = kLongestTime;
    const Summary summary = summarize(result, peaks(ChipSpec{}), 0.5);
    EXPECT_DOUBLE_EQ(summary.latency_high_us, 2 * summary.latency_us);
    for (const std::int64_t beyond : {-1, 0, 1, 1000}) {
        result.total = kLongestTime + Picoseconds{beyond};
        const Summary exact = summarize(result, peaks(ChipSpec{}), 0.0);
        EXPECT_GE(exact.latency_high_us, exact.latency_us) << beyond;
        EXPECT_LE(exact.latency_low_us, exact.latency_us) << beyond;
    }
}

TEST(SummaryTest, TheErrorIsThatOfTheChipAndApi) {
    const AccuracySpec accuracy{.new_api_error = 0.1, .old_api_error = 0.2};
    EXPECT_EQ(accuracy.of("neuronxcc.nki"), 0.2);
    EXPECT_EQ(accuracy.of("nki"), 0.1);
    EXPECT_EQ(accuracy.of("trace"), 0.1);
}

TEST(SummaryTest, OfAnEmptyRunHasNoDivisionByZero) {
    const Summary summary = summarize(RunResult{}, peaks(ChipSpec{}));
    visit(summary, [](const std::string& name, auto value) {
        if (name != "peak_flops_bandwidth_ratio") {
            EXPECT_EQ(value, decltype(value){}) << name;
        }
    });
}

TEST(SummaryTest, VisitNamesEveryFieldOnce) {
    std::set<std::string> names;
    int count = 0;
    visit(sample_summary(), [&](const std::string& name, auto) {
        names.insert(name);
        ++count;
    });
    EXPECT_EQ(names.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(count, 24 + 5 * 3);
    EXPECT_TRUE(names.contains("gpsimd_engine_active_time_percent"));
}

}  // namespace
}  // namespace trnsim::report
