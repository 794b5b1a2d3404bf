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

}  // namespace

PhysicalAccesses::PhysicalAccesses(const program::Program& program,
                                   const ChipSpec& chip,
                                   const lowering::Policies& policies)
    : program_(program),
      lowering_(program, chip, policies),
      pool_(chip.neuron_core.sbuf.usable_partition_kib * 1024),
      sites_(program.buffers.size()) {
    const auto liveness = lowering::analyse_liveness(program);
    for (std::size_t site = 0; site < sites_.size(); ++site) {
        const lowering::SitePlacement& placement = lowering_.allocation().sites[site];
        const auto number = static_cast<std::uint32_t>(site);
        if (placement.is_pooled) {
            sites_[site] = std::make_unique<lowering::PooledTiles>(
                pool_, number, placement.slot_bytes, liveness[site]);
            is_pooled_ = true;
        } else if (placement.slots > 0) {
            sites_[site] = std::make_unique<lowering::TileSlots>(placement, liveness[site], number);
            overlays_ += placement.overlaid.empty() ? 0 : 1;
        }
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
            allocate(step->run);
        } else {
            run(*step);
        }
    }
}

void PhysicalAccesses::allocate(std::uint32_t buffer) {
    if (!sites_[buffer]) {
        --stamp_;
        return;
    }
    TileStore& site = *sites_[buffer];
    if (!site.next_is_unused()) {
        make_room(buffer);
    }
    site.allocate();
}

void PhysicalAccesses::make_room(std::uint32_t buffer) {
    while (!sites_[buffer]->has_free_slot()) {
        TileStore::Slot& slot = sites_[buffer]->least_recently_used(stamp_);
        if (slot.is_dirty) {
            add_spill(slot.buffer, slot.instance, slot.address, true);
            slot.is_dirty = false;
            slot.is_saved = true;
        }
        sites_[slot.buffer]->forget(slot);
    }
}

void PhysicalAccesses::add_spill(std::uint32_t buffer,
                                 std::int64_t instance,
                                 std::int64_t address,
                                 bool is_save) {
    const program::Buffer& of = program_.buffers[buffer];
    PhysicalAccess tile{.memory = {.space = Space::Sbuf},
                        .pattern = {{1, of.free_bytes()}},
                        .base_byte = address,
                        .partitions = static_cast<std::int32_t>(of.partitions()),
                        .access = is_save ? Access::Read : Access::Write};
    PhysicalAccess copy = tile;
    copy.memory = {
        .space = Space::Hbm, .buffer = buffer, .instance = instance, .is_spill_copy = true};
    copy.base_byte = 0;
    copy.access = is_save ? Access::Write : Access::Read;
    Node& node = take_node();
    EXPECT_EQ(node.name, is_save ? "spill save" : "spill reload");
    node.accesses = {tile, copy};
    spill_saves_ += is_save ? 1 : 0;
}

PhysicalAccess PhysicalAccesses::access(const Operand& operand, const Step::At& at) {
    const int element = size_bytes(operand.dtype);
    PhysicalAccess result{.memory = {.space = operand.space},
                          .pattern = operand.pattern,
                          .base_byte = at.offset * element,
                          .element_bytes = element,
                          .partition = static_cast<std::int32_t>(at.partition),
                          .partitions = operand.partitions,
                          .access = operand.access};
    if (operand.space == Space::Hbm) {
        result.memory.buffer = operand.buffer;
        result.memory.instance = at.instance;
        return result;
    }
    TileStore& site = *sites_[operand.buffer];
    TileStore::Slot* slot = site.find(at.instance);
    if (slot == nullptr) {
        make_room(operand.buffer);
        slot = &site.restore(at.instance);
        if (slot->is_saved) {
            add_spill(operand.buffer, at.instance, slot->address, false);
        }
    }
    slot->last_use = stamp_;
    result.base_byte += slot->address;
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
        assign_matmul(instruction, accesses);
    } else {
        Node& node = take_node();
        EXPECT_EQ(node.name, name(instruction.op));
        node.accesses = accesses;
    }
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
        const Operand& operand = instruction.operands[i];
        if (operand.space != Space::Hbm) {
            TileStore::Slot& slot = *sites_[operand.buffer]->find(step.at[i].instance);
            if (operand.writes()) {
                slot.is_dirty = true;
                slot.is_saved = false;
            }
        }
    }
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
        const Operand& operand = instruction.operands[i];
        if (operand.space != Space::Hbm) {
            TileStore& site = *sites_[operand.buffer];
            site.use(*site.find(step.at[i].instance), stamp_);
        }
    }
}

void PhysicalAccesses::assign_matmul(const InstructionTemplate& instruction,
                                     std::vector<PhysicalAccess> accesses) {
    const auto stationary =
        std::ranges::find(instruction.operands, Role::Stationary, &Operand::role);
    const auto index = stationary - instruction.operands.begin();
    const PhysicalAccess loaded = accesses[static_cast<std::size_t>(index)];
    skip_waits();
    if (queues_.entries()[next_entry_].instruction.what->operation == Operation::LoadStationary) {
        take_node().accesses = {loaded};
        loaded_ = Loaded{.tile = loaded, .node = nodes_.size() - 1};
    } else {
        check_stationary(loaded, fmt::format("matmul {}", nodes_.size()));
        ++reused_stationaries_;
    }
    accesses.erase(accesses.begin() + index);
    Node& node = take_node();
    EXPECT_EQ(node.name, "nc_matmul");
    node.accesses = std::move(accesses);
}

void PhysicalAccesses::check_stationary(const PhysicalAccess& wanted, const std::string& name) {
    if (!loaded_ || loaded_->tile.base_byte != wanted.base_byte ||
        !(loaded_->tile.pattern == wanted.pattern)) {
        stale_ = name + ": the array holds another tile";
        return;
    }
    for (std::size_t i = loaded_->node + 1; i < nodes_.size(); ++i) {
        for (const PhysicalAccess& access : nodes_[i].accesses) {
            if (writes(access) && meet(access, wanted)) {
                stale_ = fmt::format(
                    "{}: {} {} wrote the tile after it was loaded", name, i, nodes_[i].name);
            }
        }
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
