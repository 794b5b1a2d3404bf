// SPDX-License-Identifier: Apache-2.0
// The clock gate's windows, thresholds and the time of what crosses them.
#include "trnsim/neuron_core/clock_gate_timing.hpp"

#include <gtest/gtest.h>

namespace trnsim::neuron_core {
namespace {

constexpr Gigahertz kClock{2.4};
constexpr ClockGateSpec kGate{.enabled = true};
constexpr Picoseconds kWindow{3'413'333};
/// bf16, 512 moving columns.
constexpr ArrayWork kProduct{.cycles = Cycles{520}, .columns = 512};

Picoseconds cycles(std::int64_t count) {
    return to_picoseconds(Cycles{count}, kClock);
}

double to_cycles(Picoseconds time) {
    return static_cast<double>(time.value) * kClock.value / 1e3;
}

/// A back-to-back stream of instructions from time 0; the number of cold ones among them.
int cold_instructions(int count, Cycles work, std::int64_t columns) {
    ClockGateState state;
    Picoseconds now{};
    int cold = 0;
    for (int i = 0; i < count; ++i) {
        const ClockGateRun run =
            stream(kGate, kClock, state, now, {.cycles = work, .columns = columns});
        cold += run.end - now > to_picoseconds(work, kClock) + Picoseconds{1} ? 1 : 0;
        state = run.state;
        now = run.end;
    }
    return cold;
}

TEST(ClockGate, StartsColdAtHalfRate) {
    const ClockGateRun run = stream(kGate, kClock, {}, Picoseconds{0}, kProduct);
    EXPECT_EQ(run.end, cycles(2L * 520));
    EXPECT_FALSE(run.state.is_warm);
    EXPECT_DOUBLE_EQ(run.state.busy_columns, 512.0);
    EXPECT_DOUBLE_EQ(rate(kGate, run.state), 0.5);
}

TEST(ClockGate, SwitchedOffIsAlwaysAtFullRate) {
    const ClockGateSpec off{.enabled = false};
    const ClockGateRun run = stream(off, kClock, {}, Picoseconds{1000}, kProduct);
    EXPECT_EQ(run.end, Picoseconds{1000} + cycles(520));
    EXPECT_DOUBLE_EQ(rate(off, run.state), 1.0);
    EXPECT_EQ(advance(off, kClock, {}, 10 * kWindow), ClockGateState{});
}

TEST(ClockGate, WarmsUpAfterOneBusyWindow) {
    // 8192 cycles hold 7.9 cold instructions of 1040 cycles; all later ones are warm.
    EXPECT_EQ(cold_instructions(2048, Cycles{520}, 512), 8);
    // An FP32 instruction takes 4128 cold cycles: the second one crosses the window's end.
    EXPECT_EQ(cold_instructions(100, Cycles{2064}, 2048), 2);
}

TEST(ClockGate, NeverWarmsUpBelowItsThreshold) {
    // Every second window-eighth idle: 0.25 columns a cycle of a cold window.
    ClockGateState state;
    Picoseconds now{};
    for (int i = 0; i < 200; ++i) {
        const ClockGateRun run =
            stream(kGate, kClock, state, now, {.cycles = Cycles{512}, .columns = 512});
        state = run.state;
        EXPECT_FALSE(state.is_warm);
        now = run.end + cycles(1024);
    }
}

TEST(ClockGate, StaysWarmAboveAndCoolsDownBelowItsThreshold) {
    const ClockGateState warm{.window = 1, .busy_columns = 0.31 * 8192, .is_warm = true};
    EXPECT_TRUE(advance(kGate, kClock, warm, 2 * kWindow + Picoseconds{10}).is_warm);
    const ClockGateState idle{.window = 1, .busy_columns = 0.29 * 8192, .is_warm = true};
    EXPECT_FALSE(advance(kGate, kClock, idle, 2 * kWindow + Picoseconds{10}).is_warm);
}

TEST(ClockGate, ThresholdsAreInsideTheObservedBoundsOfOccupancy) {
    const double warm_up_occupancy = kGate.warm_up_utilization / kGate.cold_rate;
    EXPECT_GT(warm_up_occupancy, 0.65);
    EXPECT_LT(warm_up_occupancy, 0.98);
    EXPECT_GT(kGate.cool_down_utilization, 0.22);
    EXPECT_LT(kGate.cool_down_utilization, 0.42);
}

/// Windows until the array is warm, in a stream without gaps of products over a share of its rows.
int windows_to_warm_up(double row_share, Picoseconds gap = {}, int most = 1000) {
    ClockGateState state;
    Picoseconds now{};
    while (!state.is_warm && state.window < most) {
        const ArrayWork work{.cycles = Cycles{2064}, .columns = 2048, .row_share = row_share};
        const ClockGateRun run = stream(kGate, kClock, state, now, work);
        state = run.state;
        now = run.end + gap;
    }
    return static_cast<int>(state.window);
}

TEST(ClockGate, HalfOfTheRowsNeverWarmIt) {
    EXPECT_EQ(windows_to_warm_up(1.0), 1);
    EXPECT_EQ(windows_to_warm_up(0.5), 1000);
}

TEST(ClockGate, ThreeQuartersOfTheRowsWarmItInSeveralWindows) {
    EXPECT_EQ(windows_to_warm_up(0.75), 4);
    EXPECT_GT(windows_to_warm_up(0.75, Picoseconds{400'000}), 4) << "pauses let activity leak";
}

/// Of a cold array: half the rows throughout, and all of them for `burst` cycles from `start` on,
/// which begins anew every `period` windows; windows until it is warm.
std::int64_t windows_to_warm_up_by_bursts(std::int64_t burst,
                                          std::int64_t start,
                                          std::int64_t period) {
    constexpr std::int64_t kStep = 64;
    ClockGateState state;
    Picoseconds now{};
    while (!state.is_warm && state.window < 1000) {
        const auto cycle = static_cast<std::int64_t>(to_cycles(now)) - start;
        const bool is_burst = cycle >= 0 && cycle % (period * 8192) < burst;
        const ArrayWork work{
            .cycles = Cycles{kStep}, .columns = kStep, .row_share = is_burst ? 1.0 : 0.5};
        const ClockGateRun run = stream(kGate, kClock, state, now, work);
        state = run.state;
        now = run.end;
    }
    return state.window;
}

TEST(ClockGate, ABurstThatFillsAWindowWarmsItAtOnce) {
    EXPECT_EQ(windows_to_warm_up_by_bursts(8192, 8192, 1000), 2);
    EXPECT_EQ(windows_to_warm_up_by_bursts(2L * 8192, 8192 + 4096, 1000), 3);
}

TEST(ClockGate, ABurstInTwoWindowsDoesNotWarmItButSeveralSoonAfterOneAnotherDo) {
    EXPECT_EQ(windows_to_warm_up_by_bursts(8192, 8192 + 4096, 1000), 1000);
    EXPECT_EQ(windows_to_warm_up_by_bursts(8192, 8192 + 4096, 8), 11) << "with the second one";
    EXPECT_EQ(windows_to_warm_up_by_bursts(8192, 8192 + 4096, 200), 1000) << "all has leaked";
}

/// FP32 products over a share of the rows, without gaps, until the array is cold or `end`.
ClockGateRun stream_while_warm(ClockGateState state, double row_share, Picoseconds end) {
    ClockGateRun run{.state = state};
    const ArrayWork work{.cycles = Cycles{2064}, .columns = 2048, .row_share = row_share};
    while (run.state.is_warm && run.end < end) {
        run = stream(kGate, kClock, run.state, run.end, work);
    }
    return run;
}

/// In window 0, which has been as busy as can be.
constexpr ClockGateState kWarm{
    .window = 0, .busy_columns = 8192, .active_columns = 8192, .is_warm = true};

TEST(ClockGate, HalfOfTheRowsKeepItWarmForSoManyWindows) {
    const ClockGateRun run = stream_while_warm(kWarm, 0.5, 1000 * kWindow);
    EXPECT_FALSE(run.state.is_warm);
    EXPECT_EQ(run.state.window, 1 + kGate.warm_windows);
}

TEST(ClockGate, AFullStreamKeepsItWarmForever) {
    EXPECT_TRUE(stream_while_warm(kWarm, 1.0, 1000 * kWindow).state.is_warm);
}

TEST(ClockGate, OneWindowThatWouldWarmAColdArrayBeginsTheCountAnew) {
    ClockGateState tired = kWarm;
    tired.stale = kGate.warm_windows - 1;
    const ClockGateState next = advance(kGate, kClock, tired, kWindow + Picoseconds{10});
    EXPECT_EQ(next, (ClockGateState{.window = 1, .is_warm = true}));
    tired.active_columns = 0.92 * 8192;  // At half rate less than 0.465.
    EXPECT_FALSE(advance(kGate, kClock, tired, kWindow + Picoseconds{10}).is_warm);
}

/// Thresholds that doubles hold exactly.
constexpr ClockGateSpec kExactGate{.enabled = true,
                                   .warm_up_utilization = 0.5,
                                   .warm_up_leak = 0.25,
                                   .warm_up_sum = 0.25,
                                   .cool_down_utilization = 0.25,
                                   .warm_windows = 4,
                                   .cold_rate = 0.5};

TEST(ClockGate, AWindowAtAThresholdIsEnough) {
    const auto after = [](const ClockGateState& state) {
        return advance(kExactGate, kClock, state, kWindow + Picoseconds{10});
    };
    EXPECT_TRUE(after({.active_columns = 0.5 * 8192}).is_warm);
    EXPECT_TRUE(after({.active_columns = 0.375 * 8192, .sum = 0.125}).is_warm);
    const ClockGateState cooling{.stale = 2, .busy_columns = 0.25 * 8192, .is_warm = true};
    EXPECT_EQ(after(cooling), (ClockGateState{.window = 1, .stale = 3, .is_warm = true}));
    ClockGateState busy = cooling;
    busy.active_columns = 8192;
    EXPECT_EQ(after(busy), (ClockGateState{.window = 1, .is_warm = true}));
}

TEST(ClockGate, WhatAddedUpLeaksInIdleWindows) {
    const ClockGateState tepid{.active_columns = 0.375 * 8192};
    EXPECT_EQ(advance(kExactGate, kClock, tepid, kWindow + Picoseconds{10}),
              (ClockGateState{.window = 1, .sum = 0.125}));
    EXPECT_EQ(advance(kExactGate, kClock, tepid, 9 * kWindow + Picoseconds{10}),
              (ClockGateState{.window = 9}));
}

TEST(ClockGate, WhatEndsWithAWindowIsAllInIt) {
    const ClockGateRun run =
        stream(kGate, kClock, {}, Picoseconds{0}, {.cycles = Cycles{4096}, .columns = 4096});
    EXPECT_EQ(run.state, (ClockGateState{.busy_columns = 4096, .active_columns = 4096}));
}

TEST(ClockGate, DecidesNothingBeforeTheWindowEnds) {
    const ClockGateState busy{
        .window = 0, .busy_columns = 4000, .active_columns = 4000, .is_warm = false};
    EXPECT_EQ(advance(kGate, kClock, busy, kWindow - Picoseconds{10}), busy);
    const ClockGateState next = advance(kGate, kClock, busy, kWindow + Picoseconds{10});
    EXPECT_EQ(next, (ClockGateState{.window = 1, .sum = next.sum, .is_warm = true}));
}

TEST(ClockGate, LongIdlenessEndsColdInTheRightWindow) {
    const ClockGateState warm{
        .window = 3, .busy_columns = 8000, .active_columns = 8000, .is_warm = true};
    const ClockGateState later = advance(kGate, kClock, warm, 1000 * kWindow + Picoseconds{1000});
    EXPECT_EQ(later, (ClockGateState{.window = 1000}));
}

TEST(ClockGate, RateChangesInTheMiddleOfAnInstruction) {
    // Full window before it: the first 192 cycles run cold, the rest warm.
    const ClockGateState state{
        .window = 0, .busy_columns = 4000, .active_columns = 4000, .is_warm = false};
    const Picoseconds start = cycles(8000);
    const ClockGateRun run =
        stream(kGate, kClock, state, start, {.cycles = Cycles{520}, .columns = 520});
    EXPECT_NEAR(static_cast<double>((run.end - start).value),
                static_cast<double>(cycles(192 + (520 - 96)).value),
                2.0);
    EXPECT_TRUE(run.state.is_warm);
    EXPECT_NEAR(run.state.busy_columns, 520 - 96, 0.01);
    EXPECT_NEAR(static_cast<double>(run.cold.value), static_cast<double>(cycles(192).value), 2.0);
}

TEST(ClockGate, PhaseShiftsTheWindows) {
    ClockGateSpec shifted = kGate;
    shifted.phase_cycles = Cycles{4096};
    const ClockGateState busy{
        .window = 0, .busy_columns = 4000, .active_columns = 4000, .is_warm = false};
    EXPECT_EQ(advance(shifted, kClock, busy, cycles(4090)).window, 0);
    EXPECT_EQ(advance(shifted, kClock, busy, cycles(4100)).window, 1);
}

TEST(ClockGate, InstructionsOfNoWorkTakeNoTime) {
    const ClockGateState state{.busy_columns = 100, .active_columns = 100};
    const ClockGateRun run = stream(kGate, kClock, state, Picoseconds{500}, {});
    EXPECT_EQ(run.end, Picoseconds{500});
    EXPECT_EQ(run.state, state);
}

TEST(ClockGate, TimesBeforeTheStateLeaveItAlone) {
    const ClockGateState state{
        .window = 5, .busy_columns = 100, .active_columns = 100, .is_warm = true};
    EXPECT_EQ(advance(kGate, kClock, state, kWindow), state);
}

}  // namespace
}  // namespace trnsim::neuron_core
