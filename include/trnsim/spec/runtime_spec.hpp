// SPDX-License-Identifier: Apache-2.0
// Immutable numbers of what surrounds a kernel's instruction streams.
#pragma once

#include "trnsim/base/units.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace trnsim {

/// What a latency is compared with: both count the kernel's own work and, each its way, what a
/// launch takes beside it.
enum class Method : std::uint8_t {
    Profiler,   ///< total_time of neuron-profile or Neuron Explorer.
    Benchmark,  ///< Latency that nki.benchmark reports.
};

[[nodiscard]] std::string_view name(Method method);
[[nodiscard]] std::optional<Method> method_from_name(std::string_view name);

/// Device time of one kernel launch outside its own work.
struct RuntimeSpec {
    Picoseconds kernel_start_ns{};  ///< Before the first instruction can trigger a DMA: profiler,
    Picoseconds benchmark_start_ns{};  ///< benchmark.
    Picoseconds kernel_end_ns{};       ///< After the last result is visible.

    [[nodiscard]] Picoseconds start(Method method) const {
        return method == Method::Profiler ? kernel_start_ns : benchmark_start_ns;
    }
};

}  // namespace trnsim
