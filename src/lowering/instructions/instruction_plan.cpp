// SPDX-License-Identifier: Apache-2.0
// Templates looked at once.
#include "trnsim/lowering/instructions/instruction_plan.hpp"

#include "trnsim/lowering/instructions/stationary.hpp"
#include "trnsim/neuron_core/instruction_timing.hpp"
#include "trnsim/neuron_core/scalar_engine_timing.hpp"

#include <algorithm>
#include <utility>

namespace trnsim::lowering {

namespace {

bool is_fence(const InstructionTemplate& instruction) {
    switch (instruction.op) {
        case Opcode::RegisterMove:
        case Opcode::RegisterLoad:
        case Opcode::RegisterStore:
        case Opcode::CoreBarrier:
        case Opcode::Sendrecv:
            return true;
        default:
            return instruction.operands.empty();
    }
}

/// OperandPlan::row_bytes.
std::int64_t row_bytes(const InstructionTemplate& instruction, const Operand& operand) {
    std::int64_t rows = 0;
    for (const Operand& other : instruction.operands) {
        if (other.space != Space::Hbm && other.role != Role::Index) {
            rows = std::max<std::int64_t>(rows, other.partitions);
        }
    }
    const auto dims = operand.pattern.dims();
    const bool has_rows = operand.space == Space::Hbm && !operand.indirect && !dims.empty() &&
                          instruction.op != Opcode::DmaTranspose && rows > 0 &&
                          dims.front().count % rows == 0 && dims.front().stride > 0;
    if (!has_rows) {
        return 0;
    }
    return rows == 1 ? OperandPlan::kOneRow
                     : dims.front().count / rows * dims.front().stride * size_bytes(operand.dtype);
}

bool loads_copy(const InstructionTemplate& instruction, const std::vector<bool>& is_written) {
    return instruction.op == Opcode::DmaCopy &&
           std::ranges::all_of(instruction.operands, [&](const Operand& operand) {
               return operand.writes() ||
                      (operand.space == Space::Hbm && !is_written[operand.buffer]);
           });
}

}  // namespace

std::vector<InstructionPlan> plan_instructions(const program::Program& program,
                                               const ChipSpec& chip,
                                               const IssueTable& table,
                                               const RingPlan& rings,
                                               const Policies& policies) {
    const std::vector<bool> is_written = written_buffers(program);
    const std::vector<bool> is_scratch = scratch_buffers(program);
    std::vector<InstructionPlan> plans;
    plans.reserve(program.templates.size());
    for (std::uint32_t index = 0; index < program.templates.size(); ++index) {
        const InstructionTemplate& instruction = program.templates[index];
        InstructionPlan plan;
        plan.uses_array = uses_array(instruction.op);
        plan.is_accumulated = neuron_core::is_accumulated(instruction);
        for (const Operand& operand : instruction.operands) {
            plan.operands.push_back(
                {.shape = RegionShape(operand.indirect ? whole_buffer(program, operand.buffer)
                                                       : operand),
                 .is_loaded = plan.uses_array && is_loaded(instruction, operand),
                 .is_streamed = !plan.uses_array || is_streamed(instruction, operand),
                 .row_bytes = is_dma(instruction.op) ? row_bytes(instruction, operand) : 0});
        }
        for (const Engine engine : table.engines(index)) {
            plan.costs.push_back(is_dma(instruction.op)
                                     ? Picoseconds{}
                                     : neuron_core::occupancy(chip, engine, instruction));
        }
        plan.table = neuron_core::activation_table(instruction.attributes.function);
        plan.ring = rings.ring[index];
        plan.is_control =
            instruction.op == Opcode::RegisterLoad || instruction.op == Opcode::RegisterMove;
        plan.is_barrier = instruction.op == Opcode::CoreBarrier;
        plan.is_fence = is_fence(instruction);
        plan.is_transfer = is_dma(instruction.op);
        if (plan.is_transfer) {
            plan.trigger = plan_trigger(
                chip.neuron_core.dge, policies, instruction, touches(instruction, is_scratch));
        }
        plan.loads_copy = loads_copy(instruction, is_written);
        plans.push_back(std::move(plan));
    }
    return plans;
}

std::vector<bool> written_buffers(const program::Program& program) {
    std::vector<bool> written(program.buffers.size());
    for (const InstructionTemplate& instruction : program.templates) {
        for (const Operand& operand : instruction.operands) {
            if (operand.writes()) {
                written[operand.buffer] = true;
            }
        }
    }
    return written;
}

std::vector<bool> scratch_buffers(const program::Program& program) {
    std::vector<bool> scratch = written_buffers(program);
    std::vector<bool> is_read(program.buffers.size());
    for (const InstructionTemplate& instruction : program.templates) {
        for (const Operand& operand : instruction.operands) {
            is_read[operand.buffer] = is_read[operand.buffer] || operand.reads();
        }
    }
    for (std::size_t buffer = 0; buffer < scratch.size(); ++buffer) {
        scratch[buffer] = scratch[buffer] && is_read[buffer] &&
                          program.buffers[buffer].space == Space::Hbm &&
                          program.buffers[buffer].kind != program::BufferKind::Input;
    }
    return scratch;
}

Operand whole_buffer(const program::Program& program, std::uint32_t buffer) {
    const program::Buffer& site = program.buffers[buffer];
    return {.role = Role::Data,
            .access = Access::Read,
            .space = site.space,
            .dtype = site.dtype,
            .buffer = buffer,
            .partitions = static_cast<std::int32_t>(site.partitions()),
            .pattern = {{1, site.free_elements()}},
            .indirect = {}};
}

bool touches(const InstructionTemplate& instruction, const std::vector<bool>& buffers) {
    return std::ranges::any_of(instruction.operands,
                               [&](const Operand& operand) { return buffers[operand.buffer]; });
}

}  // namespace trnsim::lowering
