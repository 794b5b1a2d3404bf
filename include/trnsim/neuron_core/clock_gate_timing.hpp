// SPDX-License-Identifier: Apache-2.0
// The Tensor Engine's clock gate (HAM) as a pure state machine over time.
#pragma once

#include "trnsim/base/units.hpp"
#include "trnsim/neuron_core/tensor_engine_spec.hpp"

#include <cstdint>

/// Time is cut into free-running windows of window_cycles. Utilisation u of a window = columns
/// streamed in it / window_cycles, multiply_moving_busy_columns() of each instruction spread evenly
/// over its interval; activity a is the same with every column weighted by the share of whole_rows
/// it uses. The array is warm after a cold window with a >= warm_up_utilization, and after
/// less busy ones that add up: at the end of each, a - warm_up_leak is added to a sum that never
/// falls below 0, until it reaches warm_up_sum (decision 0031). A warm window with
/// u < cool_down_utilization is followed by a cold one, and so is the last of warm_windows in a row
/// of which none was busy enough to warm up a cold array (a x cold_rate < warm_up_utilization).
/// Cold runs at cold_rate. A cold array streams at half rate, so 0.465 columns are 0.94 of
/// *occupancy* there and 0.30 columns are 0.30 of occupancy when warm: inside the observed bounds,
/// 0.65 to 0.98 and 0.22 to 0.42. [ACCURACY-STUDY, 4.1] [TRACES-TRN2] Products over 64 rows stream
/// at 0.248: they do not warm a cold array, and keep a warm one warm for warm_windows only.
/// [CALIBRATED] Does not model: the power (TDP) limit.
namespace trnsim::neuron_core {

struct ClockGateState {
    std::int64_t window =
        0;  ///< Index of the current window; window 0 began phase_cycles before time 0.
    std::int64_t stale = 0;       ///< Warm windows since one that would have warmed it up.
    double busy_columns = 0.0;    ///< Streamed in it so far,
    double active_columns = 0.0;  ///< and weighted by rows.
    double sum = 0.0;             ///< Of the activity above the leak.
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
    Picoseconds cold{};    ///< How long it was cold until then.
};

/// What an instruction does to the array.
struct ArrayWork {
    Cycles cycles{};           ///< At full rate.
    std::int64_t columns = 0;  ///< Streamed.
    double row_share = 1.0;    ///< Of whole_rows, or of the tile's rows, in use.
};

/// Streams an instruction from `start`, idle until then; the rate changes where windows end, also
/// in the middle of the instruction.
[[nodiscard]] ClockGateRun stream(const ClockGateSpec& spec,
                                  Gigahertz clock,
                                  const ClockGateState& state,
                                  Picoseconds start,
                                  const ArrayWork& work);

}  // namespace trnsim::neuron_core
