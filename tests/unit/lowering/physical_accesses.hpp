// SPDX-License-Identifier: Apache-2.0
// What each lowered instruction touches, byte by byte, and what the semaphores make it wait for.
#pragma once

#include "recorded_queues.hpp"
#include "trnsim/lowering/lowering.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace trnsim::test {

/// A memory: SBUF, PSUM, one HBM tensor, or the copy of a spilled tile.
struct Memory {
    Space space = Space::Sbuf;
    std::uint32_t buffer = 0;   ///< HBM, and spilled copies.
    std::int64_t instance = 0;  ///< The same.
    bool is_spill_copy = false;
    friend auto operator<=>(const Memory&, const Memory&) = default;
};

/// Bytes that an instruction reads or writes.
struct PhysicalAccess {
    Memory memory;
    AccessPattern pattern;
    std::int64_t base_byte = 0;
    int element_bytes = 1;
    std::int32_t partition = 0;
    std::int32_t partitions = 1;
    Access access = Access::Read;
};

/// One entry of an instruction queue.
struct Node {
    neuron_core::QueueId queue = 0;
    std::uint64_t number = 0;  ///< Within its queue, from 1; 0: it only waits.
    std::string name{};
    std::vector<PhysicalAccess> accesses{};
    /// Of every queue, the latest instruction certainly done and certainly read when this one
    /// starts.
    std::array<lowering::WaitSet::Need, neuron_core::kQueues> known{};
};

/// Lowers a program and finds out what its instructions touch by repeating the choice of slots.
class PhysicalAccesses : private lowering::TileMemory::Mover {
public:
    PhysicalAccesses(const program::Program& program,
                     const ChipSpec& chip,
                     const lowering::Policies& policies);

    [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
    [[nodiscard]] int spill_saves() const { return spill_saves_; }
    [[nodiscard]] int overlays() const { return overlays_; }
    [[nodiscard]] bool is_pooled() const { return is_pooled_; }
    [[nodiscard]] int reused_stationaries() const { return reused_stationaries_; }

    /// The first conflict that no semaphore orders; empty if there is none.
    [[nodiscard]] std::string first_unordered() const;
    /// The first matmul without LoadStationary that does not find its tile in the array; empty if
    /// none.
    [[nodiscard]] const std::string& first_stale_stationary() const { return stale_; }

private:
    /// A part of a tile that the array holds; places are relative to the tile.
    struct Loaded {
        std::uint32_t buffer = 0;
        std::int64_t instance = 0;
        PhysicalAccess part;
        bool is_overwritten = false;
    };

    void walk();
    void run(const program::Step& step);
    PhysicalAccess access(const Operand& operand, const program::Step::At& at);
    void save(lowering::TileMemory::Slot& slot) override { add_spill(slot, true); }
    void reload(lowering::TileMemory::Slot& slot) override { add_spill(slot, false); }
    void add_spill(const lowering::TileMemory::Slot& slot, bool is_save);
    Node& take_node();
    void skip_waits();
    void learn(Node& node, const neuron_core::QueuedInstruction& instruction);
    void assign_matmul(const program::Step& step, std::vector<PhysicalAccess> accesses);
    void check_stationary(const Loaded& wanted, const std::string& name);
    void note_writes(const program::Step& step);

    const program::Program& program_;
    lowering::Lowering lowering_;
    RecordedQueues queues_;
    lowering::TileMemory tiles_;
    std::uint64_t stamp_ = 0;
    std::size_t next_entry_ = 0;
    std::vector<Node> nodes_;
    std::array<std::uint64_t, neuron_core::kQueues> counted_{};
    std::map<std::pair<neuron_core::QueueId, std::uint64_t>, std::size_t> by_number_;
    std::map<neuron_core::QueueId, std::size_t> latest_;
    std::optional<Loaded> loaded_;
    std::string stale_;
    int spill_saves_ = 0;
    int overlays_ = 0;
    bool is_pooled_ = false;
    int reused_stationaries_ = 0;
};

}  // namespace trnsim::test
