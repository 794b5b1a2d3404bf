// SPDX-License-Identifier: Apache-2.0
// Steps become instructions, in the order in which they come.
#include "trnsim/lowering/instruction_emitter.hpp"

#include "trnsim/base/error.hpp"
#include "trnsim/lowering/tiles/psum_banks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace trnsim::lowering {

using neuron_core::InstructionSink;
using neuron_core::IssueTemplate;
using neuron_core::queue_of;
using neuron_core::queue_of_ring;
using neuron_core::QueueId;

namespace {

StationaryReuse::Tile tile_of(const ResolvedOperand& operand) {
    return operand.tile == nullptr ? StationaryReuse::Tile{}
                                   : StationaryReuse::Tile{.buffer = operand.tile->buffer,
                                                           .instance = operand.tile->instance};
}

/// The byte from which on an operand's region counts.
std::int64_t base_of(const ResolvedOperand& operand) {
    return operand.tile == nullptr ? 0 : operand.tile->slot->address;
}

/// How tiles of any site go to HBM, and come back: as all DMAs of which nobody says anything, but
/// begun by rings: who triggers spills is not known.
DmaTrigger plan_spill(const ChipSpec& chip, Policies policies) {
    policies.trigger_in_queues = false;
    InstructionTemplate copy;
    copy.op = Opcode::DmaCopy;
    copy.operands = {{.role = Role::Dst}};
    return plan_trigger(chip.neuron_core.dge, policies, copy, false);
}

/// The types that are transposed on the Tensor Engine, in the order of their first run.
std::vector<Dtype> transposed_types(const program::Program& program, const IssueTable& table) {
    std::vector<Dtype> types;
    for (const program::Run& run : program.runs) {
        const InstructionTemplate& instruction = program.templates[run.instruction];
        if (!transposes_on_array(instruction, table.engines(run.instruction).front())) {
            continue;
        }
        const Dtype type = instruction.at(Role::Data).dtype;
        if (std::ranges::find(types, type) == types.end()) {
            types.push_back(type);
        }
    }
    return types;
}

}  // namespace

InstructionEmitter::InstructionEmitter(const program::Program& program,
                                       const ChipSpec& chip,
                                       const Policies& policies,
                                       const std::vector<InstructionPlan>& plans,
                                       IssueTable& table,
                                       TimeEstimate& estimate)
    : program_(program),
      psum_(chip.neuron_core.psum),
      spill_(plan_spill(chip, policies)),
      identities_(policies.load_identity ? transposed_types(program, table) : std::vector<Dtype>{}),
      reuses_stationary_(policies.reuse_stationary),
      keeps_stationary_(policies.loads == LoadTiming::JustInTime),
      keeps_estimate_(policies.reorders()),
      plans_(plans),
      table_(table),
      estimate_(estimate),
      writer_(table),
      tile_shapes_(program.buffers.size()) {}

void InstructionEmitter::emit_to(InstructionSink& sink) {
    const bool is_first = sink_ == nullptr;
    sink_ = &sink;
    if (is_first) {
        load_identities();
        load_first_table();
    }
}

void InstructionEmitter::load_identities() {
    for (const Dtype type : identities_) {
        push_transfer(queue_of_ring(0), *table_.identity_load(type, spill_), {});
    }
}

void InstructionEmitter::load_first_table() {
    const auto first = std::ranges::find_if(program_.nodes, [this](const program::Node& node) {
        return node.kind == program::Node::Kind::Run &&
               !plans_[program_.runs[node.index].instruction].table.empty();
    });
    if (first != program_.nodes.end()) {
        load_table(program_.runs[first->index].instruction);
    }
}

void InstructionEmitter::load_table(std::uint32_t instruction) {
    const std::string_view table = plans_[instruction].table;
    if (!table.empty() && table != table_in_place_) {
        table_in_place_ = table;
        ++table_loads_;
        push(queue_of(Engine::Scalar), *table_.table_load(instruction), {});
    }
}

