// SPDX-License-Identifier: Apache-2.0
// Hand-made tables of instructions and profiles of the same small kernel.
#pragma once

#include "trnsim/base/units.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace trnsim::report {

[[nodiscard]] constexpr Picoseconds ns(double time) {
    return Picoseconds{static_cast<std::int64_t>(time * 1e3)};
}

/// What the simulator writes of a kernel that loads two tiles, multiplies, copies, reduces each of
/// two columns and stores two tiles.
[[nodiscard]] std::string simulated_table();

/// What a profiler might write of it: an fp32 matmul in two halves, one reduction for both columns,
/// one store, a table load and what the runtime adds.
[[nodiscard]] nlohmann::ordered_json profiled();

}  // namespace trnsim::report
