// SPDX-License-Identifier: Apache-2.0
// Between SystemC's time and ours.
#pragma once

#include "trnsim/base/units.hpp"

#include <systemc>

#include <cstdint>

namespace trnsim::neuron_core {

/// A span for sc_event::notify(). \pre not negative
[[nodiscard]] inline sc_core::sc_time to_sc_time(Picoseconds span) {
    return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(span.value));
}

/// The present in the simulation that an object belongs to, without a call into the kernel.
[[nodiscard]] inline Picoseconds present(const sc_core::sc_object& object) {
    return Picoseconds{static_cast<std::int64_t>(object.simcontext()->time_stamp().value())};
}

}  // namespace trnsim::neuron_core
