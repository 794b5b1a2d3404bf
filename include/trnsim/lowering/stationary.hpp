// SPDX-License-Identifier: Apache-2.0
// What LoadStationary loads, and which tile the PE array holds.
#pragma once

#include "trnsim/lowering/access_history.hpp"

#include <cstdint>

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

/// The stationary operand in the array. It stays valid until another is loaded or its bytes are
/// written.
class StationaryReuse {
public:
    /// A tile for good: places are taken again, instances are not. Bytes whose addresses the
    /// program fixes are one tile, the whole memory.
    struct Tile {
        std::uint32_t buffer = ~std::uint32_t{0};
        std::int64_t instance = -1;
        friend bool operator==(const Tile&, const Tile&) = default;
    };

    /// Whether the array holds exactly this region of this tile.
    [[nodiscard]] bool holds(const Tile& tile, const Region& region) const {
        return shape_ != nullptr && tile == tile_ && region.shape->pattern == shape_->pattern &&
               region.shape->element_bytes == shape_->element_bytes &&
               region.shape->partitions == shape_->partitions && region.partition == partition_ &&
               region.base_byte == base_byte_;
    }

    void load(const Tile& tile, const Region& region) {
        tile_ = tile;
        shape_ = region.shape;
        partition_ = region.partition;
        base_byte_ = region.base_byte;
    }

    /// Part of a tile was written.
    void written(const Tile& tile, const Region& region) {
        if (shape_ != nullptr && tile == tile_ &&
            overlap(region, {.shape = shape_, .partition = partition_, .base_byte = base_byte_})) {
            shape_ = nullptr;
        }
    }

private:
    Tile tile_;
    const RegionShape* shape_ = nullptr;  ///< nullptr: the array holds nothing.
    std::int32_t partition_ = 0;
    std::int64_t base_byte_ = 0;
};

}  // namespace trnsim::lowering
