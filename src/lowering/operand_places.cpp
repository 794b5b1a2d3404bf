// SPDX-License-Identifier: Apache-2.0
// From an operand of a step to its bytes.
#include "trnsim/lowering/operand_places.hpp"

#include "trnsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace trnsim::lowering {

using program::Step;

namespace {

/// By run: whether the program says of the innermost loop around it that its iterations are
/// independent (nl.affine_range).
std::vector<bool> independent_runs(const program::Program& program) {
    std::vector<bool> independent(program.runs.size());
    std::vector<bool> around{false};  ///< By open loop.
    for (const program::Node& node : program.nodes) {
        if (node.kind == program::Node::Kind::Run) {
            independent[node.index] = around.back();
        } else if (node.kind == program::Node::Kind::Loop) {
            around.push_back(program.loops[node.index].kind == program::LoopKind::Affine);
        } else if (node.kind == program::Node::Kind::End) {
            around.pop_back();
        }
    }
    return independent;
}

}  // namespace

OperandPlaces::OperandPlaces(const program::Program& program,
                             const ChipSpec& chip,
                             std::optional<LoadPlan>& loads,
                             TileMemory& tiles)
    : program_(program),
      loads_(loads),
      tiles_(tiles),
      memories_(program.buffers.size()),
      fixed_{MemoryHistory{chip.neuron_core.psum.bank_bytes},
             MemoryHistory{chip.neuron_core.psum.bank_bytes}},
      planned_slots_(program.buffers.size()),
      is_written_(written_buffers(program)),
      is_independent_(independent_runs(program)) {
    for (std::size_t buffer = 0; buffer < planned_slots_.size(); ++buffer) {
        const SitePlacement& site = tiles.allocation().sites[buffer];
        if (site.is_planned) {
            planned_slots_[buffer] =
                std::vector<MemoryHistory::Block>(static_cast<std::size_t>(site.slots));
        }
    }
}

void OperandPlaces::resolve(const Step& step, const InstructionPlan& plan, PlannedStep& planned) {
    const InstructionTemplate& instruction = program_.templates[planned.instruction];
    const bool is_on_array = planned.engine == Engine::Tensor;
    planned.operands.reserve(instruction.operands.size());
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
        const Operand& operand = instruction.operands[i];
        const OperandPlan& operand_plan = plan.operands[i];
        const Step::At& at = step.at[i];
        ResolvedOperand& resolved = planned.operands.emplace_back();
        resolved.operand = &operand;
        resolved.is_loaded = is_on_array && operand_plan.is_loaded;
        planned.has_load = planned.has_load || resolved.is_loaded;
        resolved.is_streamed = !is_on_array || operand_plan.is_streamed;
        resolved.is_accumulated =
            planned.engine == Engine::Scalar && operand.role == Role::ReduceResult;
        place(instruction, at, operand_plan.shape, resolved);
    }
    if (plan.is_transfer) {
        find_lanes(plan, is_independent_[step.run], planned);
    }
}

void OperandPlaces::find_lanes(const InstructionPlan& plan,
                               bool is_independent,
                               PlannedStep& planned) {
    const auto matters = [](const ResolvedOperand& resolved) {
        return resolved.memory != nullptr && resolved.operand->space == Space::Hbm;
    };
    if (std::ranges::none_of(planned.operands, matters)) {
        return;
    }
    std::int32_t partition = 0;
    std::int64_t rows = 1;
    for (const ResolvedOperand& resolved : planned.operands) {
        if (resolved.operand->space != Space::Hbm && resolved.operand->role != Role::Index) {
            partition = resolved.region.partition();
            rows = std::max<std::int64_t>(rows, resolved.operand->partitions);
        }
    }
    for (std::size_t i = 0; i < planned.operands.size(); ++i) {
        ResolvedOperand& resolved = planned.operands[i];
        if (matters(resolved)) {
            const bool is_apart = is_independent && resolved.operand->writes();
            resolved.lanes =
                resolved.operand->indirect
                    ? Lanes{.partition = is_apart ? Lanes::kApart : Lanes::kNowhere}
                    : lanes(plan.operands[i].row_bytes, resolved.region, rows, partition);
        }
    }
}

