// SPDX-License-Identifier: Apache-2.0
// A step of the program between being read and being put on its queue.
#pragma once

#include "trnsim/base/inline_vector.hpp"
#include "trnsim/lowering/dependencies/access_history.hpp"
#include "trnsim/lowering/dependencies/producer_table.hpp"
#include "trnsim/lowering/order/memory_history.hpp"
#include "trnsim/lowering/tiles/tile_places.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace trnsim::lowering {

/// One operand of a step, with the memory it lies in.
struct ResolvedOperand {
    const Operand* operand = nullptr;
    Tile* tile = nullptr;                   ///< On chip, if the lowering chooses the place.
    MemoryHistory* memory = nullptr;        ///< Else, if anybody ever writes there.
    MemoryHistory::Block* block = nullptr;  ///< In it, if there is one for all of the region.
    Region region{};
    bool is_loaded = false;       ///< Accessed by LoadStationary,
    bool is_streamed = true;      ///< by the instruction itself; indices may be by both.
    bool is_accumulated = false;  ///< Written by the ACTIVATION_READ_ACCUMULATOR after it.
    bool is_collected = false;    ///< What it waits for is among its step's conditions.
    Lanes lanes{};                ///< Of a transfer, in HBM.

    /// Adds what an access by `queue` has to wait for; `slot`: the tile's bytes.
    void collect(neuron_core::QueueId queue, const Slot* slot, WaitSet& waits) const;

    /// The access is instruction `number` of `queue`. `is_copy`: what it writes stays in HBM too.
    void record(neuron_core::QueueId queue, std::uint64_t number, bool is_copy = false) const;

    // While the step waits in a window:
    /// Tells those who access the same bytes later,
    void announce(PlannedStep& step) const;
    /// and no longer.
    void withdraw(const PlannedStep& step) const;
    /// Calls f(step) for each that told so and has to come first, but for those that another one of
    /// them waits for; maybe more than once.
    template <typename F>
    void for_each_before(F&& f) const {
        if (tile != nullptr) {
            tile->pending.for_each_before(region, operand->access, f);
        } else if (memory != nullptr) {
            memory->for_each_before(region, operand->access, f, block);
        }
    }
};

/// A step whose operands have their places and whose queue is chosen.
struct alignas(64) PlannedStep {
    /// What an instruction waits for, and an estimate of when it is met.
    struct Condition {
        WaitSet waits;
        Picoseconds met{};
    };

    /// Many times as large as a step: only those that are looked at have them.
    struct Conditions {
        Condition own{};   ///< Of the instruction,
        Condition load{};  ///< and of its LoadStationary, if it has one.
    };

    /// One of a list of steps; its window's.
    struct Link {
        PlannedStep* step = nullptr;
        Link* next = nullptr;
    };

    // A cache line for the window, which looks at many steps for every one that it takes:
    std::uint64_t order = 0;    ///< Place in the program.
    Picoseconds met{};          ///< When the conditions are met, if they are known,
    Obstacle lack{};            ///< or why they are not: its tiles', when asked last.
    Link* blocked = nullptr;    ///< Later steps in the window that this one blocks.
    std::int32_t blockers = 0;  ///< Earlier steps in the window that come first.
    bool has_waits = false;     ///< The conditions are known,
    bool has_guess = false;     ///< or those of operands whose place is known.
    bool is_in_order = false;   ///< Passes nothing on its queue, and nothing passes it.
    bool has_load = false;      ///< LoadStationary goes before it.
    Engine engine = Engine::Vector;
    std::uint32_t instruction = 0;  ///< Template of the program.
    std::int32_t groups = 0;        ///< As IssueTable::groups().
    neuron_core::QueueId queue = 0;
    std::optional<neuron_core::QueueId> trigger{};  ///< Of a transfer: where that stands too.

    // And the rest:
    InlineVector<ResolvedOperand, 4> operands{};
    const KnownWaits* known = &kNothingKnown;  ///< By its queue.
    const WaitSet* control = &kNoNeeds;        ///< What decides whether it is executed, and where.
    std::vector<const ProducerExecution*> depends_on{};  ///< By the program's word.
    ProducerExecution* producer = nullptr;  ///< What it is for those that depend on it.
    /// Final once whatever conflicts with it and comes before it is on its queue; its window's.
    Conditions* when = nullptr;

    /// As new, but for its memory.
    void clear();

    /// Looks up what it waits for and its queue did not. With a tile of which nobody knows where it
    /// will be it is a guess, to be completed by another call. \pre there is room for it: `when`
    void find_waits(const TilePlaces& places);

    /// Bytes were moved: what it waits for has to be looked up again.
    void forget_waits() { has_waits = has_guess = false; }

private:
    /// Empties a set, and adds what does not come from operands.
    void begin(WaitSet& waits) const;
};

}  // namespace trnsim::lowering
