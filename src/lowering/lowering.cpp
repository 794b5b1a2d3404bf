// SPDX-License-Identifier: Apache-2.0
// Step by step from program to queues.
#include "trnsim/lowering/lowering.hpp"

#include "trnsim/base/error.hpp"
#include "trnsim/lowering/psum_banks.hpp"
#include "trnsim/neuron_core/instruction_timing.hpp"
#include "trnsim/neuron_core/scalar_engine_timing.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace trnsim::lowering {

using neuron_core::InstructionSink;
using neuron_core::IssueTemplate;
using neuron_core::queue_of;
using neuron_core::queue_of_ring;
using neuron_core::QueueId;
using program::Step;

namespace {

/// One ring of each engine is kept for exchanges. [NEURON-RUNTIME]
constexpr int kExchangeRing = neuron_core::kDmaRings - 1;

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

/// Whether nothing passes it: other cores wait for it, or its operands do not tell all that it
/// reads and writes (registers).
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

/// By run: whether a loop around it keeps the order of its instructions.
std::vector<bool> runs_in_order(const program::Program& program) {
    std::vector<bool> in_order(program.runs.size());
    int loops = 0;
    for (const program::Node& node : program.nodes) {
        if (node.kind == program::Node::Kind::Run) {
            in_order[node.index] = loops > 0;
        } else if (node.kind == program::Node::Kind::Loop) {
            loops += program.loops[node.index].is_in_order ? 1 : 0;
        } else if (node.kind == program::Node::Kind::End) {
            loops -= program.loops[node.index].is_in_order ? 1 : 0;
        }
    }
    return in_order;
}

StationaryReuse::Tile tile_of(const ResolvedOperand& operand) {
    return operand.tile == nullptr ? StationaryReuse::Tile{}
                                   : StationaryReuse::Tile{.buffer = operand.tile->buffer,
                                                           .instance = operand.tile->instance};
}

/// The byte from which on an operand's region counts.
std::int64_t base_of(const ResolvedOperand& operand) {
    return operand.tile == nullptr ? 0 : operand.tile->slot->address;
}

}  // namespace

Lowering::Lowering(const program::Program& program, const ChipSpec& chip, const Policies& policies)
    : program_(program),
      chip_(chip),
      policies_(policies),
      table_(program, chip),
      writer_(table_),
      tiles_(program, chip.neuron_core, policies, *this),
      cursor_(program),
      tile_shapes_(program.buffers.size()),
      memories_(program.buffers.size()),
      fixed_{MemoryHistory{chip.neuron_core.psum.bank_bytes},
             MemoryHistory{chip.neuron_core.psum.bank_bytes}},
      is_written_(written_buffers(program)),
      is_in_order_(runs_in_order(program)),
      estimate_(chip, policies.planned_dma_rate),
      window_(make_window()) {
    constexpr std::int64_t kSemaphores = std::int64_t{2} * neuron_core::kQueues;
    if (chip.neuron_core.semaphore_file.count < kSemaphores) {
        throw ConfigError(fmt::format(
            "neuron_core.semaphore_file.count: {}, but {} are needed to order {} queues; "
            "set at least {}",
            chip.neuron_core.semaphore_file.count,
            kSemaphores,
            neuron_core::kQueues,
            kSemaphores));
    }
    make_plans();
    assign_rings();
    find_used_queues();
}

void Lowering::make_plans() {
    for (std::uint32_t index = 0; index < program_.templates.size(); ++index) {
        const InstructionTemplate& instruction = program_.templates[index];
        Plan plan;
        for (const Operand& operand : instruction.operands) {
            plan.shapes.emplace_back(operand.indirect ? whole_buffer(operand.buffer) : operand);
        }
        for (const Engine engine : table_.engines(index)) {
            plan.costs.push_back(is_dma(instruction.op)
                                     ? Picoseconds{}
                                     : neuron_core::cost(chip_, engine, instruction).interval);
        }
        plan.table = neuron_core::activation_table(instruction.attributes.function);
        plan.is_fence = is_fence(instruction);
        plan.is_transfer = is_dma(instruction.op);
        plan.loads_copy = loads_copy(instruction);
        plan.uses_array = uses_array(instruction.op);
        plans_.push_back(std::move(plan));
    }
    for (std::uint32_t buffer = 0; buffer < program_.buffers.size(); ++buffer) {
        if (tiles_.allocation().sites[buffer].is_pooled) {
            tile_shapes_[buffer] = std::make_unique<RegionShape>(whole_buffer(buffer));
        }
    }
}

