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
    /// Whether the array holds exactly this region of this slot.
    [[nodiscard]] bool holds(const void* slot, const Region& region) const {
        return slot == slot_ && region.shape != nullptr && shape_ != nullptr &&
               region.shape->pattern == shape_->pattern &&
               region.shape->element_bytes == shape_->element_bytes &&
               region.shape->partitions == shape_->partitions && region.partition == partition_ &&
               region.base_byte == base_byte_;
    }

    void load(const void* slot, const Region& region) {
        slot_ = slot;
        shape_ = region.shape;
        partition_ = region.partition;
        base_byte_ = region.base_byte;
    }

    /// A slot was written, or holds another tile now.
    void written(const void* slot) {
        if (slot == slot_) {
            slot_ = nullptr;
            shape_ = nullptr;
        }
    }

private:
    const void* slot_ = nullptr;  ///< Identity only.
    const RegionShape* shape_ = nullptr;
    std::int32_t partition_ = 0;
    std::int64_t base_byte_ = 0;
};

}  // namespace trnsim::lowering
