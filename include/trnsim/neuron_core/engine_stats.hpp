// SPDX-License-Identifier: Apache-2.0
// What is counted about one in-order queue.
#pragma once

#include "trnsim/base/units.hpp"

#include <array>
#include <cstdint>

namespace trnsim::neuron_core {

/// Times of one queue. Ratios are derived in report/, never stored.
struct EngineStats {
    static constexpr int kCauses = 7;  ///< The five engines, DMA, memory ports.

    std::int64_t instruction_count = 0;
    Picoseconds active;                          ///< Union of the issue intervals.
    std::array<Picoseconds, kCauses> waiting{};  ///< Gaps between them, by who was waited for.
    Picoseconds covered;                         ///< Union of issue to result visible.
    Picoseconds last_done;                       ///< When the last result is visible.
};

}  // namespace trnsim::neuron_core
