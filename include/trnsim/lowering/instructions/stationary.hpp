// SPDX-License-Identifier: Apache-2.0
// What LoadStationary loads, and which tile the PE array holds.
#pragma once

#include "trnsim/lowering/dependencies/access_history.hpp"
#include "trnsim/neuron_core/pe_array.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

namespace trnsim::lowering {

/// What LoadStationary and MultiplyMoving make up on the Tensor Engine.
[[nodiscard]] inline bool uses_array(Opcode op) {
    return is_matmul(op) || op == Opcode::NcTranspose;
}

/// Whether an operand of a matmul (or of a transpose on the Tensor Engine) is what the array keeps.
[[nodiscard]] inline bool is_stationary(const InstructionTemplate& instruction,
                                        const Operand& operand) {
    return operand.role == Role::Stationary || operand.role == Role::StationaryScale ||
           operand.role == Role::Tags ||
           (instruction.op == Opcode::NcTranspose && operand.role == Role::Data);
}

/// Whether the Tensor Engine transposes, which is a product with an identity matrix.
[[nodiscard]] inline bool transposes_on_array(const InstructionTemplate& instruction,
                                              Engine engine) {
    return instruction.op == Opcode::NcTranspose && engine == Engine::Tensor;
}

/// Whether LoadStationary reads it: what the array keeps, and the indices that this goes by.
[[nodiscard]] inline bool is_loaded(const InstructionTemplate& instruction,
                                    const Operand& operand) {
    return is_stationary(instruction, operand) ||
           std::ranges::any_of(instruction.operands, [&](const Operand& each) {
               return instruction.indices_of(each) == &operand && is_stationary(instruction, each);
           });
}

/// Whether MultiplyMoving reads or writes it: all else, and indices that another operand goes by.
[[nodiscard]] inline bool is_streamed(const InstructionTemplate& instruction,
                                      const Operand& operand) {
    return !is_loaded(instruction, operand) ||
           std::ranges::any_of(instruction.operands, [&](const Operand& each) {
               return instruction.indices_of(each) == &operand && !is_stationary(instruction, each);
           });
}

/// What the array holds, one load to a part of it. Each stays valid until another is loaded there
/// or bytes that it came from are written.
class StationaryReuse {
public:
    /// A tile for good: places are taken again, instances are not. Bytes whose addresses the
    /// program fixes are one tile, the whole memory.
    struct Tile {
        std::uint32_t buffer = ~std::uint32_t{0};
        std::int64_t instance = -1;
        friend bool operator==(const Tile&, const Tile&) = default;
    };

    /// One operand of a load.
    struct Part {
        Tile tile{};
        Region region{};
        std::int64_t elements = 0;  ///< Fewer than the region's where indices choose them.
    };

    /// All operands of a load, in the instruction's order: the stationary tile, maybe with its
    /// scales or tags, and the indices of each.
    class Load {
    public:
        void clear() { size_ = 0; }
        /// `elements`: of the operand. \pre there are less than kMost of them
        void add(const Tile& tile, const Region& region, std::int64_t elements) {
            Part& part = parts_[size_++];
            part.tile = tile;
            part.region = region;
            part.elements = elements;
        }
        /// Copies no more than there is.
        void assign(const Load& other) {
            std::ranges::copy(other.parts(), parts_.begin());
            size_ = other.size_;
        }
        [[nodiscard]] bool empty() const { return size_ == 0; }
        [[nodiscard]] std::span<const Part> parts() const { return {parts_.data(), size_}; }

    private:
        static constexpr std::size_t kMost = 4;
        std::array<Part, kMost> parts_{};
        std::size_t size_ = 0;
    };

    /// Whether these blocks of the array hold exactly that.
    [[nodiscard]] bool holds(neuron_core::PeBlocks blocks, const Load& load) const {
        return std::ranges::any_of(held_, [&](const Held& held) {
            return held.blocks == blocks &&
                   std::ranges::equal(held.load.parts(), load.parts(), is_same);
        });
    }

    void load(neuron_core::PeBlocks blocks, const Load& load) {
        const auto meets = [blocks](const Held& held) { return (held.blocks & blocks) != 0; };
        auto place = std::ranges::find_if(held_, meets);
        if (place == held_.end()) {
            held_.emplace_back();
            place = std::prev(held_.end());
        } else {
            held_.erase(std::remove_if(std::next(place), held_.end(), meets), held_.end());
        }
        place->blocks = blocks;
        place->load.assign(load);
    }

    /// Part of a tile was written.
    void written(const Tile& tile, const Region& region) {
        std::erase_if(held_, [&](const Held& held) {
            return std::ranges::any_of(held.load.parts(), [&](const Part& part) {
                return tile == part.tile && overlap(region, part.region);
            });
        });
    }

private:
    struct Held {
        neuron_core::PeBlocks blocks = 0;
        Load load{};
    };

    [[nodiscard]] static bool is_same(const Part& a, const Part& b) {
        return a.tile == b.tile && a.elements == b.elements &&
               a.region.partition() == b.region.partition() &&
               a.region.end_partition() == b.region.end_partition() &&
               is_same_pattern(a.region, b.region);
    }

    std::vector<Held> held_;  ///< Of disjoint blocks.
};

}  // namespace trnsim::lowering
