// SPDX-License-Identifier: Apache-2.0
// The Tensor Engine's clock gate (HAM) as a pure state machine over time.
#include "trnsim/neuron_core/clock_gate_timing.hpp"

#include <algorithm>
#include <cmath>

namespace trnsim::neuron_core {
namespace {

/// Windows and instants of one gate, in full-rate cycles since the kernel's start.
class Windows {
public:
    Windows(const ClockGateSpec& spec, Gigahertz clock) : spec_(spec), clock_(clock) {}

    [[nodiscard]] double cycles(Picoseconds time) const {
        return static_cast<double>(time.value) * clock_.value * 1e-3;
    }
    [[nodiscard]] Picoseconds time(double cycles) const {
        return from_picoseconds(cycles * 1e3 / clock_.value);
    }
    [[nodiscard]] double end_of(std::int64_t window) const {
        return static_cast<double>((window + 1) * spec_.window_cycles.value -
                                   spec_.phase_cycles.value);
    }
    [[nodiscard]] std::int64_t window_at(double cycles) const {
        const double age = cycles + static_cast<double>(spec_.phase_cycles.value);
        return static_cast<std::int64_t>(
            std::floor(age / static_cast<double>(spec_.window_cycles.value)));
    }

    /// The state after the end of the current window.
    [[nodiscard]] ClockGateState next(const ClockGateState& state) const {
        const auto cycles = static_cast<double>(spec_.window_cycles.value);
        ClockGateState after{.window = state.window + 1};
        const double activity = state.active_columns / cycles;
        if (state.is_warm) {
            const bool renews = activity * spec_.cold_rate >= spec_.warm_up_utilization;
            after.stale = renews ? 0 : state.stale + 1;
            after.is_warm = state.busy_columns / cycles >= spec_.cool_down_utilization &&
                            after.stale < spec_.warm_windows;
            after.stale = after.is_warm ? after.stale : 0;
            return after;
        }
        after.sum = std::max(0.0, state.sum + activity - spec_.warm_up_leak);
        after.is_warm = activity >= spec_.warm_up_utilization || after.sum >= spec_.warm_up_sum;
        return after;
    }

    /// Lets a state idle until `cycles`: cold windows with nothing left to leak change nothing any
    /// more.
    void idle_until(ClockGateState& state, double cycles) const {
        if (cycles < end_of(state.window)) {
            return;
        }
        const std::int64_t target = window_at(cycles);
        bool changes = true;
        while (changes && state.window < target) {
            const ClockGateState before = state;
            state = next(state);
            changes = state.is_warm || state.sum != before.sum;
        }
        state.window = std::max(state.window, target);
    }

private:
    const ClockGateSpec& spec_;
    Gigahertz clock_;
};

}  // namespace

double rate(const ClockGateSpec& spec, const ClockGateState& state) {
    return !spec.enabled || state.is_warm ? 1.0 : spec.cold_rate;
}

ClockGateState advance(const ClockGateSpec& spec,
                       Gigahertz clock,
                       ClockGateState state,
                       Picoseconds now) {
    if (!spec.enabled) {
        return state;
    }
    const Windows windows(spec, clock);
    windows.idle_until(state, windows.cycles(now));
    return state;
}

ClockGateRun stream(const ClockGateSpec& spec,
                    Gigahertz clock,
                    const ClockGateState& state,
                    Picoseconds start,
                    const ArrayWork& work) {
    if (!spec.enabled || work.cycles <= Cycles{0}) {
        return {.state = advance(spec, clock, state, start),
                .end = start + to_picoseconds(work.cycles, clock)};
    }
    const Windows windows(spec, clock);
    const double columns_per_cycle =
        static_cast<double>(work.columns) / static_cast<double>(work.cycles.value);
    double now = windows.cycles(start);
    auto left = static_cast<double>(work.cycles.value);
    ClockGateRun run{.state = state};
    double cold = 0.0;
    windows.idle_until(run.state, now);
    while (true) {
        const double speed = rate(spec, run.state);
        const double in_window = (windows.end_of(run.state.window) - now) * speed;
        const double done = std::min(left, in_window);
        cold += speed < 1.0 ? done / speed : 0.0;
        run.state.busy_columns += done * columns_per_cycle;
        run.state.active_columns += done * columns_per_cycle * work.row_share;
        if (left <= in_window) {
            run.end = windows.time(now + left / speed);
            run.cold = windows.time(cold);
            return run;
        }
        left -= done;
        now = windows.end_of(run.state.window);
        run.state = windows.next(run.state);
    }
}

}  // namespace trnsim::neuron_core
