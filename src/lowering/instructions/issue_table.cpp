// SPDX-License-Identifier: Apache-2.0
// Costed templates.
#include "trnsim/lowering/instructions/issue_table.hpp"

#include "trnsim/dma/collective_timing.hpp"
#include "trnsim/lowering/dependencies/meeting.hpp"
#include "trnsim/lowering/instructions/stationary.hpp"
#include "trnsim/neuron_core/instruction_timing.hpp"
#include "trnsim/neuron_core/scalar_engine_timing.hpp"
#include "trnsim/neuron_core/sync_engine_timing.hpp"
#include "trnsim/neuron_core/tensor_engine_timing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace trnsim::lowering {
namespace {

using neuron_core::IssueTemplate;
using neuron_core::Operation;

constexpr std::uint32_t kNoSource = ~std::uint32_t{0};

Operation operation_of(const InstructionTemplate& instruction, Engine engine) {
    switch (instruction.op) {
        case Opcode::NcTranspose:
            return engine == Engine::Vector ? Operation::StreamTranspose : Operation::DataPath;
        case Opcode::NcStreamShuffle:
            return Operation::StreamShuffle;
        case Opcode::RegisterMove:
        case Opcode::RegisterLoad:
        case Opcode::RegisterStore:
        case Opcode::CoreBarrier:
            return Operation::Control;
        default:
            return Operation::DataPath;
    }
}

bool reaches(const InstructionTemplate& instruction, Space space) {
    return std::ranges::any_of(instruction.operands,
                               [&](const Operand& operand) { return operand.space == space; });
}

/// A number for a shuffle mask, never 0: the polynomial of its entries.
std::uint32_t mask_key(const std::vector<std::int32_t>& mask) {
    std::uint32_t key = 1;
    for (const std::int32_t entry : mask) {
        key = key * 257U + static_cast<std::uint32_t>(entry) + 1U;
    }
    return key == 0 ? 1 : key;
}

/// What it is to the instruction; of indices also who goes by them: there may be several.
std::string role_text(const InstructionTemplate& instruction, const Operand& operand) {
    std::string text(name(operand.role));
    const char* between = " of ";
    for (const Operand& each : instruction.operands) {
        if (instruction.indices_of(each) == &operand) {
            text += fmt::format("{}{}", std::exchange(between, " and "), name(each.role));
        }
    }
    return text;
}

std::string operand_text(const InstructionTemplate& instruction, const Operand& operand) {
    std::vector<std::int64_t> counts;
    for (const PatternDim& dim : operand.pattern.dims()) {
        counts.push_back(dim.count);
    }
    const std::string partitions =
        operand.space == Space::Hbm ? std::string{} : fmt::format("{}p ", operand.partitions);
    return fmt::format("{} {} {} {}[{}]",
                       role_text(instruction, operand),
                       name(operand.dtype),
                       name(operand.space),
                       partitions,
                       fmt::join(counts, "x"));
}

/// The DMA between a tile and as many rows of HBM, row by row: from there if the tile is its dst.
InstructionTemplate transfer_of(const Operand& tile) {
    const bool is_load = tile.role == Role::Dst;
    Operand memory = tile;
    memory.role = is_load ? Role::Src : Role::Dst;
    memory.access = is_load ? Access::Read : Access::Write;
    memory.space = Space::Hbm;
    memory.partitions = 1;
    memory.pattern = {{tile.elements(), tile.partitions}, {1, tile.elements()}};
    InstructionTemplate instruction;
    instruction.op = Opcode::DmaCopy;
    instruction.engines = {Engine::Dma};
    instruction.operands = is_load ? std::vector{tile, memory} : std::vector{memory, tile};
    return instruction;
}

int way_of(const DmaTrigger& trigger) {
    constexpr int kModes = 8;
    return static_cast<int>(trigger.engine) * kModes + static_cast<int>(trigger.dge);
}

}  // namespace

bool accesses(const IssueTemplate& what, const InstructionTemplate& from, const Operand& operand) {
    switch (what.operation) {
        case Operation::LoadStationary:
            return is_loaded(from, operand);
        case Operation::MultiplyMoving:
            return is_streamed(from, operand);
        case Operation::ReadAccumulator:
            return operand.role == Role::ReduceResult;
        default:
            return what.engine != Engine::Scalar || operand.role != Role::ReduceResult;
    }
}

