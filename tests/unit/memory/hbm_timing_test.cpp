// SPDX-License-Identifier: Apache-2.0
// What a stack of HBM delivers.
#include "trnsim/memory/hbm_timing.hpp"

#include "unit/neuron_core/instructions.hpp"

namespace trnsim::memory {
namespace {

const HbmSpec& hbm(const std::string& name) {
    return test::chip(name).hbm;
}

TEST(HbmPeak, IsWhatTheDatasheetsSay) {  // [DEV-TRN1] [DEV-TRN2] [DEV-TRN3]
    EXPECT_NEAR(device_peak(hbm("trn1")).value, 820, 1);
    EXPECT_NEAR(device_peak(hbm("inf2")).value, 820, 1);
    EXPECT_NEAR(device_peak(hbm("trn2")).value, 2918, 1);
    EXPECT_NEAR(device_peak(hbm("trn3")).value, 4915, 1);
}

TEST(HbmPeak, OfAStackIsItsShare) {
    EXPECT_DOUBLE_EQ(4 * stack_peak(hbm("trn2")).value, device_peak(hbm("trn2")).value);
}

TEST(HbmPageEfficiency, IsFullForLongPieces) {
    EXPECT_DOUBLE_EQ(page_efficiency(hbm("trn2"), Bytes{4096}), 1.0);
    EXPECT_DOUBLE_EQ(page_efficiency(hbm("trn2"), Bytes{512}), 1.0);
}

TEST(HbmPageEfficiency, WastesWhatAnAccessBringsAndAPieceDoesNotWant) {
    const HbmSpec& spec = hbm("trn2");
    const double whole = page_efficiency(spec, Bytes{spec.access_bytes});
    EXPECT_DOUBLE_EQ(page_efficiency(spec, Bytes{4}), whole * 4 / 64);
    EXPECT_LT(page_efficiency(spec, Bytes{65}), page_efficiency(spec, Bytes{128}));
}

TEST(HbmPageEfficiency, IsBoundedByActivatesForShortPieces) {
    HbmSpec slow = hbm("trn2");
    slow.row_cycle_ns = from_nanoseconds(480);
    EXPECT_LT(page_efficiency(slow, Bytes{256}), page_efficiency(hbm("trn2"), Bytes{256}));
    // 256 B take 5.6 ns of a channel, an activate of one of 32 banks 15 ns.
    EXPECT_NEAR(page_efficiency(slow, Bytes{256}), 256 / 45.6 / 15.0, 1e-3);
}

TEST(HbmPageEfficiency, OfNothingIsFull) {
    EXPECT_DOUBLE_EQ(page_efficiency(hbm("trn2"), Bytes{0}), 1.0);
}

TEST(HbmSustained, IsPeakTimesItsEfficiencies) {
    const HbmSpec& spec = hbm("trn2");
    EXPECT_DOUBLE_EQ(stack_sustained(spec, Bytes{4096}).value,
                     stack_peak(spec).value * spec.refresh_efficiency * spec.turnaround_efficiency);
    // More than the DMA engines of a single core can ask for, less than those of two.
    EXPECT_GT(stack_sustained(spec, Bytes{4096}).value, 16 * 27.2);
    EXPECT_LT(stack_sustained(spec, Bytes{4096}).value, 2 * 16 * 27.2);
}

}  // namespace
}  // namespace trnsim::memory
