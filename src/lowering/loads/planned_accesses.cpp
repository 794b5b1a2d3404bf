// SPDX-License-Identifier: Apache-2.0
// What instructions do to planned tiles, and how long loads of them take.
#include "trnsim/lowering/loads/planned_accesses.hpp"

#include "trnsim/dma/dma_timing.hpp"

#include <algorithm>

namespace trnsim::lowering {

using program::Program;

namespace {

bool is_load(const InstructionTemplate& instruction, const std::vector<bool>& is_written) {
    const bool moves = instruction.op == Opcode::DmaCopy || instruction.op == Opcode::DmaTranspose;
    return moves && std::ranges::all_of(instruction.operands, [&](const Operand& operand) {
               const bool is_source = operand.access == Access::Read &&
                                      operand.space == Space::Hbm && !is_written[operand.buffer];
               const bool is_tile = operand.access == Access::Write && operand.space == Space::Sbuf;
               return !operand.indirect && (is_source || is_tile);
           });
}

/// From the trigger to the first byte, and the wake-up of who waits for it.
std::int64_t latency_of(const InstructionPlan& plan, const NeuronCoreSpec& core) {
    return (dma::dge_mode(core.dge, plan.trigger.dge).first_byte_ns +
            core.semaphore_file.wakeup_tensor_ns)
        .value;
}

PlannedAccesses accesses_of(const InstructionTemplate& instruction,
                            const std::vector<bool>& is_planned,
                            const InstructionPlan& plan,
                            const ChipSpec& chip) {
    PlannedAccesses accesses{.is_fence = plan.is_fence};
    bool is_load = false;
    for (std::uint32_t i = 0; i < instruction.operands.size(); ++i) {
        const Operand& operand = instruction.operands[i];
        if (is_planned[operand.buffer]) {
            accesses.tiles.push_back({.operand = i, .buffer = operand.buffer});
            is_load = is_load || operand.writes();
            continue;
        }
        if (operand.reads()) {
            accesses.reads.push_back(operand.buffer);
        }
        if (operand.writes()) {
            accesses.writes.push_back(operand.buffer);
        }
    }
    if (is_load) {
        const DgeModeSpec& mode = dma::dge_mode(chip.neuron_core.dge, plan.trigger.dge);
        const dma::DmaTransferCost cost = dma::transfer_cost(chip.dma, chip.hbm, mode, instruction);
        accesses.load = PlannedLoad{.latency = latency_of(plan, chip.neuron_core),
                                    .transfer = cost.service.value};
    }
    return accesses;
}

}  // namespace

std::vector<bool> loaded_sites(const Program& program) {
    const std::vector<bool> is_written = written_buffers(program);
    std::vector<bool> loaded = is_written;
    for (std::size_t site = 0; site < loaded.size(); ++site) {
        const program::Buffer& buffer = program.buffers[site];
        loaded[site] = loaded[site] && buffer.space == Space::Sbuf && !buffer.address;
    }
    for (const InstructionTemplate& instruction : program.templates) {
        for (const Operand& operand : instruction.operands) {
            if (operand.indirect || (operand.writes() && !is_load(instruction, is_written))) {
                loaded[operand.buffer] = false;
            }
        }
    }
    for (const program::Run& run : program.runs) {  // Loads that the program orders stay.
        if (run.has_edges()) {
            for (const Operand& operand : program.templates[run.instruction].operands) {
                loaded[operand.buffer] = loaded[operand.buffer] && !operand.writes();
            }
        }
    }
    return loaded;
}

std::vector<PlannedAccesses> plan_accesses(const Program& program,
                                           const std::vector<bool>& is_planned,
                                           const std::vector<InstructionPlan>& plans,
                                           const IssueTable& table,
                                           const ChipSpec& chip) {
    std::vector<PlannedAccesses> accesses;
    accesses.reserve(program.templates.size());
    for (std::uint32_t index = 0; index < program.templates.size(); ++index) {
        PlannedAccesses& one = accesses.emplace_back(
            accesses_of(program.templates[index], is_planned, plans[index], chip));
        if (plans[index].is_transfer) {
            one.duration = latency_of(plans[index], chip.neuron_core);
        } else {
            one.engine = table.engines(index).front();
            one.duration = plans[index].costs.front().value;
        }
    }
    return accesses;
}

}  // namespace trnsim::lowering
