// SPDX-License-Identifier: Apache-2.0
// Nests of loops that count as one become one.
#pragma once

#include "loop_tree.hpp"
#include "trnsim/program/program.hpp"

#include <vector>

namespace trnsim::lowering {

/// A loop over n x m iterations may be written as a loop over m in one over n. Which of both it is
/// means nothing to a compiler that sees the iterations, so that none of the later passes shall.
///
///     for i in 4:
///         for j in 8:                  for i in 32:
///             alloc a         -->          alloc a
///             a = load(8 i + j)            a = load(i)
///
/// Does so with affine loops anywhere in the tree, innermost first, of which one is all of the
/// other's body and in which every place moves by as much from the inner loop's last iteration to
/// its next first one as between its iterations. True if there was one.
bool coalesce(program::Program& program, std::vector<LoopTree>& tree);

}  // namespace trnsim::lowering
