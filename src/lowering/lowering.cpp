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

StationaryReuse::Tile tile_of(const TileMemory::Slot& slot) {
    return {.buffer = slot.buffer, .instance = slot.instance};
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
      is_written_(written_buffers(program)) {
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

bool Lowering::produce(InstructionSink& sink) {
    const Step* step = cursor_.next();
    if (step == nullptr) {
        return false;
    }
    sink_ = &sink;
    ++stamp_;
    if (!step->is_alloc) {
        lower(*step);
    } else if (program_.buffers[step->run].space == Space::Hbm) {
        memories_[step->run].push_back(nullptr);
    } else {
        tiles_.allocate(step->run, stamp_);
    }
    return true;
}

void Lowering::lower(const Step& step) {
    const std::uint32_t index = program_.runs[step.run].instruction;
    const InstructionTemplate& instruction = program_.templates[index];
    const Plan& plan = plans_[index];
    ++executed_;
    resolve(instruction, plan, step);
    if (is_dma(instruction.op)) {
        lower_transfer(index);
    } else {
        const Engine engine = choose_engine(index, plan);
        if (engine == Engine::Tensor && uses_array(instruction.op)) {
            lower_matmul(index);
        } else {
            lower_compute(step, engine);
        }
    }
    release();
}

void Lowering::resolve(const InstructionTemplate& instruction, const Plan& plan, const Step& step) {
    operands_.clear();
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
        const Operand& operand = instruction.operands[i];
        const Step::At& at = step.at[i];
        Resolved resolved;
        resolved.operand = &operand;
        resolved.region.shape = &plan.shapes[i];
        if (!operand.indirect) {  // Else the indices say where, and it may be anywhere.
            resolved.region.partition = static_cast<std::int32_t>(at.partition);
            resolved.region.base_byte = at.offset * plan.shapes[i].element_bytes;
        }
        if (operand.space == Space::Hbm) {
            if (is_written_[operand.buffer]) {
                auto& instances = memories_[operand.buffer];
                const auto instance = static_cast<std::size_t>(at.instance);
                if (instance >= instances.size()) {
                    instances.resize(instance + 1);
                }
                if (instances[instance] == nullptr) {
                    instances[instance] = std::make_unique<HbmHistory>();
                }
                resolved.memory = instances[instance].get();
            }
        } else {
            resolved.slot = tiles_.find(operand.buffer, at.instance, stamp_);
            if (resolved.slot == nullptr) {
                not_allocated(instruction, operand, at.instance);
            }
        }
        operands_.push_back(resolved);
    }
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
    return engines[best];
}

void Lowering::collect(const Resolved& operand, QueueId queue) {
    const RegionAccess access{
        .region = operand.region, .access = operand.operand->access, .queue = queue, .number = 0};
    if (operand.slot != nullptr) {
        operand.slot->history.collect(access, waits_);
    } else if (operand.memory != nullptr) {
        operand.memory->collect(access, waits_);
    }
}

void Lowering::record(const Resolved& operand, QueueId queue, std::uint64_t number) {
    const RegionAccess access{.region = operand.region,
                              .access = operand.operand->access,
                              .queue = queue,
                              .number = number};
    if (operand.slot != nullptr) {
        operand.slot->history.record(access);
        if (operand.operand->writes()) {
            operand.slot->is_dirty = true;
            stationary_.written(tile_of(*operand.slot));
        }
    } else if (operand.memory != nullptr) {
        operand.memory->record(access);
    }
}

void Lowering::release() {
    for (const Resolved& operand : operands_) {
        if (operand.slot != nullptr) {
            tiles_.use(*operand.slot, stamp_);
        }
    }
}

std::uint64_t Lowering::psum_banks() const {
    std::uint64_t banks = 0;
    for (const Resolved& operand : operands_) {
        if (operand.operand->space == Space::Psum) {
            const std::int64_t base = operand.slot->address;
            banks |= banks_of(
                chip_.neuron_core.psum, base + operand.region.begin(), base + operand.region.end());
        }
    }
    return banks;
}

void Lowering::check_bank(std::uint32_t instruction, const Resolved& dst) const {
    const PsumSpec& psum = chip_.neuron_core.psum;
    const std::int64_t base = dst.slot->address;
    if (!takes_matmul(psum, base + dst.region.begin(), base + dst.region.end())) {
        const InstructionTemplate& from = program_.templates[instruction];
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

void Lowering::lower_compute(const Step& step, Engine engine) {
    const std::uint32_t instruction = program_.runs[step.run].instruction;
    const QueueId queue = queue_of(engine);
    const std::string_view table = plans_[instruction].table;
    if (engine == Engine::Scalar && !table.empty() && table != table_in_place_) {
        table_in_place_ = table;
        ++table_loads_;
        waits_.clear();
        writer_.push(*sink_, queue, *table_.table_load(instruction), waits_);
    }
    waits_.clear();
    for (const Resolved& operand : operands_) {
        collect(operand, queue);
    }
    const std::uint64_t number = writer_.next_number(queue);
    const IssueTemplate& what = *table_.compute(instruction, engine, step.at);
    writer_.push(*sink_, queue, what, waits_, what.touches_psum ? psum_banks() : 0);
    for (const Resolved& operand : operands_) {
        record(operand, queue, number);
    }
}

void Lowering::load_stationary(std::uint32_t instruction) {
    const QueueId queue = queue_of(Engine::Tensor);
    const InstructionTemplate& from = program_.templates[instruction];
    const auto loaded = std::ranges::find_if(
        operands_, [&](const Resolved& operand) { return is_stationary(from, *operand.operand); });
    if (loaded == operands_.end() ||
        (policies_.reuse_stationary && stationary_.holds(tile_of(*loaded->slot), loaded->region))) {
        return;
    }
    waits_.clear();
    for (const Resolved& operand : operands_) {
        if (is_stationary(from, *operand.operand)) {
            collect(operand, queue);
        }
    }
    const std::uint64_t number = writer_.next_number(queue);
    writer_.push(*sink_, queue, *table_.load_stationary(instruction), waits_);
    for (const Resolved& operand : operands_) {
        if (is_stationary(from, *operand.operand)) {
            record(operand, queue, number);
        }
    }
    stationary_.load(tile_of(*loaded->slot), loaded->region);
}

void Lowering::lower_matmul(std::uint32_t instruction) {
    load_stationary(instruction);
    const QueueId queue = queue_of(Engine::Tensor);
    const InstructionTemplate& from = program_.templates[instruction];
    waits_.clear();
    for (const Resolved& operand : operands_) {
        if (!is_stationary(from, *operand.operand)) {
            collect(operand, queue);
        }
        if (is_matmul(from.op) && operand.operand->role == Role::Dst) {
            check_bank(instruction, operand);
        }
    }
    const std::uint64_t number = writer_.next_number(queue);
    writer_.push(*sink_, queue, *table_.multiply_moving(instruction), waits_, psum_banks());
    for (const Resolved& operand : operands_) {
        if (!is_stationary(from, *operand.operand)) {
            record(operand, queue, number);
        }
    }
}

void Lowering::lower_transfer(std::uint32_t instruction) {
    const QueueId queue = queue_of_ring(plans_[instruction].ring);
    waits_.clear();
    std::int32_t partition = 0;
    for (const Resolved& operand : operands_) {
        collect(operand, queue);
        if (operand.slot != nullptr && operand.operand->role != Role::Index) {
            partition = operand.region.partition;
        }
    }
    const std::uint64_t number = writer_.next_number(queue);
    writer_.push(*sink_, queue, *table_.transfer(instruction, policies_.dge, partition), waits_);
    for (const Resolved& operand : operands_) {
        record(operand, queue, number);
    }
}

void Lowering::save(TileMemory::Slot& slot) {
    const QueueId queue = queue_of_ring(0);
    slot.save = {.region = {.shape = tile_shapes_[slot.buffer].get()},
                 .access = Access::Read,
                 .queue = queue,
                 .number = writer_.next_number(queue)};
    waits_.clear();
    slot.history.collect(slot.save, waits_);
    writer_.push(*sink_, queue, *table_.spill(slot.buffer, true, policies_.dge), waits_);
    slot.history.record(slot.save);
}

void Lowering::reload(TileMemory::Slot& slot) {
    const QueueId queue = queue_of_ring(0);
    const RegionAccess access{.region = {.shape = tile_shapes_[slot.buffer].get()},
                              .access = Access::Write,
                              .queue = queue,
                              .number = writer_.next_number(queue)};
    waits_.clear();
    slot.history.collect(access, waits_);
    waits_.need_done(slot.save.queue, slot.save.number);
    writer_.push(*sink_, queue, *table_.spill(slot.buffer, false, policies_.dge), waits_);
    slot.history.record(access);
}

}  // namespace trnsim::lowering