IssueTable::IssueTable(const program::Program& program, const ChipSpec& chip)
    : program_(program), chip_(chip) {
    for (const InstructionTemplate& instruction : program.templates) {
        const std::string where =
            fmt::format("{}: {}", program.source_text(instruction), name(instruction.op));
        neuron_core::check_limits(chip, instruction, where);
        std::vector<Engine> runnable;
        std::ranges::copy_if(instruction.engines, std::back_inserter(runnable), [&](Engine engine) {
            return engine == Engine::Dma || neuron_core::can_run(chip, engine, instruction);
        });
        engines_.push_back(std::move(runnable));
    }
}

IssueTemplate& IssueTable::add(const Key& key,
                               Operation operation,
                               Engine engine,
                               std::uint32_t source) {
    IssueTemplate& what = templates_.emplace_back();
    what.operation = operation;
    what.engine = engine;
    what.index = static_cast<std::uint32_t>(templates_.size() - 1);
    what.source = source;
    auto& of_kind = index_[static_cast<std::size_t>(key.kind)];
    if (of_kind.size() <= key.number) {
        of_kind.resize(key.number + std::size_t{1});
    }
    Several& of_number = of_kind[key.number];
    const Known known{.key = key, .what = &what};
    if (of_number.first.what == nullptr) {
        of_number.first = known;
    } else {
        of_number.others.push_back(known);
    }
    return what;
}

const IssueTemplate* IssueTable::find(const Key& key) const {
    const auto& of_kind = index_[static_cast<std::size_t>(key.kind)];
    if (key.number >= of_kind.size()) {
        return nullptr;
    }
    const auto is_it = [&key](const Known& known) {
        return known.key.way == key.way && known.key.place == key.place;
    };
    const auto& [first, others] = of_kind[key.number];
    if (is_it(first)) {
        return first.what;
    }
    const auto found = std::ranges::find_if(others, is_it);
    return found != others.end() ? found->what : nullptr;
}

std::int32_t IssueTable::groups(std::uint32_t instruction,
                                Engine engine,
                                std::span<const program::Step::At> at) const {
    constexpr std::int64_t kGroup = 32;
    constexpr std::int64_t kGroups = 4;
    if (operation_of(program_.templates[instruction], engine) != Operation::StreamTranspose) {
        return 0;
    }
    std::int64_t pair = 0;
    for (const program::Step::At& operand : at) {
        pair = pair * kGroups + operand.partition / kGroup;
    }
    return static_cast<std::int32_t>(pair + 1);
}

const IssueTemplate* IssueTable::compute(std::uint32_t instruction,
                                         Engine engine,
                                         std::int32_t groups) {
    const Key key{Kind::Compute, instruction, static_cast<int>(engine), groups};
    if (const IssueTemplate* known = find(key)) {
        return known;
    }
    const InstructionTemplate& from = program_.templates[instruction];
    IssueTemplate& what = add(key, operation_of(from, engine), engine, instruction);
    what.name = name(from.op);
    what.cost = neuron_core::cost(chip_, engine, from);
    meet(what, from);
    what.touches_sbuf = reaches(from, Space::Sbuf);
    what.touches_psum = reaches(from, Space::Psum);
    what.is_transpose = from.op == Opcode::NcTranspose;
    if (what.operation == Operation::StreamShuffle) {
        what.state_key = mask_key(from.attributes.mask);
    } else if (what.operation == Operation::StreamTranspose) {
        what.state_key = static_cast<std::uint32_t>(groups);
    }
    return &what;
}

const IssueTemplate* IssueTable::read_accumulator(std::uint32_t instruction) {
    const Key key{Kind::Readout, instruction, 0, 0};
    if (const IssueTemplate* known = find(key)) {
        return known;
    }
    const Space result = program_.templates[instruction].at(Role::ReduceResult).space;
    IssueTemplate& what = add(key, Operation::ReadAccumulator, Engine::Scalar, instruction);
    what.name = "ACTIVATION_READ_ACCUMULATOR";
    what.cost = neuron_core::read_accumulator_cost(chip_.neuron_core.scalar_engine);
    what.touches_sbuf = result == Space::Sbuf;
    what.touches_psum = result == Space::Psum;
    return &what;
}

const IssueTemplate* IssueTable::load_stationary(std::uint32_t instruction) {
    const Key key{Kind::Load, instruction, 0, 0};
    if (const IssueTemplate* known = find(key)) {
        return known;
    }
    const InstructionTemplate& from = program_.templates[instruction];
    IssueTemplate& what = add(key, Operation::LoadStationary, Engine::Tensor, instruction);
    what.name = "LoadStationary";
    what.touches_sbuf = true;
    what.tensor_interval =
        neuron_core::load_stationary_interval(chip_.neuron_core.tensor_engine, from);
    what.passes = neuron_core::passes(chip_.neuron_core.tensor_engine, from);
    what.pe_blocks = neuron_core::pe_blocks(chip_.neuron_core.tensor_engine, from);
    return &what;
}

