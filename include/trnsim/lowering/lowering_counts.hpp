// SPDX-License-Identifier: Apache-2.0
// What came of the policies, counted while the lowering works.
#pragma once

#include <cstdint>

namespace trnsim::lowering {

/// Decisions of one lowering.
struct LoweringCounts {
    /// Steps of some queues.
    struct Order {
        std::int64_t steps = 0;
        std::int64_t early = 0;  ///< Put on their queue before an earlier one of the program.

        Order& operator+=(const Order& other) {
            steps += other.steps;
            early += other.early;
            return *this;
        }
    };

    std::int64_t calls = 0;         ///< Of the kernel,
    std::int64_t instructions = 0;  ///< and instructions once iterations are merged.

    Order tensor{};   ///< Of the Tensor Engine,
    Order engines{};  ///< of all other engines,
    Order dma{};      ///< and of all DMA rings.

    std::int64_t choices = 0;  ///< Steps that several engines of the chip can run,
    std::int64_t moved = 0;    ///< and of these those that the first of them does not.

    std::int64_t stationary_loads = 0;   ///< LoadStationary instructions,
    std::int64_t stationary_reuses = 0;  ///< and those left out: the array held the tile.

    std::int64_t spill_saves = 0;    ///< Tiles copied to HBM,
    std::int64_t spill_reloads = 0;  ///< and brought back.
};

}  // namespace trnsim::lowering