void InstructionEmitter::emit(const PlannedStep& step) {
    const InstructionPlan& plan = plans_[step.instruction];
    if (plan.is_transfer) {
        emit_transfer(step);
    } else if (step.engine == Engine::Tensor && plan.uses_array) {
        emit_matmul(step);
    } else {
        emit_compute(step);
    }
    if (observer_ != nullptr) {
        observer_->lowered(step);
    }
}

QueueId InstructionEmitter::end_iteration(std::uint32_t instruction) {
    constexpr QueueId kQueue = queue_of(Engine::Sync);
    ended_.waits.clear(known(kQueue));
    for (QueueId queue = 0; queue < neuron_core::kQueues; ++queue) {
        if (queue != kQueue) {
            ended_.waits.need_done(queue, last_number(queue));
        }
    }
    if (keeps_estimate_) {
        ended_.met = estimate_.met(kQueue, ended_.waits);
    }
    push(kQueue, *table_.loop_barrier(instruction), ended_);
    return kQueue;
}

void InstructionEmitter::emit_compute(const PlannedStep& step) {
    if (step.engine == Engine::Scalar) {
        load_table(step.instruction);
    }
    const std::uint64_t number = writer_.next_number(step.queue);
    const IssueTemplate& what = *table_.compute(step.instruction, step.engine, step.groups);
    push(step.queue, what, step.when->own, what.touches_psum ? psum_banks(step) : 0);
    record(step, number);
    if (step.engine == Engine::Scalar && plans_[step.instruction].is_accumulated) {
        read_accumulator(step);
    }
}

void InstructionEmitter::read_accumulator(const PlannedStep& step) {
    const std::uint64_t number = writer_.next_number(step.queue);
    const IssueTemplate& what = *table_.read_accumulator(step.instruction);
    readout_.met = step.when->own.met;
    push(step.queue, what, readout_, what.touches_psum ? psum_banks(step, true) : 0);
    record(step, number, true);
}

void InstructionEmitter::load_stationary(const PlannedStep& step) {
    loaded_.clear();
    for (const ResolvedOperand& operand : step.operands) {
        if (operand.is_loaded) {
            loaded_.add(tile_of(operand), operand.region, operand.operand->elements());
        }
    }
    if (loaded_.empty()) {
        return;
    }
    const IssueTemplate& load = *table_.load_stationary(step.instruction);
    if (reuses_stationary_ && stationary_.holds(load.pe_blocks, loaded_)) {
        ++counts_.stationary_reuses;
        return;
    }
    ++counts_.stationary_loads;
    const std::uint64_t number = writer_.next_number(step.queue);
    push(step.queue, load, step.when->load);
    if (!keeps_stationary_) {
        record_stationary(step, number);
    }
    stationary_.load(load.pe_blocks, loaded_);
}

void InstructionEmitter::record_stationary(const PlannedStep& step, std::uint64_t number) {
    for (const ResolvedOperand& operand : step.operands) {
        if (operand.is_loaded) {
            operand.record(step.queue, number);
        }
    }
}

void InstructionEmitter::emit_matmul(const PlannedStep& step) {
    load_stationary(step);
    const InstructionTemplate& from = program_.templates[step.instruction];
    for (const ResolvedOperand& operand : step.operands) {
        if (is_matmul(from.op) && operand.operand->role == Role::Dst) {
            check_bank(step, operand);
        }
    }
    const std::uint64_t number = writer_.next_number(step.queue);
    push(step.queue, *table_.multiply_moving(step.instruction), step.when->own, psum_banks(step));
    record(step, number);
    if (keeps_stationary_) {
        record_stationary(step, number);
    }
}

void InstructionEmitter::emit_transfer(const PlannedStep& step) {
    std::int32_t partition = 0;
    for (const ResolvedOperand& operand : step.operands) {
        if (operand.operand->space != Space::Hbm && operand.operand->role != Role::Index) {
            partition = operand.region.partition();
        }
    }
    const std::uint64_t number = writer_.next_number(step.queue);
    const DmaTrigger& trigger = plans_[step.instruction].trigger;
    push_transfer(
        step.queue, *table_.transfer(step.instruction, trigger, partition), step.when->own);
    record(step, number);
}

