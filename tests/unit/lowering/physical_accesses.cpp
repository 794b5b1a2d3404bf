// SPDX-License-Identifier: Apache-2.0
// What each lowered instruction touches, byte by byte, and what the semaphores make it wait for.
#include "physical_accesses.hpp"

#include "trnsim/isa/opcode.hpp"
#include "trnsim/program/cursor.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace trnsim::test {

using neuron_core::Operation;
using neuron_core::QueueId;
using program::Step;

namespace {

/// The operand is where the program has it, unless its indices or a fixed address say where.
void expect_at(const lowering::ResolvedOperand& operand, const program::Step::At& at) {
    if (operand.tile != nullptr) {
        EXPECT_EQ(operand.tile->instance, at.instance);
    }
    if (!operand.operand->indirect &&
        (operand.tile != nullptr || operand.operand->space == Space::Hbm)) {
        EXPECT_EQ(operand.region.partition(), at.partition);
        EXPECT_EQ(operand.region.base_byte(), at.offset * operand.region.shape().element_bytes);
    }
}

bool writes(const PhysicalAccess& access) {
    return access.access != Access::Read;
}

bool meet(const PhysicalAccess& a, const PhysicalAccess& b) {
    return a.memory == b.memory && a.partition < b.partition + b.partitions &&
           b.partition < a.partition + a.partitions &&
           overlap(
               a.pattern, a.base_byte, a.element_bytes, b.pattern, b.base_byte, b.element_bytes);
}

/// Whether `later` starts after `earlier` has ended, or need not.
bool is_ordered(const Node& earlier,
                const PhysicalAccess& first,
                const Node& later,
                const PhysicalAccess& second) {
    const bool is_own = earlier.queue == later.queue;
    const bool is_flow = writes(first) && second.access != Access::Write;
    if (is_own && (!is_flow || second.access == Access::Accumulate)) {
        return true;
    }
    return later.known[earlier.queue] >= earlier.number;
}

/// Whether the order of two accesses to common bytes matters to what the program computes.
bool conflict(const PhysicalAccess& a, const PhysicalAccess& b) {
    const bool both_add = a.access == Access::Accumulate && b.access == Access::Accumulate;
    return (writes(a) || writes(b)) && !both_add && meet(a, b);
}

/// An access relative to its tile or tensor, or to the memory if the program says where it lies.
PhysicalAccess part_of_tile(const program::Buffer& buffer,
                            const Operand& operand,
                            const Step::At& at) {
    const int element = size_bytes(operand.dtype);
    if (buffer.address) {
        return {.memory = {.space = operand.space},
                .pattern = operand.pattern,
                .base_byte = buffer.address->second + at.offset * element,
                .element_bytes = element,
                .partition = buffer.address->first + static_cast<std::int32_t>(at.partition),
                .partitions = operand.partitions,
                .access = operand.access};
    }
    return {.memory = {.space = operand.space, .buffer = operand.buffer, .instance = at.instance},
            .pattern = operand.pattern,
            .base_byte = at.offset * element,
            .element_bytes = element,
            .partition = static_cast<std::int32_t>(at.partition),
            .partitions = operand.partitions,
            .access = operand.access};
}

}  // namespace

PhysicalAccesses::PhysicalAccesses(const program::Program& program,
                                   const ChipSpec& chip,
                                   const lowering::Policies& policies)
    : program_(program), lowering_(program, chip, policies) {
    for (const lowering::SitePlacement& placement : lowering_.tiles().allocation().sites) {
        is_pooled_ |= placement.is_pooled;
        overlays_ += placement.overlaid.empty() ? 0 : 1;
    }
    std::optional<lowering::LoadPlan> loads = lowering_.loads();
    program::Cursor cursor(program);
    is_planned_ = loads.has_value();
    read_program([&] { return loads ? loads->next() : cursor.next(); });
    lowering_.tell(*this);
    queues_.drain(lowering_);
    skip_waits();
    EXPECT_EQ(next_entry_, queues_.entries().size()) << "instructions that no step accounts for";
    EXPECT_EQ(lowered_, steps_.size()) << "steps that were not lowered";
}

