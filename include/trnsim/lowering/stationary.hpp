// SPDX-License-Identifier: Apache-2.0
// What LoadStationary loads, and which tile the PE array holds.
#pragma once

#include "trnsim/lowering/access_history.hpp"
#include "trnsim/neuron_core/pe_array.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace trnsim::lowering {

/// nc_matmul and its MX form.
[[nodiscard]] inline bool is_matmul(Opcode op) {
    return op == Opcode::NcMatmul || op == Opcode::NcMatmulMx;
}

/// What LoadStationary and MultiplyMoving make up on the Tensor Engine.
[[nodiscard]] inline bool uses_array(Opcode op) {
    return is_matmul(op) || op == Opcode::NcTranspose;
}

/// Whether an operand of a matmul (or of a transpose on the Tensor Engine) is what LoadStationary
/// loads.
[[nodiscard]] inline bool is_stationary(const InstructionTemplate& instruction,
                                        const Operand& operand) {
    return operand.role == Role::Stationary || operand.role == Role::StationaryScale ||
           (instruction.op == Opcode::NcTranspose && operand.role == Role::Data);
}

/// The stationary operands in the array, one to a part of it. Each stays valid until another is
/// loaded there or its bytes are written.
class StationaryReuse {
public:
    /// A tile for good: places are taken again, instances are not. Bytes whose addresses the
    /// program fixes are one tile, the whole memory.
    struct Tile {
        std::uint32_t buffer = ~std::uint32_t{0};
        std::int64_t instance = -1;
        friend bool operator==(const Tile&, const Tile&) = default;
    };

    /// Whether these blocks of the array hold exactly this region of this tile.
    [[nodiscard]] bool holds(neuron_core::PeBlocks blocks,
                             const Tile& tile,
                             const Region& region) const {
        return std::ranges::any_of(held_, [&](const Held& held) {
            return held.blocks == blocks && held.tile == tile &&
                   region.shape->pattern == held.shape->pattern &&
                   region.shape->element_bytes == held.shape->element_bytes &&
                   region.shape->partitions == held.shape->partitions &&
                   region.partition == held.partition && region.base_byte == held.base_byte;
        });
    }

    void load(neuron_core::PeBlocks blocks, const Tile& tile, const Region& region) {
        std::erase_if(held_, [blocks](const Held& held) { return (held.blocks & blocks) != 0; });
        held_.push_back({.blocks = blocks,
                         .tile = tile,
                         .shape = region.shape,
                         .partition = region.partition,
                         .base_byte = region.base_byte});
    }

    /// Part of a tile was written.
    void written(const Tile& tile, const Region& region) {
        std::erase_if(held_, [&](const Held& held) {
            return tile == held.tile && overlap(region,
                                                {.shape = held.shape,
                                                 .partition = held.partition,
                                                 .base_byte = held.base_byte});
        });
    }

private:
    struct Held {
        neuron_core::PeBlocks blocks = 0;
        Tile tile{};
        const RegionShape* shape = nullptr;
        std::int32_t partition = 0;
        std::int64_t base_byte = 0;
    };

    std::vector<Held> held_;  ///< Of disjoint blocks.
};

}  // namespace trnsim::lowering
