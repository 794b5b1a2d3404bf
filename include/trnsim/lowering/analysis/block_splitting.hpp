// SPDX-License-Identifier: Apache-2.0
// Blocks of tiles become tiles of their own.
#pragma once

#include "trnsim/program/program.hpp"

#include <cstdint>
#include <vector>

namespace trnsim::lowering {

/// A program in which tiles [P, n, …] of the sites asked for are n tiles [P, …], where no access
/// touches two of them: each has bytes from its own first use to its own last.
[[nodiscard]] program::Program split_blocks(program::Program program,
                                            const std::vector<bool>& sites);

}  // namespace trnsim::lowering
