// SPDX-License-Identifier: Apache-2.0
// What each lowered instruction touches, byte by byte, and what the semaphores make it wait for.
#include "physical_accesses.hpp"

#include "trnsim/isa/opcode.hpp"
#include "trnsim/program/cursor.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace trnsim::test {

using lowering::TileStore;
using neuron_core::Operation;
using neuron_core::QueueId;
using program::Step;

namespace {

bool writes(const PhysicalAccess& access) {
    return access.access != Access::Read;
}

bool meet(const PhysicalAccess& a, const PhysicalAccess& b) {
    return a.memory == b.memory && a.partition < b.partition + b.partitions &&
           b.partition < a.partition + a.partitions &&
           overlap(
               a.pattern, a.base_byte, a.element_bytes, b.pattern, b.base_byte, b.element_bytes);
}

/// Whether `later` starts after `earlier` has done what their accesses need.
bool is_ordered(const Node& earlier,
                const PhysicalAccess& first,
                const Node& later,
                const PhysicalAccess& second) {
    const lowering::WaitSet::Need& known = later.known[earlier.queue];
    const bool is_own = earlier.queue == later.queue;
    const bool is_flow = writes(first) && second.access != Access::Write;
    if (is_own && (!is_flow || second.access == Access::Accumulate)) {
        return true;
    }
    if (writes(first)) {
        return known.done >= earlier.number;
    }
    return std::max(known.done, known.read) >= earlier.number;
}

/// An access relative to its tile or tensor.
PhysicalAccess part_of_tile(const Operand& operand, const Step::At& at) {
    const int element = size_bytes(operand.dtype);
    return {.memory = {.space = operand.space},
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
    : program_(program),
      lowering_(program, chip, policies),
      tiles_(program, chip.neuron_core, policies, *this) {
    for (const lowering::SitePlacement& placement : tiles_.allocation().sites) {
        is_pooled_ |= placement.is_pooled;
        overlays_ += placement.overlaid.empty() ? 0 : 1;
    }
    queues_.drain(lowering_);
    walk();
    skip_waits();
    EXPECT_EQ(next_entry_, queues_.entries().size()) << "instructions that no step accounts for";
}

void PhysicalAccesses::walk() {
    program::Cursor cursor(program_);
    for (const Step* step = cursor.next(); step != nullptr; step = cursor.next()) {
        ++stamp_;
        if (step->is_alloc) {
            tiles_.allocate(step->run, stamp_);
        } else {
            run(*step);
        }
    }
}

void PhysicalAccesses::add_spill(const lowering::TileMemory::Slot& slot, bool is_save) {
    const program::Buffer& of = program_.buffers[slot.buffer];
    PhysicalAccess tile{.memory = {.space = of.space},
                        .pattern = {{1, of.free_bytes()}},
                        .base_byte = slot.address,
                        .partitions = static_cast<std::int32_t>(of.partitions()),
                        .access = is_save ? Access::Read : Access::Write};
    PhysicalAccess copy = tile;
    copy.memory = {.space = Space::Hbm,
                   .buffer = slot.buffer,
                   .instance = slot.instance,
                   .is_spill_copy = true};
    copy.base_byte = 0;
    copy.access = is_save ? Access::Write : Access::Read;
    Node& node = take_node();
    EXPECT_EQ(node.name, is_save ? "spill save" : "spill reload");
    node.accesses = {tile, copy};
    spill_saves_ += is_save ? 1 : 0;
}

PhysicalAccess PhysicalAccesses::access(const Operand& operand, const Step::At& at) {
    PhysicalAccess result = part_of_tile(operand, at);
    if (operand.space == Space::Hbm) {
        result.memory.buffer = operand.buffer;
        result.memory.instance = at.instance;
        return result;
    }
    result.base_byte += tiles_.find(operand.buffer, at.instance, stamp_)->address;
    return result;
}

void PhysicalAccesses::run(const Step& step) {
    const InstructionTemplate& instruction =
        program_.templates[program_.runs[step.run].instruction];
    std::vector<PhysicalAccess> accesses;
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
        accesses.push_back(access(instruction.operands[i], step.at[i]));
    }
    skip_waits();
    if (queues_.entries()[next_entry_].instruction.what->operation ==
        Operation::ActivationTableLoad) {
        take_node();
    }
    if (instruction.op == Opcode::NcMatmul) {
        assign_matmul(step, accesses);
    } else {
        Node& node = take_node();
        EXPECT_EQ(node.name, name(instruction.op));
        node.accesses = accesses;
    }
    note_writes(step);
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
        const Operand& operand = instruction.operands[i];
        if (operand.space != Space::Hbm) {
            tiles_.use(*tiles_.find(operand.buffer, step.at[i].instance, stamp_));
        }
    }
}

void PhysicalAccesses::note_writes(const Step& step) {
    const auto& operands = program_.templates[program_.runs[step.run].instruction].operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].space == Space::Hbm || !operands[i].writes()) {
            continue;
        }
        tiles_.find(operands[i].buffer, step.at[i].instance, stamp_)->is_dirty = true;
        if (loaded_ && loaded_->buffer == operands[i].buffer &&
            loaded_->instance == step.at[i].instance &&
            meet(part_of_tile(operands[i], step.at[i]), loaded_->part)) {
            loaded_->is_overwritten = true;
        }
    }
}

