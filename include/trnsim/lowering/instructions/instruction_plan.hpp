// SPDX-License-Identifier: Apache-2.0
// What the lowering knows of an instruction template before it runs.
#pragma once

#include "trnsim/lowering/dependencies/region.hpp"
#include "trnsim/lowering/instructions/issue_table.hpp"
#include "trnsim/lowering/instructions/ring_plan.hpp"

#include <string_view>
#include <vector>

namespace trnsim::lowering {

/// An operand of a template.
struct OperandPlan {
    RegionShape shape;
    bool is_loaded = false;   ///< By LoadStationary, where the Tensor Engine runs the template,
    bool is_streamed = true;  ///< and by MultiplyMoving; elsewhere the instruction accesses it.
    /// In HBM, of a transfer: from a partition's row to the next one's; kOneRow; 0: not known.
    std::int64_t row_bytes = 0;
    static constexpr std::int64_t kOneRow = -1;
};

/// A template of the program, looked at once.
struct InstructionPlan {
    std::vector<OperandPlan> operands;
    std::vector<Picoseconds> costs;  ///< By engine of IssueTable::engines().
    std::string_view table;          ///< Activation table it needs.
    int ring = 0;                    ///< DMA.
    DmaTrigger trigger{};            ///< DMA.
    bool is_control = false;         ///< Sets a register, for which others wait.
    bool is_barrier = false;         ///< Cores meet, one time after the other.
    bool is_fence = false;           ///< Nothing passes it: others wait for it, or its operands
                                     ///< do not tell all that it reads and writes.
    bool is_transfer = false;        ///< DMA.
    bool loads_copy = false;         ///< What it writes is in HBM too, and stays there.
    bool uses_array = false;         ///< Of the Tensor Engine, if it runs there.
    bool is_accumulated = false;     ///< On Scalar an ACTIVATION_READ_ACCUMULATOR follows.
};

/// The plans by template.
[[nodiscard]] std::vector<InstructionPlan> plan_instructions(const program::Program& program,
                                                             const ChipSpec& chip,
                                                             const IssueTable& table,
                                                             const RingPlan& rings,
                                                             const Policies& policies);

/// By buffer: whether any template writes it.
[[nodiscard]] std::vector<bool> written_buffers(const program::Program& program);

/// By buffer: whether it is a tensor in HBM that the program both writes and reads.
[[nodiscard]] std::vector<bool> scratch_buffers(const program::Program& program);
/// Whether an operand is in one of these buffers.
[[nodiscard]] bool touches(const InstructionTemplate& instruction,
                           const std::vector<bool>& buffers);

/// All elements of a tile or tensor, as an operand.
[[nodiscard]] Operand whole_buffer(const program::Program& program, std::uint32_t buffer);

}  // namespace trnsim::lowering