void InstructionEmitter::push_transfer(QueueId ring,
                                       const IssueTemplate& what,
                                       const PlannedStep::Condition& when) {
    if (what.trigger == Engine::Dma) {
        push(ring, what, when);
        return;
    }
    const QueueId queue = queue_of(what.trigger);
    const Picoseconds met = std::max(estimate_.free_at(queue), when.met);
    push(queue, *table_.trigger(what), when);
    writer_.push_triggered(*sink_, ring, what, queue);
    if (keeps_estimate_) {
        estimate_.push(ring, what, met);
    }
}

void InstructionEmitter::push(QueueId queue,
                              const IssueTemplate& what,
                              const PlannedStep::Condition& when,
                              std::uint64_t psum_banks) {
    writer_.push(*sink_, queue, what, when.waits, psum_banks);
    if (keeps_estimate_) {
        estimate_.push(queue, what, when.met);
    }
}

void InstructionEmitter::record(const PlannedStep& step, std::uint64_t number, bool of_readout) {
    const bool loads_copy = plans_[step.instruction].loads_copy;
    for (const ResolvedOperand& operand : step.operands) {
        if (!operand.is_streamed || operand.is_accumulated != of_readout) {
            continue;
        }
        operand.record(step.queue, number, loads_copy);
        if (operand.operand->space == Space::Sbuf && operand.operand->writes()) {
            stationary_.written(tile_of(operand), operand.region);
        }
    }
}

std::uint64_t InstructionEmitter::psum_banks(const PlannedStep& step, bool of_readout) const {
    std::uint64_t banks = 0;
    for (const ResolvedOperand& operand : step.operands) {
        if (operand.operand->space == Space::Psum && operand.is_accumulated == of_readout) {
            const std::int64_t base = base_of(operand);
            banks |= banks_of(psum_, base + operand.region.begin(), base + operand.region.end());
        }
    }
    return banks;
}

void InstructionEmitter::check_bank(const PlannedStep& step, const ResolvedOperand& dst) const {
    const std::int64_t base = base_of(dst);
    if (!takes_matmul(psum_, base + dst.region.begin(), base + dst.region.end())) {
        const InstructionTemplate& from = program_.templates[step.instruction];
        throw ProgramError(
            fmt::format("{}: {}: dst covers bytes {} to {} of PSUM, across banks of {} "
                        "bytes; keep the "
                        "result of one matmul inside a bank",
                        program_.source_text(from),
                        name(from.op),
                        base + dst.region.begin(),
                        base + dst.region.end() - 1,
                        psum_.bank_bytes));
    }
}

void InstructionEmitter::move(Tile& tile, const RegionAccess& access, bool is_save) {
    ++(is_save ? counts_.spill_saves : counts_.spill_reloads);
    moved_.waits.clear();
    tile.slot->history.collect(access, moved_.waits);
    if (!is_save) {
        moved_.waits.need_done(tile.save.queue, tile.save.number);
    }
    if (keeps_estimate_) {
        moved_.met = estimate_.met(access.queue, moved_.waits);
    }
    push_transfer(access.queue, *table_.spill(tile.buffer, is_save, spill_), moved_);
    tile.slot->history.record(access);
    if (observer_ != nullptr) {
        observer_->moved(tile, is_save);
    }
}

void InstructionEmitter::save(Tile& tile) {
    tile.save = spill_access(tile, Access::Read);
    move(tile, tile.save, true);
}

void InstructionEmitter::reload(Tile& tile) {
    move(tile, spill_access(tile, Access::Write), false);
}

RegionAccess InstructionEmitter::spill_access(const Tile& tile, Access access) {
    const QueueId ring = queue_of_ring(0);
    std::unique_ptr<RegionShape>& shape = tile_shapes_[tile.buffer];
    if (shape == nullptr) {
        shape = std::make_unique<RegionShape>(whole_buffer(program_, tile.buffer));
    }
    return {.region = Region(*shape),
            .access = access,
            .queue = ring,
            .number = writer_.next_number(ring)};
}

}  // namespace trnsim::lowering