void PhysicalAccesses::assign_matmul(const Step& step, std::vector<PhysicalAccess> accesses) {
    const auto& operands = program_.templates[program_.runs[step.run].instruction].operands;
    const auto stationary = std::ranges::find(operands, Role::Stationary, &Operand::role);
    const auto index = stationary - operands.begin();
    const Step::At& at = step.at[static_cast<std::size_t>(index)];
    const Loaded wanted{.buffer = stationary->buffer,
                        .instance = at.instance,
                        .part = part_of_tile(*stationary, at)};
    skip_waits();
    if (queues_.entries()[next_entry_].instruction.what->operation == Operation::LoadStationary) {
        take_node().accesses = {accesses[static_cast<std::size_t>(index)]};
        loaded_ = wanted;
    } else {
        check_stationary(wanted, fmt::format("matmul {}", nodes_.size()));
        ++reused_stationaries_;
    }
    accesses.erase(accesses.begin() + index);
    Node& node = take_node();
    EXPECT_EQ(node.name, "nc_matmul");
    node.accesses = std::move(accesses);
}

void PhysicalAccesses::check_stationary(const Loaded& wanted, const std::string& name) {
    if (!loaded_ || loaded_->buffer != wanted.buffer || loaded_->instance != wanted.instance ||
        loaded_->part.base_byte != wanted.part.base_byte ||
        !(loaded_->part.pattern == wanted.part.pattern)) {
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

Node& PhysicalAccesses::take_node() {
    skip_waits();
    const RecordedQueues::Entry& entry = queues_.entries().at(next_entry_++);
    Node& node = nodes_.emplace_back(Node{.queue = entry.queue,
                                          .number = ++counted_[entry.queue],
                                          .name = entry.instruction.what->name});
    learn(node, entry.instruction);
    by_number_[{node.queue, node.number}] = nodes_.size() - 1;
    return node;
}

void PhysicalAccesses::learn(Node& node, const neuron_core::QueuedInstruction& instruction) {
    const auto merge = [&node](const Node& other) {
        for (std::size_t queue = 0; queue < node.known.size(); ++queue) {
            node.known[queue].done = std::max(node.known[queue].done, other.known[queue].done);
            node.known[queue].read = std::max(node.known[queue].read, other.known[queue].read);
        }
    };
    const auto before = latest_.find(node.queue);
    if (before != latest_.end()) {
        merge(nodes_[before->second]);
    }
    for (const neuron_core::SemaphoreWait& wait : instruction.waits()) {
        const auto queue = static_cast<QueueId>(wait.semaphore / 2);
        merge(nodes_[by_number_.at({queue, wait.at_least})]);
        lowering::WaitSet::Need& known = node.known[queue];
        std::uint64_t& value = wait.semaphore % 2 == 0 ? known.done : known.read;
        value = std::max<std::uint64_t>(value, wait.at_least);
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

}  // namespace trnsim::test
