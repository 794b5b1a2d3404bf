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

}  // namespace trnsim::lowering