Operand Lowering::whole_buffer(std::uint32_t buffer) const {
    const program::Buffer& site = program_.buffers[buffer];
    return {.role = Role::Data,
            .access = Access::Read,
            .space = site.space,
            .dtype = site.dtype,
            .buffer = buffer,
            .partitions = static_cast<std::int32_t>(site.partitions()),
            .pattern = {{1, site.free_elements()}},
            .indirect = {}};
}

bool Lowering::loads_copy(const InstructionTemplate& instruction) const {
    return instruction.op == Opcode::DmaCopy &&
           std::ranges::all_of(instruction.operands, [&](const Operand& operand) {
               return operand.writes() ||
                      (operand.space == Space::Hbm && !is_written_[operand.buffer]);
           });
}

void Lowering::assign_rings() {
    const bool single = policies_.ring_assignment == RingAssignment::Single;
    const std::int64_t rings = single ? 1 : std::min(policies_.dma_rings, chip_.dma.rings);
    const std::int64_t store_rings = rings == 1 ? 0 : std::max<std::int64_t>(1, rings / 4);
    const std::int64_t load_rings = rings - store_rings;
    ring_purposes_.resize(neuron_core::kDmaRings);
    std::vector<int> ring_of_site(program_.buffers.size(), -1);
    std::int64_t loads = 0;
    std::int64_t stores = 0;
    for (std::uint32_t index = 0; index < program_.templates.size(); ++index) {
        const InstructionTemplate& instruction = program_.templates[index];
        if (!is_dma(instruction.op)) {
            continue;
        }
        if (is_exchange(instruction.op)) {
            plans_[index].ring = kExchangeRing;
            ring_purposes_[kExchangeRing] = "exchange";
            continue;
        }
        const Operand& dst = instruction.at(Role::Dst);
        const bool is_store = dst.space == Space::Hbm && store_rings > 0;
        int& ring = ring_of_site[dst.buffer];
        if (ring < 0) {
            ring = static_cast<int>(is_store ? load_rings + stores++ % store_rings
                                             : loads++ % load_rings);
            std::string& purpose = ring_purposes_[static_cast<std::size_t>(ring)];
            purpose += fmt::format("{}{} {}",
                                   purpose.empty() ? "" : ", ",
                                   dst.space == Space::Hbm ? "store" : "load",
                                   program_.buffers[dst.buffer].name);
        }
        plans_[index].ring = ring;
    }
}

LoweringCounts Lowering::counts() const {
    LoweringCounts counts = counts_;
    for (QueueId queue = 0; queue < neuron_core::kQueues; ++queue) {
        LoweringCounts::Order& order = queue == queue_of(Engine::Tensor)    ? counts.tensor
                                       : queue < neuron_core::kEngineQueues ? counts.engines
                                                                            : counts.dma;
        order += window_.order(queue);
    }
    return counts;
}

std::string Lowering::ring_purpose(int ring) const {
    return ring_purposes_[static_cast<std::size_t>(ring)];
}

void Lowering::find_used_queues() {
    for (std::uint32_t index = 0; index < program_.templates.size(); ++index) {
        if (is_dma(program_.templates[index].op)) {
            uses_[queue_of_ring(plans_[index].ring)] = true;
            continue;
        }
        const std::vector<Engine>& engines = table_.engines(index);
        for (const Engine engine : engines) {
            uses_[queue_of(engine)] = true;
            if (policies_.engine_choice == EngineChoice::First) {
                break;
            }
        }
    }
    if (tiles_.can_spill()) {
        uses_[queue_of_ring(0)] = true;
    }
}

ReorderWindow Lowering::make_window() const {
    ReorderWindow::Reach reach{};
    reach.fill(static_cast<int>(policies_.reorder_window));
    reach[queue_of(Engine::Tensor)] = static_cast<int>(policies_.matmul_window);
    const int farthest = *std::ranges::max_element(reach);
    // The steps of other queues lie between those that are compared.
    constexpr int kOtherSteps = 2;
    return {reach,
            static_cast<std::size_t>(farthest > 1 ? kOtherSteps * farthest : 1),
            estimate_,
            tiles_};
}