template <typename Next>
void PhysicalAccesses::read_program(Next next) {
    std::map<std::int64_t, std::size_t> producers;
    for (const Step* step = next(); step != nullptr; step = next()) {
        if (step->is_alloc) {
            continue;
        }
        Executed& executed =
            steps_.emplace_back(Executed{.instruction = program_.runs[step->run].instruction,
                                         .at = {step->at.begin(), step->at.end()}});
        const program::Run& run = program_.runs[step->run];
        for (const program::Affine& producer : run.depends_on) {
            executed.depends_on.push_back(
                producers.at(program::evaluate(producer, step->iterations)));
            ++edges_;
        }
        if (run.producer) {
            producers[program::evaluate(*run.producer, step->iterations)] = steps_.size() - 1;
        }
        const auto& operands = program_.templates[executed.instruction].operands;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            executed.parts.push_back(
                part_of_tile(program_.buffers[operands[i].buffer], operands[i], step->at[i]));
        }
    }
}

bool PhysicalAccesses::is_in_turn(const lowering::ResolvedOperand& operand) const {
    const std::uint32_t buffer = operand.operand->buffer;
    return lowering_.tiles().is_in_turn(buffer) ||
           lowering_.tiles().allocation().sites[buffer].is_planned;
}

PhysicalAccess PhysicalAccesses::place(const PhysicalAccess& part,
                                       const lowering::ResolvedOperand& operand) const {
    if (operand.tile == nullptr && !is_in_turn(operand)) {
        return part;
    }
    PhysicalAccess result = part;
    result.memory = {.space = part.memory.space};
    if (operand.tile == nullptr) {
        result.base_byte = operand.region.base_byte();
        return result;
    }
    EXPECT_EQ(operand.tile->buffer, part.memory.buffer);
    EXPECT_EQ(operand.tile->instance, part.memory.instance);
    result.base_byte += operand.tile->slot->address;
    return result;
}

void PhysicalAccesses::stay(const lowering::Tile& tile, bool is_write, bool is_reload) {
    const program::Buffer& site = program_.buffers[tile.buffer];
    const Memory name{.space = site.space, .buffer = tile.buffer, .instance = tile.instance};
    const std::size_t now = nodes_.size() - 1;
    const auto found = current_.find(name);
    if (is_reload || (found == current_.end() && is_write)) {
        current_[name] = stays_.size();
        stays_.push_back({.tile = name,
                          .address = tile.slot->address,
                          .end = tile.slot->address + site.free_bytes(),
                          .first = now,
                          .last = now});
    } else if (found != current_.end()) {
        EXPECT_EQ(stays_[found->second].address, tile.slot->address)
            << site.name << " " << tile.instance << " is elsewhere and was not moved";
        stays_[found->second].last = now;
    }
}

void PhysicalAccesses::moved(const lowering::Tile& tile, bool is_save) {
    const program::Buffer& of = program_.buffers[tile.buffer];
    PhysicalAccess bytes{.memory = {.space = of.space},
                         .pattern = {{1, of.free_bytes()}},
                         .base_byte = tile.slot->address,
                         .partitions = static_cast<std::int32_t>(of.partitions()),
                         .access = is_save ? Access::Read : Access::Write};
    PhysicalAccess copy = bytes;
    copy.memory = {.space = Space::Hbm,
                   .buffer = tile.buffer,
                   .instance = tile.instance,
                   .is_spill_copy = true};
    copy.base_byte = 0;
    copy.access = is_save ? Access::Write : Access::Read;
    skip_trigger();
    Node& node = take_node();
    EXPECT_EQ(node.name, is_save ? "spill save" : "spill reload");
    node.accesses = {bytes, copy};
    stay(tile, false, !is_save);
    spill_saves_ += is_save ? 1 : 0;
}

