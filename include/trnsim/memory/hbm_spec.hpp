// SPDX-License-Identifier: Apache-2.0
// Immutable numbers of a device's HBM.
#pragma once

#include "trnsim/base/units.hpp"

#include <cstdint>
#include <string>

namespace trnsim {

/// High-bandwidth memory: stacks of channels. Sustained rate = peak x refresh x turnaround x page
/// efficiency.
struct HbmSpec {
    std::string kind = "HBM3";  ///< HBM2E, HBM3, HBM3E.
    std::int64_t stacks = 4;
    std::int64_t stack_gib = 24;
    /// Of all stacks.
    [[nodiscard]] std::int64_t bytes() const { return stacks * stack_gib * kKib * kKib * kKib; }
    std::int64_t channels_per_stack = 16;
    std::int64_t stack_interface_bits = 1024;
    double pin_gbit_per_s = 5.7;
    std::int64_t cores_per_stack = 2;
    std::int64_t page_bytes = 1024;  ///< Row-buffer bytes of a pseudo-channel.
    std::int64_t access_bytes = 64;  ///< Smallest access; shorter pieces waste the rest.
    Picoseconds row_cycle_ns{};      ///< Activate to activate of one bank.
    std::int64_t banks_per_channel = 16;
    double refresh_efficiency = 0.95;
    double turnaround_efficiency = 0.97;  ///< Of mixed reads and writes.
};

}  // namespace trnsim
