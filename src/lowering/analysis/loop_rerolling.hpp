// SPDX-License-Identifier: Apache-2.0
// Loops whose first iterations stand before them get them back.
#pragma once

#include "loop_tree.hpp"
#include "trnsim/program/program.hpp"

#include <vector>

namespace trnsim::lowering {

/// A tile that all iterations share is allocated by the first one that uses it, so that a trace has
/// that iteration on its own:
///
///     alloc a                      alloc b
///     a = load(0)                  for i in 8:
///     alloc b                          alloc a
///     b[0] = copy(a)       -->         a = load(i)
///     for i in 7:                      b[i] = copy(a)
///         alloc a
///         a = load(1 + i)
///         b[1 + i] = copy(a)
///
/// Likewise a loop that goes on where the one before it ended becomes one with it. Does so with
/// affine loops anywhere in the tree, innermost first; true if there was one. Every instruction
/// stays where it is, only allocs come earlier.
bool reroll(program::Program& program, std::vector<LoopTree>& tree);

}  // namespace trnsim::lowering
