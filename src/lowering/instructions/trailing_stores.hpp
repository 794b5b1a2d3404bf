// SPDX-License-Identifier: Apache-2.0
// Stores behind which nothing is loaded any more.
#pragma once

#include "trnsim/program/program.hpp"

#include <vector>

namespace trnsim::lowering {

/// By template: whether it is a DMA to HBM that runs, and no DMA to SBUF or PSUM begins after any
/// of its runs in program order. A loop that repeats counts as a whole: what it stores comes before
/// what it loads.
[[nodiscard]] std::vector<bool> trailing_stores(const program::Program& program);

}  // namespace trnsim::lowering