/// Compilers load the first table before all else. [TRACES-TRN2]
void Lowering::load_first_table() {
    const auto first = std::ranges::find_if(program_.nodes, [this](const program::Node& node) {
        return node.kind == program::Node::Kind::Run &&
               !plans_[program_.runs[node.index].instruction].table.empty();
    });
    if (first != program_.nodes.end()) {
        load_table(program_.runs[first->index].instruction);
    }
}

void Lowering::load_table(std::uint32_t instruction) {
    const std::string_view table = plans_[instruction].table;
    if (!table.empty() && table != table_in_place_) {
        table_in_place_ = table;
        ++table_loads_;
        push(queue_of(Engine::Scalar), *table_.table_load(instruction), {});
    }
}

bool Lowering::produce(InstructionSink& sink) {
    if (sink_ == nullptr) {
        sink_ = &sink;
        load_first_table();
    }
    sink_ = &sink;
    const std::int64_t before = lowered_;
    while (lowered_ == before && !window_.is_full() && read_step()) {
    }
    if (lowered_ == before && !window_.empty()) {
        lower_next();
    }
    return lowered_ != before;
}

bool Lowering::read_step() {
    const Step* step = cursor_.next();
    if (step == nullptr) {
        return false;
    }
    if (!step->is_alloc) {
        plan(*step);
    } else if (program_.buffers[step->run].space == Space::Hbm) {
        memories_[step->run].push_back(nullptr);
    } else {
        tiles_.begin(step->run);
    }
    return true;
}

void Lowering::plan(const Step& step) {
    const std::uint32_t index = program_.runs[step.run].instruction;
    const Plan& plan = plans_[index];
    ++executed_;
    if (plan.is_fence) {
        drain();
    }
    PlannedStep& planned = window_.blank();
    planned.instruction = index;
    planned.is_in_order = is_in_order_[step.run];
    planned.at.assign(step.at.begin(), step.at.end());
    if (plan.is_transfer) {
        planned.engine = Engine::Dma;
        planned.queue = queue_of_ring(plan.ring);
    } else {
        planned.engine = choose_engine(index, plan);
        planned.queue = queue_of(planned.engine);
    }
    resolve(step, plan, planned);
    window_.admit(planned);
    if (plan.is_fence) {
        drain();
    }
}

void Lowering::drain() {
    while (!window_.empty()) {
        lower_next();
    }
}

void Lowering::resolve(const Step& step, const Plan& plan, PlannedStep& planned) {
    const InstructionTemplate& instruction = program_.templates[planned.instruction];
    const bool is_on_array = planned.engine == Engine::Tensor && plan.uses_array;
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
        const Operand& operand = instruction.operands[i];
        const Step::At& at = step.at[i];
        ResolvedOperand& resolved = planned.operands.emplace_back();
        resolved.operand = &operand;
        resolved.is_loaded = is_on_array && is_stationary(instruction, operand);
        resolved.region.shape = &plan.shapes[i];
        if (!operand.indirect) {  // Else the indices say where, and it may be anywhere.
            resolved.region.partition = static_cast<std::int32_t>(at.partition);
            resolved.region.base_byte = at.offset * plan.shapes[i].element_bytes;
        }
        const program::Buffer& buffer = program_.buffers[operand.buffer];
        if (buffer.address) {
            resolved.region.partition += buffer.address->first;
            resolved.region.base_byte += buffer.address->second;
            resolved.memory = &fixed_[operand.space == Space::Psum ? 1 : 0];
        } else if (operand.space != Space::Hbm) {
            resolved.tile = &find_tile(instruction, operand, at.instance);
        } else if (is_written_[operand.buffer]) {
            resolved.memory = &memory_of(operand.buffer, at.instance);
        }
    }
}

Tile& Lowering::find_tile(const InstructionTemplate& instruction,
                          const Operand& operand,
                          std::int64_t instance) {
    Tile* tile = tiles_.find(operand.buffer, instance);
    if (tile == nullptr) {
        not_allocated(instruction, operand, instance);
    }
    return *tile;
}

