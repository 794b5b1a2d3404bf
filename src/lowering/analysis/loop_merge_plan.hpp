// SPDX-License-Identifier: Apache-2.0
// Whether a loop's iterations may be merged instruction by instruction, and how.
#pragma once

#include "loop_accesses.hpp"
#include "loop_tree.hpp"
#include "trnsim/program/program.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace trnsim::lowering {

/// What becomes of a loop: `strip` iterations at a time, each child of its body either one
/// instruction for `merge` of them, or (1) a loop over them.
struct LoopMergePlan {
    std::int64_t strip = 1;
    std::vector<std::int64_t> merge{};   ///< By child of the body; divides `strip`.
    std::set<std::uint32_t> expanded{};  ///< Sites whose `strip` tiles become one tile.
};

/// The plan for a loop of the tree at `depth`; nothing where merging is not possible or of no use.
/// \pre neither it nor a loop around it keeps its order
[[nodiscard]] std::optional<LoopMergePlan> plan_merge(const program::Program& program,
                                                      const BufferCounts& counts,
                                                      const NeuronCoreSpec& core,
                                                      const LoopTree& loop,
                                                      std::int32_t depth);

/// A per-partition scalar or the stationary tile: not one element per element of the result.
[[nodiscard]] bool is_broadcast(const InstructionTemplate& instruction, const Operand& operand);

/// Rows of an operand in HBM, each of which goes to or comes from a partition on chip; 1 between
/// places in HBM.
[[nodiscard]] std::int64_t rows_of(const InstructionTemplate& instruction);

}  // namespace trnsim::lowering
