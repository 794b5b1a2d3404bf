// SPDX-License-Identifier: Apache-2.0
// What an iteration loads twice is loaded once.
#pragma once

#include "trnsim/program/program.hpp"

namespace trnsim::lowering {

/// A program without loads of what another load has brought in the same iteration.
///
///     for i in 8:                          for i in 8:
///         x[i] = load(a[i])                    x[i] = load(a[i])
///         m[i] = reduce(x[i])      -->         m[i] = reduce(x[i])
///         for k in 4:                          for k in 4:
///             y[i, k] = load(a[i, k])
///             t[i, k] = transpose(y)               t[i, k] = transpose(x[i] from k on)
///
/// The second tile must be a copy of a part of the first, column by column, of an argument or
/// constant that the program does not write; nothing else may write either tile, and whoever reads
/// the second does so in the iteration that loads it.
[[nodiscard]] program::Program drop_repeated_loads(program::Program program);

}  // namespace trnsim::lowering