Lanes OperandPlaces::lanes(std::int64_t row_bytes,
                           const Region& region,
                           std::int64_t rows,
                           std::int32_t partition) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const std::int64_t stride = row_bytes == OperandPlan::kOneRow ? kMost : row_bytes;
    if (stride <= 0 || stride > kMost || region.begin() / stride > kMost) {
        return {.partition = partition};
    }
    // A row may not reach over what is a row of those that begin with byte 0.
    const std::int64_t width = region.end() - region.begin() - (rows - 1) * stride;
    if (region.begin() % stride + width > stride) {
        return {.partition = partition};
    }
    return {.row_bytes = static_cast<std::int32_t>(stride),
            .partition = partition - static_cast<std::int32_t>(region.begin() / stride)};
}

void OperandPlaces::place(const InstructionTemplate& instruction,
                          const Step::At& at,
                          const RegionShape& shape,
                          ResolvedOperand& resolved) {
    const Operand& operand = *resolved.operand;
    // Where indices say the place, it may be anywhere.
    auto partition = static_cast<std::int32_t>(operand.indirect ? 0 : at.partition);
    std::int64_t base = operand.indirect ? 0 : at.offset * shape.element_bytes;
    const program::Buffer& buffer = program_.buffers[operand.buffer];
    if (buffer.address) {
        partition += buffer.address->first;
        base += buffer.address->second;
        resolved.memory = &fixed_[operand.space == Space::Psum ? 1 : 0];
    } else if (loads_ && loads_->has(operand.buffer)) {
        const std::int64_t slot = planned_slot(instruction, operand, at.instance);
        const SitePlacement& site = tiles_.allocation().sites[operand.buffer];
        base += site.address + slot * site.slot_bytes;
        resolved.memory = &fixed_.front();
        resolved.block = &planned_slots_[operand.buffer][static_cast<std::size_t>(slot)];
    } else if (operand.space != Space::Hbm && tiles_.is_in_turn(operand.buffer)) {
        base += take_turn(instruction, operand, at.instance);
        resolved.memory = &fixed_[1];
    } else if (operand.space != Space::Hbm) {
        resolved.tile = &find_tile(instruction, operand, at.instance);
    } else if (is_written_[operand.buffer]) {
        resolved.memory = &memory_of(operand.buffer, at.instance);
    }
    resolved.region = Region(shape, partition, base);
    if (resolved.memory != nullptr && resolved.block == nullptr) {
        resolved.block = resolved.memory->block_of(resolved.region);
    }
}

Tile& OperandPlaces::find_tile(const InstructionTemplate& instruction,
                               const Operand& operand,
                               std::int64_t instance) {
    Tile* tile = tiles_.find(operand.buffer, instance);
    if (tile == nullptr) {
        not_allocated(instruction, operand, instance);
    }
    return *tile;
}

std::int64_t OperandPlaces::take_turn(const InstructionTemplate& instruction,
                                      const Operand& operand,
                                      std::int64_t instance) {
    const std::optional<std::int64_t> address = tiles_.take_turn(operand.buffer, instance);
    if (!address) {
        not_allocated(instruction, operand, instance);
    }
    return *address;
}

std::int64_t OperandPlaces::planned_slot(const InstructionTemplate& instruction,
                                         const Operand& operand,
                                         std::int64_t instance) {
    const std::optional<std::int64_t> slot = loads_->slot(operand.buffer, instance);
    if (!slot) {
        not_allocated(instruction, operand, instance);
    }
    return *slot;
}

MemoryHistory& OperandPlaces::memory_of(std::uint32_t buffer, std::int64_t instance) {
    auto& instances = memories_[buffer];
    const auto place = static_cast<std::size_t>(instance);
    if (place >= instances.size()) {
        instances.resize(place + 1);
    }
    if (instances[place] == nullptr) {
        instances[place] = std::make_unique<MemoryHistory>();
    }
    return *instances[place];
}

void OperandPlaces::not_allocated(const InstructionTemplate& instruction,
                                  const Operand& operand,
                                  std::int64_t instance) const {
    throw ProgramError(
        fmt::format("{}: {}: {} is instance {} of {}, which is not allocated yet; move its "
                    "\"alloc\" record before this one",
                    program_.source_text(instruction),
                    name(instruction.op),
                    name(operand.role),
                    instance,
                    program_.buffers[operand.buffer].name));
}

}  // namespace trnsim::lowering
