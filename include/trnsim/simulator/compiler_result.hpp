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
    };
    lowering::LoweringCounts counts;
    std::vector<Site> sites;  ///< In the order of the program; only those that are used.
};

}  // namespace trnsim