const IssueTemplate* IssueTable::multiply_moving(std::uint32_t instruction) {
    const Key key{Kind::Multiply, instruction, 0, 0};
    if (const IssueTemplate* known = find(key)) {
        return known;
    }
    const InstructionTemplate& from = program_.templates[instruction];
    const TensorEngineSpec& spec = chip_.neuron_core.tensor_engine;
    IssueTemplate& what = add(key, Operation::MultiplyMoving, Engine::Tensor, instruction);
    what.name = name(from.op);
    what.tensor_interval = neuron_core::multiply_moving_interval(spec, from);
    what.passes = neuron_core::passes(spec, from);
    what.issue_interval = neuron_core::multiply_issue_interval(spec, from);
    what.pe_blocks = neuron_core::pe_blocks(spec, from);
    what.busy_columns = neuron_core::multiply_moving_busy_columns(spec, from);
    what.row_share = neuron_core::row_share(spec, from);
    what.macs = neuron_core::macs(from);
    what.peak_weight = neuron_core::flops_weight(spec, from);
    what.is_transpose = neuron_core::is_transpose(from);
    what.touches_sbuf = true;
    what.touches_psum = true;
    return &what;
}

void IssueTable::fill_transfer(IssueTemplate& what,
                               const InstructionTemplate& instruction,
                               const DmaTrigger& trigger,
                               std::int32_t partition) const {
    const DgeSpec& spec = chip_.neuron_core.dge;
    what.dge = trigger.dge;
    what.trigger = trigger.engine;
    what.transfer = dma::transfer_cost(
        chip_.dma, chip_.hbm, dma::dge_mode(spec, what.dge), instruction, partition);
    what.dge_cost = dma::dge_cost(spec, what.dge, what.transfer.descriptors);
    if (is_exchange(instruction.op)) {
        dma::add_exchange_latency(
            chip_, instruction, program_.header.cores, what.transfer, what.dge_cost);
    }
}

void IssueTable::meet(IssueTemplate& what, const InstructionTemplate& from) const {
    const MeetingPlan plan = plan_meeting(from, program_.header.cores);
    what.meeting_cores = plan.cores;
    what.meeting_channel = plan.channel;
}

const IssueTemplate* IssueTable::transfer(std::uint32_t instruction,
                                          const DmaTrigger& trigger,
                                          std::int32_t partition) {
    const Key key{Kind::Transfer, instruction, way_of(trigger), partition};
    if (const IssueTemplate* known = find(key)) {
        return known;
    }
    const InstructionTemplate& from = program_.templates[instruction];
    IssueTemplate& what = add(key, Operation::Transfer, Engine::Dma, instruction);
    what.name = name(from.op);
    fill_transfer(what, from, trigger, partition);
    meet(what, from);
    return &what;
}

const IssueTemplate* IssueTable::table_load(std::uint32_t instruction) {
    const Key key{Kind::TableLoad, instruction, 0, 0};
    if (const IssueTemplate* known = find(key)) {
        return known;
    }
    const Picoseconds time = chip_.neuron_core.scalar_engine.table_load_ns;
    IssueTemplate& what = add(key, Operation::ActivationTableLoad, Engine::Scalar, instruction);
    what.name = "ACT_TABLE_LOAD";
    what.cost = {.interval = time, .read = time, .done = time};
    return &what;
}

const IssueTemplate* IssueTable::loop_barrier(std::uint32_t instruction) {
    const Key key{Kind::LoopBarrier, instruction, 0, 0};
    if (const IssueTemplate* known = find(key)) {
        return known;
    }
    IssueTemplate& what = add(key, Operation::Control, Engine::Sync, instruction);
    what.name = "LOOP_BARRIER";
    what.cost = neuron_core::loop_barrier_cost(chip_.neuron_core.sync_engine);
    return &what;
}

const IssueTemplate* IssueTable::wait_only(const IssueTemplate& before) {
    const Key key{Kind::Wait, before.index, 0, 0};
    if (const IssueTemplate* known = find(key)) {
        return known;
    }
    IssueTemplate& what = add(key, Operation::Control, before.engine, before.source);
    what.name = "EVENT_SEMAPHORE";
    if (const auto spilled = spill_buffers_.find(before.index); spilled != spill_buffers_.end()) {
        spill_buffers_.emplace(what.index, spilled->second);
    }
    return &what;
}