void PhysicalAccesses::lowered(const lowering::PlannedStep& step) {
    Executed& executed = steps_.at(step.order);
    EXPECT_EQ(step.instruction, executed.instruction);
    for (std::size_t i = 0; i < executed.at.size(); ++i) {
        expect_at(step.operands[i], executed.at[i]);
    }
    EXPECT_FALSE(executed.place) << "step " << step.order << " was lowered twice";
    executed.place = lowered_++;
    overtaken_ += step.order < newest_[step.queue] ? 1 : 0;
    newest_[step.queue] = std::max(newest_[step.queue], step.order);
    std::vector<PhysicalAccess> accesses;
    for (std::size_t i = 0; i < executed.parts.size(); ++i) {
        accesses.push_back(place(executed.parts[i], step.operands[i]));
    }
    skip_preparation();
    executed.first = nodes_.size();
    const InstructionTemplate& instruction = program_.templates[step.instruction];
    if (instruction.op == Opcode::NcMatmul) {
        assign_matmul(executed, accesses);
    } else {
        const bool is_read_out =
            step.engine == Engine::Scalar && instruction.find(Role::ReduceResult) != nullptr;
        Node& node = take_node();
        EXPECT_EQ(node.name, name(instruction.op));
        if (is_read_out) {
            const auto& operands = instruction.operands;
            const auto sum = std::ranges::find(operands, Role::ReduceResult, &Operand::role);
            const auto place = accesses.begin() + (sum - operands.begin());
            const PhysicalAccess read_out = *place;
            accesses.erase(place);
            node.accesses = accesses;
            take_node().accesses = {read_out};
            EXPECT_EQ(nodes_.back().name, "ACTIVATION_READ_ACCUMULATOR");
        } else {
            node.accesses = accesses;
        }
    }
    EXPECT_EQ(nodes_.back().queue, step.queue);
    executed.last = nodes_.size() - 1;
    for (std::size_t i = 0; i < executed.parts.size(); ++i) {
        const PhysicalAccess& part = executed.parts[i];
        if (step.operands[i].tile != nullptr) {
            stay(*step.operands[i].tile, writes(part), false);
        }
        if (loaded_ && writes(part) && meet(part, loaded_->part)) {
            loaded_->is_overwritten = true;
        }
    }
    for (std::size_t i = 0; i < executed.parts.size(); ++i) {
        if (is_in_turn(step.operands[i])) {  // Bytes are in program order, whichever tile's.
            executed.parts[i] = place(executed.parts[i], step.operands[i]);
        }
    }
}

void PhysicalAccesses::assign_matmul(const Executed& step, std::vector<PhysicalAccess> accesses) {
    const auto& operands = program_.templates[step.instruction].operands;
    const auto stationary = std::ranges::find(operands, Role::Stationary, &Operand::role);
    const auto index = stationary - operands.begin();
    const PhysicalAccess& wanted = step.parts[static_cast<std::size_t>(index)];
    skip_waits();
    if (queues_.entries()[next_entry_].instruction.what->operation == Operation::LoadStationary) {
        take_node().accesses = {accesses[static_cast<std::size_t>(index)]};
        loaded_ = {.part = wanted};
    } else {
        check_stationary(wanted, fmt::format("matmul {}", nodes_.size()));
        ++reused_stationaries_;
    }
    accesses.erase(accesses.begin() + index);
    Node& node = take_node();
    EXPECT_EQ(node.name, "nc_matmul");
    node.accesses = std::move(accesses);
}

void PhysicalAccesses::check_stationary(const PhysicalAccess& wanted, const std::string& name) {
    if (!loaded_ || loaded_->part.memory != wanted.memory ||
        loaded_->part.base_byte != wanted.base_byte || !(loaded_->part.pattern == wanted.pattern)) {
        stale_ = name + ": the array holds another tile";
    } else if (loaded_->is_overwritten) {
        stale_ = name + ": the tile was written after it was loaded";
    }
}

void PhysicalAccesses::skip_waits() {
    while (next_entry_ < queues_.entries().size() &&
           queues_.entries()[next_entry_].instruction.what->name == "EVENT_SEMAPHORE") {
        const RecordedQueues::Entry& entry = queues_.entries()[next_entry_++];
        Node& node = nodes_.emplace_back(Node{.queue = entry.queue, .name = "EVENT_SEMAPHORE"});
        learn(node, entry.instruction);
    }
}

void PhysicalAccesses::skip_trigger() {
    skip_waits();
    if (queues_.entries()[next_entry_].instruction.what->operation == Operation::Trigger) {
        take_node();
        ++triggers_;
    }
}

void PhysicalAccesses::skip_preparation() {
    skip_waits();
    if (queues_.entries()[next_entry_].instruction.what->name == "LOOP_BARRIER") {
        take_node();
        skip_waits();
    }
    if (queues_.entries()[next_entry_].instruction.what->operation ==
        Operation::ActivationTableLoad) {
        take_node();
    }
    skip_trigger();
}

