// SPDX-License-Identifier: Apache-2.0
// What instructions do to the tiles of a plan of loads, and how long its loads take.
#pragma once

#include "trnsim/isa/engine.hpp"
#include "trnsim/lowering/instructions/instruction_plan.hpp"
#include "trnsim/lowering/instructions/issue_table.hpp"
#include "trnsim/lowering/loads/planned_tiles.hpp"
#include "trnsim/program/program.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace trnsim::lowering {

/// What an instruction does to tiles and other buffers. Times in picoseconds.
struct PlannedAccesses {
    struct Tile {
        std::uint32_t operand = 0;
        std::uint32_t buffer = 0;
    };
    std::vector<Tile> tiles{};           ///< Of planned sites;
    std::optional<PlannedLoad> load{};   ///< how long it takes, if the first one is written.
    std::vector<std::uint32_t> reads{};  ///< Buffers of the others.
    std::vector<std::uint32_t> writes{};
    std::optional<Engine> engine{};  ///< The first that can; none: a transfer.
    std::int64_t duration = 0;       ///< There; of a transfer to the first byte, and of the
                                     ///< wake-up after it.
    bool is_fence = false;
};

/// By buffer: whether it is a site in SBUF whose tiles nothing writes but loads (`dma_copy`) of
/// what HBM holds from the start on, and none that edges of the schedule order.
[[nodiscard]] std::vector<bool> loaded_sites(const program::Program& program);

/// By template. `is_planned`: by buffer.
[[nodiscard]] std::vector<PlannedAccesses> plan_accesses(const program::Program& program,
                                                         const std::vector<bool>& is_planned,
                                                         const std::vector<InstructionPlan>& plans,
                                                         const IssueTable& table,
                                                         const ChipSpec& chip);

}  // namespace trnsim::lowering
