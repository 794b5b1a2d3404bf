// SPDX-License-Identifier: Apache-2.0
// Which loops the sites of a program are in.
#pragma once

#include "trnsim/program/program.hpp"

#include <cstdint>
#include <vector>

namespace trnsim::lowering {

/// What is around the tiles of a site.
enum class Around : std::uint8_t {
    Nothing,
    PythonLoops,  ///< Which the compiler does not see: for it one tile comes after the other.
    Loops,        ///< At least one that it sees.
};

/// By site, the most of what is around any of its tiles.
[[nodiscard]] std::vector<Around> what_is_around(const program::Program& program);

/// By site, how many tiles an iteration of a loop that the compiler sees makes, but for those of
/// loops in it that it sees too: one for each time that Python goes over the allocation. For the
/// compiler each is a tensor of its own. The most of any loop; 0 outside of them.
[[nodiscard]] std::vector<std::int64_t> tiles_per_iteration(const program::Program& program);

}  // namespace trnsim::lowering
