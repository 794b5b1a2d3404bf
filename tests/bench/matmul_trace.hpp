// SPDX-License-Identifier: Apache-2.0
// The program of the benchmarks: a matrix product, tile by tile, every tile loaded for every
// product.
#pragma once

#include "trnsim/program/program.hpp"

#include <cstdint>

namespace trnsim::bench {

/// bfloat16 [size, size] times [size, size], size a multiple of 512: 3 instructions for each
/// product of a 128 x 128 stationary with a 128 x 512 moving tile, 2 for each tile of the result.
[[nodiscard]] program::Program matmul_program(std::int64_t size);

}  // namespace trnsim::bench
