// SPDX-License-Identifier: Apache-2.0
// The rate a stack of HBM sustains.
#include "trnsim/memory/hbm_timing.hpp"

#include <algorithm>

namespace trnsim::memory {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

}  // namespace

GigabytesPerSecond stack_peak(const HbmSpec& spec) {
    return GigabytesPerSecond{static_cast<double>(spec.stack_interface_bits) * spec.pin_gbit_per_s /
                              8.0};
}

GigabytesPerSecond device_peak(const HbmSpec& spec) {
    return GigabytesPerSecond{static_cast<double>(spec.stacks) * stack_peak(spec).value};
}

double page_efficiency(const HbmSpec& spec, Bytes piece) {
    if (piece.value <= 0) {
        return 1.0;
    }
    const double channel_rate =
        stack_peak(spec).value / static_cast<double>(spec.channels_per_stack);
    const std::int64_t accesses = divide_up(piece.value, spec.access_bytes);
    const double access_ns = static_cast<double>(accesses * spec.access_bytes) / channel_rate;
    const std::int64_t rows = divide_up(piece.value, spec.page_bytes);
    const double activate_ns = static_cast<double>(rows) * spec.row_cycle_ns.nanoseconds() /
                               static_cast<double>(spec.banks_per_channel);
    const double wanted_ns = static_cast<double>(piece.value) / channel_rate;
    return wanted_ns / std::max(access_ns, activate_ns);
}

GigabytesPerSecond stack_sustained(const HbmSpec& spec, Bytes piece) {
    return GigabytesPerSecond{stack_peak(spec).value * spec.refresh_efficiency *
                              spec.turnaround_efficiency * page_efficiency(spec, piece)};
}

}  // namespace trnsim::memory
