// SPDX-License-Identifier: Apache-2.0
// Who may use which part of the PE array when.
#pragma once

#include "trnsim/base/units.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace trnsim::neuron_core {

/// Row and column tiles cut the array into 4 x 4 blocks, of 32 x 32 PEs. Bit 4 x row + column.
/// [NKI-ISA, nc_matmul, tiling mode]
using PeBlocks = std::uint16_t;
inline constexpr int kPeBlocksPerSide = 4;
inline constexpr int kPeBlockCount = kPeBlocksPerSide * kPeBlocksPerSide;
inline constexpr PeBlocks kWholeArray = 0xFFFF;

/// The share that blocks have in what belongs to the whole array, rounded down.
[[nodiscard]] constexpr std::int64_t share_of_array(PeBlocks blocks, std::int64_t whole) {
    return whole * std::popcount(blocks) / kPeBlockCount;
}

/// What happened last in the blocks of the array.
///
/// Matmuls on disjoint tiles run side by side; each block has one set of weights in use and one
/// that is loaded meanwhile. Does not model: who drives the columns of a tile beside another one
/// (tiles share nothing here but the issue of instructions).
class PeArray {
public:
    /// Of a part of the array: the latest of its blocks.
    struct Times {
        Picoseconds weights_ready;   ///< The loaded tile may be multiplied.
        Picoseconds multiply_start;  ///< Of the last MultiplyMoving's last pass.
        Picoseconds multiply_end;    ///< Of its streaming.
        std::uint64_t multiply = 0;  ///< Its sequence number.
    };
    [[nodiscard]] Times of(PeBlocks blocks) const;

    void load(PeBlocks blocks, Picoseconds ready);
    void multiply(PeBlocks blocks, Picoseconds start, Picoseconds end, std::uint64_t sequence);

private:
    static void join(Times& all, const Times& block);
    /// From now on every block has times of its own.
    void split();

    bool is_split_ = false;  ///< Else every block is like the first.
    std::array<Times, kPeBlockCount> blocks_{};
};

}  // namespace trnsim::neuron_core
