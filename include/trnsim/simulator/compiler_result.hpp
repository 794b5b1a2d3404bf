// SPDX-License-Identifier: Apache-2.0
// What was decided in the compiler's place.
#pragma once

#include "trnsim/isa/instruction.hpp"
#include "trnsim/lowering/lowering_counts.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace trnsim {

/// What the lowering did in the compiler's place.
struct CompilerResult {
    /// Buffers of an allocation site on chip.
    struct Site {
        std::string name;
        Space space = Space::Sbuf;
        std::int64_t live = 0;    ///< Most tiles alive at once.
        std::int64_t slots = 0;   ///< Tiles it has room of its own for.
        bool is_pooled = false;   ///< It shares its room with others; `slots` is `live` then.
        bool is_planned = false;  ///< Its loads begin just in time.
        bool is_sunk = false;     ///< Loaded in the loop that reads it: it does not fit beside it.
    };
    lowering::LoweringCounts counts;
    std::int64_t dropped_loads = 0;   ///< Left out: the iteration had loaded the same already.
    std::int64_t repeated_loads = 0;  ///< Beyond the program's, of sites that are sunk.
    std::vector<Site> sites;          ///< In the order of the program; only those that are used.
};

}  // namespace trnsim
