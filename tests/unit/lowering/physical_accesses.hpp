// SPDX-License-Identifier: Apache-2.0
// What each lowered instruction touches, byte by byte, and what the semaphores make it wait for.
#pragma once

#include "recorded_queues.hpp"
#include "trnsim/lowering/lowering.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::test {

/// A memory: SBUF, PSUM, one tile or HBM tensor, or the copy of a spilled tile.
struct Memory {
    Space space = Space::Sbuf;
    std::uint32_t buffer = 0;   ///< Not of SBUF and PSUM as a whole.
    std::int64_t instance = 0;  ///< The same.
    bool is_spill_copy = false;
    // NOLINTNEXTLINE(readability-implicit-bool-conversion): version 14 misfires on a defaulted <=>
    friend auto operator<=>(const Memory&, const Memory&) = default;
};

/// Bytes that an instruction reads or writes, within a memory or within a tile.
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
    /// Of every queue, the latest instruction that has certainly ended when this one starts.
    std::array<std::uint64_t, neuron_core::kQueues> known{};
};

/// Lowers a program, and watches which bytes its instructions touch.
class PhysicalAccesses : private lowering::LoweringObserver {
public:
    PhysicalAccesses(const program::Program& program,
                     const ChipSpec& chip,
                     const lowering::Policies& policies);

    [[nodiscard]] int spill_saves() const { return spill_saves_; }
    [[nodiscard]] int overlays() const { return overlays_; }
    [[nodiscard]] bool is_pooled() const { return is_pooled_; }
    /// Whether loads are planned.
    [[nodiscard]] bool is_planned() const { return is_planned_; }
    [[nodiscard]] int reused_stationaries() const { return reused_stationaries_; }
    /// How often a step comes after another one by an edge.
    [[nodiscard]] int edges() const { return edges_; }
    /// Transfers that an engine triggers, spills among them.
    [[nodiscard]] int triggers() const { return triggers_; }
    /// Steps that came onto their queue after a later one.
    [[nodiscard]] int overtaken() const { return overtaken_; }

    // Each of these is empty if there is none.
    /// The first conflict that no semaphore orders.
    [[nodiscard]] std::string first_unordered() const;
    /// The first two steps that touch the same bytes of a tile or tensor, one of them writing, and
    /// are not in program order.
    [[nodiscard]] std::string first_exchanged() const;
    /// The first step that may begin before one has ended that it comes after by an edge.
    [[nodiscard]] std::string first_broken_edge() const;
    /// The first two tiles in the same bytes at the same time.
    [[nodiscard]] std::string first_collision() const;
    /// The first matmul without LoadStationary that does not find its tile in the array.
    [[nodiscard]] const std::string& first_stale_stationary() const { return stale_; }

private:
    /// A step of the program that is not an allocation.
    struct Executed {
        std::uint32_t instruction = 0;
        std::vector<program::Step::At> at{};
        std::vector<PhysicalAccess> parts{};    ///< Operands, relative to their tiles and tensors.
        std::optional<std::size_t> place{};     ///< Among all steps that were lowered.
        std::vector<std::size_t> depends_on{};  ///< Earlier steps: edges of the schedule.
        std::size_t first = 0;                  ///< Its own nodes: the first,
        std::size_t last = 0;                   ///< and the last.
    };
    /// What was written to a tile, while it lies at one place.
    struct Stay {
        Memory tile;
        std::int64_t address = 0;
        std::int64_t end = 0;
        std::size_t first = 0;  ///< Node.
        std::size_t last = 0;
    };
    /// The part of a tile that the array holds.
    struct Loaded {
        PhysicalAccess part;
        bool is_overwritten = false;
    };

    void lowered(const lowering::PlannedStep& step) override;
    void moved(const lowering::Tile& tile, bool is_save) override;
    /// The steps in the order of the program, or in that of its plan of loads.
    template <typename Next>
    void read_program(Next next);
    /// Whether its bytes were settled in that order.
    [[nodiscard]] bool is_in_turn(const lowering::ResolvedOperand& operand) const;
    [[nodiscard]] PhysicalAccess place(const PhysicalAccess& part,
                                       const lowering::ResolvedOperand& operand) const;
    void stay(const lowering::Tile& tile, bool is_write, bool is_reload);
    Node& take_node();
    void skip_waits();
    void skip_trigger();
    /// What comes before a step's own instruction: barriers, activation tables, its trigger.
    void skip_preparation();
    void learn(Node& node, const neuron_core::QueuedInstruction& instruction);
    void assign_matmul(const Executed& step, std::vector<PhysicalAccess> accesses);
    void check_stationary(const PhysicalAccess& wanted, const std::string& name);

    const program::Program& program_;
    lowering::Lowering lowering_;
    RecordedQueues queues_;
    std::vector<Executed> steps_;  ///< In program order, or in that of the plan.
    std::size_t next_entry_ = 0;
    std::size_t lowered_ = 0;
    std::vector<Node> nodes_;
    std::array<std::uint64_t, neuron_core::kQueues> counted_{};
    std::array<std::uint64_t, neuron_core::kQueues> newest_{};  ///< Latest step of each queue.
    std::map<neuron_core::QueueId, std::vector<std::size_t>> triggers_of_;  ///< Nodes, in order.
    std::map<std::pair<neuron_core::QueueId, std::uint64_t>, std::size_t> by_number_;
    std::map<neuron_core::QueueId, std::size_t> latest_;
    std::vector<Stay> stays_;
    std::map<Memory, std::size_t> current_;  ///< By tile: its latest stay.
    std::optional<Loaded> loaded_;
    std::string stale_;
    int spill_saves_ = 0;
    int triggers_ = 0;
    int edges_ = 0;
    int overlays_ = 0;
    bool is_pooled_ = false;
    bool is_planned_ = false;
    int reused_stationaries_ = 0;
    int overtaken_ = 0;
};

}  // namespace trnsim::test