const IssueTemplate* IssueTable::trigger(const IssueTemplate& transfer) {
    const Key key{Kind::Trigger, transfer.index, 0, 0};
    if (const IssueTemplate* known = find(key)) {
        return known;
    }
    const Picoseconds held = dma::trigger_interval(transfer.dge, transfer.dge_cost);
    IssueTemplate& what = add(key, Operation::Trigger, transfer.trigger, transfer.source);
    what.name = "DMA_DIRECT2D";
    what.dge = transfer.dge;
    what.cost = {.interval = held, .read = Picoseconds{}, .done = held};
    if (const auto spilled = spill_buffers_.find(transfer.index); spilled != spill_buffers_.end()) {
        spill_buffers_.emplace(what.index, spilled->second);
    }
    return &what;
}

InstructionTemplate IssueTable::spill_instruction(std::uint32_t buffer, bool is_save) const {
    const program::Buffer& site = program_.buffers[buffer];
    InstructionTemplate instruction =
        transfer_of({.role = is_save ? Role::Src : Role::Dst,
                     .access = is_save ? Access::Read : Access::Write,
                     .space = site.space,
                     .dtype = site.dtype,
                     .buffer = buffer,
                     .partitions = static_cast<std::int32_t>(site.partitions()),
                     .pattern = {{1, site.free_elements()}}});
    instruction.source = site.source;
    return instruction;
}

const IssueTemplate* IssueTable::spill(std::uint32_t buffer,
                                       bool is_save,
                                       const DmaTrigger& trigger) {
    const Key key{is_save ? Kind::Save : Kind::Reload, buffer, 0, 0};
    if (const IssueTemplate* known = find(key)) {
        return known;
    }
    IssueTemplate& what = add(key, Operation::Transfer, Engine::Dma, kNoSource);
    what.name = is_save ? "spill save" : "spill reload";
    what.is_spill_save = is_save;
    what.is_spill_reload = !is_save;
    spill_buffers_.emplace(what.index, buffer);
    fill_transfer(what, spill_instruction(buffer, is_save), trigger, 0);
    return &what;
}

const IssueTemplate* IssueTable::identity_load(Dtype dtype, const DmaTrigger& trigger) {
    const Key key{Kind::Identity, static_cast<std::uint32_t>(dtype), 0, 0};
    if (const IssueTemplate* known = find(key)) {
        return known;
    }
    const TensorEngineSpec& array = chip_.neuron_core.tensor_engine;
    const InstructionTemplate instruction =
        transfer_of({.role = Role::Dst,
                     .access = Access::Write,
                     .space = Space::Sbuf,
                     .dtype = dtype,
                     .partitions = static_cast<std::int32_t>(array.pe_rows),
                     .pattern = {{1, array.pe_columns}}});
    IssueTemplate& what = add(key, Operation::Transfer, Engine::Dma, kNoSource);
    what.name = "identity load";
    fill_transfer(what, instruction, trigger, 0);
    return &what;
}

std::string IssueTable::source_text(const IssueTemplate& what) const {
    if (what.source != kNoSource) {
        return program_.source_text(program_.templates[what.source]);
    }
    const auto spilled = spill_buffers_.find(what.index);
    if (spilled == spill_buffers_.end()) {
        return "lowering";
    }
    const program::Buffer& buffer = program_.buffers[spilled->second];
    return fmt::format("{} {}", program_.source_text(buffer), buffer.name);
}

std::string IssueTable::line(const IssueTemplate& what) const {
    return what.source == kNoSource
               ? TemplateNames::line(what)
               : fmt::format(
                     "{} {}", program_.source_text(program_.templates[what.source]), what.name);
}

std::string IssueTable::details(const IssueTemplate& what) const {
    if (what.source == kNoSource) {
        return what.name;
    }
    std::string text;
    const InstructionTemplate& from = program_.templates[what.source];
    for (const Operand& operand : from.operands) {
        text += (text.empty() ? "" : ", ") + operand_text(from, operand);
    }
    return text;
}

std::int64_t IssueTable::elements(const IssueTemplate& what) const {
    if (what.source == kNoSource || what.operation == Operation::ActivationTableLoad ||
        what.operation == Operation::Control || what.operation == Operation::Trigger) {
        return 0;
    }
    const InstructionTemplate& from = program_.templates[what.source];
    std::int64_t most = 0;
    for (const Operand& operand : from.operands) {
        if (accesses(what, from, operand) && operand.space != Space::Hbm) {
            most = std::max(most, operand.elements());
        }
    }
    return most;
}

}  // namespace trnsim::lowering
