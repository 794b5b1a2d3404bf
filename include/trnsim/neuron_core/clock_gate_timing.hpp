// SPDX-License-Identifier: Apache-2.0
// The Tensor Engine's clock gate (HAM) as a pure state machine over time.
#pragma once

#include "trnsim/base/units.hpp"
#include "trnsim/neuron_core/tensor_engine_spec.hpp"

#include <cstdint>

/// Time is cut into free-running windows of window_cycles. Utilisation u of a window = columns
/// streamed in it / window_cycles, multiply_moving_busy_columns() of each instruction spread evenly
/// over its interval. At a window's end: cold and u >= warm_up_utilization -> warm; warm and u <
/// cool_down_utilization -> cold. Cold runs at cold_rate. A cold array streams at half rate, so
/// 0.42 columns are 0.84 of *occupancy* there and 0.30 columns are 0.30 of occupancy when warm:
/// inside the observed bounds, 0.65 to 0.98 and 0.22 to 0.42. [ACCURACY-STUDY, 4.1] [TRACES-TRN2]
/// Does not model: a longer warm-up at K = 64, where the rule is not complete, and the power (TDP)
/// limit.
namespace trnsim::neuron_core {

struct ClockGateState {
    std::int64_t window =
        0;  ///< Index of the current window; window 0 began phase_cycles before time 0.
    double busy_columns = 0.0;  ///< Streamed in it so far.
    bool is_warm = false;
    friend bool operator==(const ClockGateState&, const ClockGateState&) = default;
};

/// Rate of the array relative to full clock: 1 when warm or when there is no gate.
[[nodiscard]] double rate(const ClockGateSpec& spec, const ClockGateState& state);

/// The state at `now` after idling since the state was last updated.
/// \pre now is not in a window before state.window
[[nodiscard]] ClockGateState advance(const ClockGateSpec& spec,
                                     Gigahertz clock,
                                     ClockGateState state,
                                     Picoseconds now);

/// An instruction after it has streamed.
struct ClockGateRun {
    ClockGateState state;  ///< At `end`.
    Picoseconds end{};     ///< When the array is free: the interval is end - start.
};

/// Streams an instruction of `work` full-rate cycles and `columns` busy columns from `start`, idle
/// until then; the rate changes where windows end, also in the middle of the instruction.
[[nodiscard]] ClockGateRun stream(const ClockGateSpec& spec,
                                  Gigahertz clock,
                                  ClockGateState state,
                                  Picoseconds start,
                                  Cycles work,
                                  std::int64_t columns);

}  // namespace trnsim::neuron_core
