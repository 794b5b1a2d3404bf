// SPDX-License-Identifier: Apache-2.0
// The same program, its loops written in another way.
#pragma once

#include "trnsim/program/program.hpp"

namespace trnsim::test {

/// A program whose loops over an even number of iterations, more than two, are loops over two in
/// one over half of them.
[[nodiscard]] program::Program with_split_loops(const program::Program& program);

}  // namespace trnsim::test
