// SPDX-License-Identifier: Apache-2.0
// Random programs for property tests, correct by construction.
#pragma once

#include "trnsim/program/program.hpp"

#include <random>

namespace trnsim::program {

/// A program of nested loops around allocations and dma_copy runs whose positions have random bases
/// and coefficients of both signs. Loops may be empty. read() accepts what write() makes of it.
[[nodiscard]] Program random_program(std::mt19937& random);

}  // namespace trnsim::program
