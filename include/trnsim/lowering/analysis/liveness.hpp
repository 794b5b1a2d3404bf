// SPDX-License-Identifier: Apache-2.0
// How long the tiles of every allocation site live.
#pragma once

#include "trnsim/program/program.hpp"

#include <cstdint>
#include <vector>

namespace trnsim::lowering {

/// Lives of one site's instances, in program order.
struct SiteLiveness {
    /// So many consecutive instances are used by so many operands each.
    struct Uses {
        std::int64_t instances = 0;
        std::int64_t uses = 0;
    };
    std::int64_t instances = 0;  ///< Allocated.
    std::int64_t live_peak = 0;  ///< Most alive at once: allocated, and still to be used.
    std::int64_t first_step =
        0;  ///< Steps count executed runs and allocs from the program's start.
    std::int64_t last_step = -1;  ///< Of the last use; -1: never used.
    std::vector<Uses> uses{};     ///< In order of allocation, run-length coded.
};

/// Walks the program once, backwards: an instance's first sight is its last use. Time is
/// proportional to the executed instructions, memory to the tiles alive at once and to the changes
/// in use counts.
[[nodiscard]] std::vector<SiteLiveness> analyse_liveness(const program::Program& program);

}  // namespace trnsim::lowering
