// SPDX-License-Identifier: Apache-2.0
// Where the operands of a step lie, and whose accesses come before theirs.
#pragma once

#include "trnsim/lowering/instructions/instruction_plan.hpp"
#include "trnsim/lowering/loads/load_plan.hpp"
#include "trnsim/lowering/order/memory_history.hpp"
#include "trnsim/lowering/order/planned_step.hpp"
#include "trnsim/lowering/order/tile_memory.hpp"
#include "trnsim/program/cursor.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace trnsim::lowering {

/// Finds the bytes of operands: in the tile of a site, in the slot of a planned load, at the
/// address that the program fixes or that is settled in its order, or in HBM.
class OperandPlaces {
public:
    /// All must outlive it; `loads` may be reset, but not made, after this.
    OperandPlaces(const program::Program& program,
                  const ChipSpec& chip,
                  std::optional<LoadPlan>& loads,
                  TileMemory& tiles);

    /// Another instance of a buffer in HBM begins.
    void begin_in_hbm(std::uint32_t buffer) { memories_[buffer].push_back(nullptr); }

    /// Gives a step, whose instruction and engine are known, its operands.
    /// \throws ProgramError if one is not allocated yet
    void resolve(const program::Step& step, const InstructionPlan& plan, PlannedStep& planned);

private:
    /// Gives an operand its region, and the tile or the memory in which that lies.
    void place(const InstructionTemplate& instruction,
               const program::Step::At& at,
               const RegionShape& shape,
               ResolvedOperand& resolved);
    [[nodiscard]] Tile& find_tile(const InstructionTemplate& instruction,
                                  const Operand& operand,
                                  std::int64_t instance);
    /// The byte where a tile lies whose bytes are settled in program order.
    [[nodiscard]] std::int64_t take_turn(const InstructionTemplate& instruction,
                                         const Operand& operand,
                                         std::int64_t instance);
    /// The slot of its site in which the tile of a planned load lies.
    [[nodiscard]] std::int64_t planned_slot(const InstructionTemplate& instruction,
                                            const Operand& operand,
                                            std::int64_t instance);
    /// Tells the operands of a transfer in HBM on which DMA engines they are. `is_independent`: of
    /// those of other iterations.
    static void find_lanes(const InstructionPlan& plan, bool is_independent, PlannedStep& planned);
    static Lanes lanes(std::int64_t row_bytes,
                       const Region& region,
                       std::int64_t rows,
                       std::int32_t partition);
    [[nodiscard]] MemoryHistory& memory_of(std::uint32_t buffer, std::int64_t instance);
    [[noreturn]] void not_allocated(const InstructionTemplate& instruction,
                                    const Operand& operand,
                                    std::int64_t instance) const;

    const program::Program& program_;
    std::optional<LoadPlan>& loads_;
    TileMemory& tiles_;
    std::vector<std::vector<std::unique_ptr<MemoryHistory>>>
        memories_;  ///< By buffer and instance, in HBM.
    /// SBUF and PSUM where the program fixes addresses, or they are settled in its order.
    std::array<MemoryHistory, 2> fixed_;
    /// Slots of planned loads, by buffer: each is a block of SBUF that nothing else has a byte of.
    std::vector<std::vector<MemoryHistory::Block>> planned_slots_;
    const std::vector<bool> is_written_;      ///< By buffer: HBM tensors the program writes.
    const std::vector<bool> is_independent_;  ///< By run: of those of its loop's other iterations.
};

}  // namespace trnsim::lowering