MemoryHistory& Lowering::memory_of(std::uint32_t buffer, std::int64_t instance) {
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

void Lowering::not_allocated(const InstructionTemplate& instruction,
                             const Operand& operand,
                             std::int64_t instance) const {
    throw ProgramError(
        fmt::format("{}: {}: {} is instance {} of {}, which is not allocated yet; move its "
                    "\"alloc\" record before this one",
                    program_.source_text(instruction.source),
                    name(instruction.op),
                    name(operand.role),
                    instance,
                    program_.buffers[operand.buffer].name));
}

Engine Lowering::choose_engine(std::uint32_t instruction, const Plan& plan) {
    const std::vector<Engine>& engines = table_.engines(instruction);
    std::size_t best = 0;
    if (policies_.engine_choice == EngineChoice::Balanced) {
        for (std::size_t i = 1; i < engines.size(); ++i) {
            if (work_[queue_of(engines[i])] + plan.costs[i] <
                work_[queue_of(engines[best])] + plan.costs[best]) {
                best = i;
            }
        }
    }
    work_[queue_of(engines[best])] += plan.costs[best];
    counts_.choices += engines.size() > 1 ? 1 : 0;
    counts_.moved += best > 0 ? 1 : 0;
    return engines[best];
}

void Lowering::record(const PlannedStep& step, std::uint64_t number) {
    const bool loads_copy = plans_[step.instruction].loads_copy;
    for (const ResolvedOperand& operand : step.operands) {
        if (operand.is_loaded) {
            continue;
        }
        operand.record(step.queue, number, loads_copy);
        if (operand.operand->space == Space::Sbuf && operand.operand->writes()) {
            stationary_.written(tile_of(operand), operand.region);
        }
    }
}

void Lowering::push(QueueId queue,
                    const IssueTemplate& what,
                    const PlannedStep::Condition& when,
                    std::uint64_t psum_banks) {
    writer_.push(*sink_, queue, what, when.waits, psum_banks);
    if (window_.reorders()) {
        estimate_.push(queue, what, when.met);
    }
}

void Lowering::lower_next() {
    PlannedStep& step = window_.take();
    ++lowered_;
    give_bytes(step);
    window_.settle(step);
    const Plan& plan = plans_[step.instruction];
    if (plan.is_transfer) {
        lower_transfer(step);
    } else if (step.engine == Engine::Tensor && plan.uses_array) {
        lower_matmul(step);
    } else {
        lower_compute(step);
    }
    if (observer_ != nullptr) {
        observer_->lowered(step);
    }
    window_.retire(step);
    count_uses(step);
}

void Lowering::give_bytes(const PlannedStep& step) {
    ++stamp_;
    bool needs_bytes = false;
    for (const ResolvedOperand& operand : step.operands) {
        if (operand.tile != nullptr) {
            operand.tile->last_use = stamp_;
            needs_bytes = needs_bytes || operand.tile->slot == nullptr;
        }
    }
    bool has_moved = false;
    while (needs_bytes) {  // A tile may have to move for another one of the same step.
        needs_bytes = false;
        for (const ResolvedOperand& operand : step.operands) {
            if (operand.tile != nullptr && operand.tile->slot == nullptr) {
                const bool has_moved_now = tiles_.give_bytes(*operand.tile, stamp_);
                needs_bytes = needs_bytes || has_moved_now;
                has_moved = has_moved || has_moved_now;
            }
        }
    }
    if (has_moved) {
        window_.forget_estimates();
    }
}

void Lowering::count_uses(const PlannedStep& step) {
    bool has_freed = false;
    for (const ResolvedOperand& operand : step.operands) {
        if (operand.tile != nullptr) {
            has_freed = tiles_.use(*operand.tile) || has_freed;
        }
    }
    if (has_freed) {
        window_.look_again();
    }
}

std::uint64_t Lowering::psum_banks(const PlannedStep& step) const {
    std::uint64_t banks = 0;
    for (const ResolvedOperand& operand : step.operands) {
        if (operand.operand->space == Space::Psum) {
            const std::int64_t base = base_of(operand);
            banks |= banks_of(
                chip_.neuron_core.psum, base + operand.region.begin(), base + operand.region.end());
        }
    }
    return banks;
}

void Lowering::check_bank(const PlannedStep& step, const ResolvedOperand& dst) const {
    const PsumSpec& psum = chip_.neuron_core.psum;
    const std::int64_t base = base_of(dst);
    if (!takes_matmul(psum, base + dst.region.begin(), base + dst.region.end())) {
        const InstructionTemplate& from = program_.templates[step.instruction];
        throw ProgramError(
            fmt::format("{}: {}: dst covers bytes {} to {} of its PSUM tile, across banks of {} "
                        "bytes; keep the "
                        "result of one matmul inside a bank",
                        program_.source_text(from.source),
                        name(from.op),
                        dst.region.begin(),
                        dst.region.end() - 1,
                        psum.bank_bytes));
    }
}

void Lowering::lower_compute(const PlannedStep& step) {
    if (step.engine == Engine::Scalar) {
        load_table(step.instruction);
    }
    const std::uint64_t number = writer_.next_number(step.queue);
    const IssueTemplate& what = *table_.compute(step.instruction, step.engine, step.at);
    push(step.queue, what, step.own, what.touches_psum ? psum_banks(step) : 0);
    record(step, number);
}

void Lowering::load_stationary(const PlannedStep& step) {
    const auto loaded = std::ranges::find_if(step.operands, &ResolvedOperand::is_loaded);
    if (loaded == step.operands.end() ||
        (policies_.reuse_stationary && stationary_.holds(tile_of(*loaded), loaded->region))) {
        counts_.stationary_reuses += loaded != step.operands.end() ? 1 : 0;
        return;
    }
    ++counts_.stationary_loads;
    const std::uint64_t number = writer_.next_number(step.queue);
    push(step.queue, *table_.load_stationary(step.instruction), step.load);
    for (const ResolvedOperand& operand : step.operands) {
        if (operand.is_loaded) {
            operand.record(step.queue, number);
        }
    }
    stationary_.load(tile_of(*loaded), loaded->region);
}

void Lowering::lower_matmul(const PlannedStep& step) {
    load_stationary(step);
    const InstructionTemplate& from = program_.templates[step.instruction];
    for (const ResolvedOperand& operand : step.operands) {
        if (is_matmul(from.op) && operand.operand->role == Role::Dst) {
            check_bank(step, operand);
        }
    }
    const std::uint64_t number = writer_.next_number(step.queue);
    push(step.queue, *table_.multiply_moving(step.instruction), step.own, psum_banks(step));
    record(step, number);
}

void Lowering::lower_transfer(const PlannedStep& step) {
    std::int32_t partition = 0;
    for (const ResolvedOperand& operand : step.operands) {
        if (operand.operand->space != Space::Hbm && operand.operand->role != Role::Index) {
            partition = operand.region.partition;
        }
    }
    const std::uint64_t number = writer_.next_number(step.queue);
    push(step.queue, *table_.transfer(step.instruction, policies_.dge, partition), step.own);
    record(step, number);
}

void Lowering::move(Tile& tile, const RegionAccess& access, bool is_save) {
    ++(is_save ? counts_.spill_saves : counts_.spill_reloads);
    PlannedStep::Condition when;
    tile.slot->history.collect(access, when.waits);
    if (!is_save) {
        when.waits.need_done(tile.save.queue, tile.save.number);
    }
    if (window_.reorders()) {
        when.met = estimate_.met(access.queue, when.waits);
    }
    push(access.queue, *table_.spill(tile.buffer, is_save, policies_.dge), when);
    tile.slot->history.record(access);
    if (observer_ != nullptr) {
        observer_->moved(tile, is_save);
    }
}

void Lowering::save(Tile& tile) {
    tile.save = spill_access(tile, Access::Read);
    move(tile, tile.save, true);
}

void Lowering::reload(Tile& tile) {
    move(tile, spill_access(tile, Access::Write), false);
}

RegionAccess Lowering::spill_access(const Tile& tile, Access access) const {
    const QueueId ring = queue_of_ring(0);
    return {.region = {.shape = tile_shapes_[tile.buffer].get()},
            .access = access,
            .queue = ring,
            .number = writer_.next_number(ring)};
}

}  // namespace trnsim::lowering