Node& PhysicalAccesses::take_node() {
    skip_waits();
    const RecordedQueues::Entry& entry = queues_.entries().at(next_entry_++);
    Node& node = nodes_.emplace_back(Node{.queue = entry.queue,
                                          .number = ++counted_[entry.queue],
                                          .name = entry.instruction.what->name});
    learn(node, entry.instruction);
    by_number_[{node.queue, node.number}] = nodes_.size() - 1;
    if (entry.instruction.what->operation == Operation::Trigger) {
        triggers_of_[node.queue].push_back(nodes_.size() - 1);
    }
    return node;
}

void PhysicalAccesses::learn(Node& node, const neuron_core::QueuedInstruction& instruction) {
    const auto merge = [&node](const Node& other) {
        for (std::size_t queue = 0; queue < node.known.size(); ++queue) {
            node.known[queue] = std::max(node.known[queue], other.known[queue]);
        }
    };
    const auto before = latest_.find(node.queue);
    if (before != latest_.end()) {
        merge(nodes_[before->second]);
    }
    for (const neuron_core::SemaphoreWait& wait : instruction.waits()) {
        if (wait.semaphore >= lowering::trigger_semaphore(0)) {
            const auto engine =
                static_cast<QueueId>(wait.semaphore - lowering::trigger_semaphore(0));
            merge(nodes_[triggers_of_.at(engine).at(wait.at_least - 1)]);
            continue;
        }
        const auto queue = static_cast<QueueId>(wait.semaphore);
        merge(nodes_[by_number_.at({queue, wait.at_least})]);
        node.known[queue] = std::max<std::uint64_t>(node.known[queue], wait.at_least);
    }
    latest_[node.queue] = nodes_.size() - 1;
}

std::string PhysicalAccesses::first_unordered() const {
    for (std::size_t later = 0; later < nodes_.size(); ++later) {
        for (std::size_t earlier = 0; earlier < later; ++earlier) {
            for (const PhysicalAccess& second : nodes_[later].accesses) {
                for (const PhysicalAccess& first : nodes_[earlier].accesses) {
                    if ((writes(first) || writes(second)) && meet(first, second) &&
                        !is_ordered(nodes_[earlier], first, nodes_[later], second)) {
                        return fmt::format(
                            "{} {} (number {} of queue {}) and {} {} (number {} of queue {})",
                            earlier,
                            nodes_[earlier].name,
                            nodes_[earlier].number,
                            nodes_[earlier].queue,
                            later,
                            nodes_[later].name,
                            nodes_[later].number,
                            nodes_[later].queue);
                    }
                }
            }
        }
    }
    return {};
}

std::string PhysicalAccesses::first_exchanged() const {
    for (std::size_t later = 0; later < steps_.size(); ++later) {
        for (std::size_t earlier = 0; earlier < later; ++earlier) {
            if (steps_[earlier].place < steps_[later].place) {
                continue;
            }
            for (const PhysicalAccess& second : steps_[later].parts) {
                for (const PhysicalAccess& first : steps_[earlier].parts) {
                    if (conflict(first, second)) {
                        return fmt::format("steps {} and {}, both at {} of {}",
                                           earlier,
                                           later,
                                           first.memory.instance,
                                           program_.buffers[first.memory.buffer].name);
                    }
                }
            }
        }
    }
    return {};
}

std::string PhysicalAccesses::first_broken_edge() const {
    for (const Executed& later : steps_) {
        const Node& start = nodes_[later.first];
        for (const std::size_t step : later.depends_on) {
            const Node& end = nodes_[steps_[step].last];
            const bool is_behind = end.queue == start.queue && end.number < start.number &&
                                   end.queue < neuron_core::kEngineQueues;
            if (!is_behind && start.known[end.queue] < end.number) {
                return fmt::format("{} (node {}) after {} (node {})",
                                   start.name,
                                   later.first,
                                   end.name,
                                   steps_[step].last);
            }
        }
    }
    return {};
}

std::string PhysicalAccesses::first_collision() const {
    for (std::size_t later = 0; later < stays_.size(); ++later) {
        for (std::size_t earlier = 0; earlier < later; ++earlier) {
            const Stay& a = stays_[earlier];
            const Stay& b = stays_[later];
            if (a.tile.space == b.tile.space && a.address < b.end && b.address < a.end &&
                a.last >= b.first) {
                return fmt::format("{} {} and {} {} at byte {}",
                                   program_.buffers[a.tile.buffer].name,
                                   a.tile.instance,
                                   program_.buffers[b.tile.buffer].name,
                                   b.tile.instance,
                                   std::max(a.address, b.address));
            }
        }
    }
    return {};
}

}  // namespace trnsim::test
