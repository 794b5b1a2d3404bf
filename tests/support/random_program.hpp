// SPDX-License-Identifier: Apache-2.0
// Programs made of dice: what property tests lower and simulate.
#pragma once

#include "trnsim/program/program.hpp"

#include <cstdint>

namespace trnsim::test {

/// How large a random program is.
struct RandomProgramShape {
    int sbuf_sites = 3;
    std::int64_t sbuf_elements = 256;  ///< FP32, of each partition of an SBUF tile; at least 128.
    int phases = 1;                    ///< One after the other; each has SBUF sites of its own.
    int items = 12;  ///< Allocations, instructions and loops of a phase, at its outermost level.
    std::int64_t longest_loop = 5;
    std::int64_t old_tile_one_in = 6;  ///< Of so many operands one is a tile from long before.
    std::int64_t fixed_one_in =
        0;  ///< Of so many sites one has an address, maybe another's; 0: none.
    /// Further SBUF sites, of two parts each; a tile of them is loaded where it is allocated, and
    /// only read from then on. With them there are no register moves, as loads do not pass those.
    int loaded_sites = 0;
    std::int64_t edge_one_in = 0;  ///< Of so many runs one depends on another one; 0: none.
    bool has_parts = false;  ///< But with this there are, and every other loop is of the run time.
};

/// A program of loops up to two deep over allocations, loads, stores, copies, additions,
/// activations, register moves and matmuls of parts of tiles. The same seed gives the same program
/// on every machine.
[[nodiscard]] program::Program random_program(unsigned seed, const RandomProgramShape& shape = {});

}  // namespace trnsim::test
