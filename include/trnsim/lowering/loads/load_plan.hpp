// SPDX-License-Identifier: Apache-2.0
// When loads begin, and which slot each takes, settled before anything is scheduled.
#pragma once

#include "trnsim/base/ring_buffer.hpp"
#include "trnsim/base/units.hpp"
#include "trnsim/lowering/analysis/liveness.hpp"
#include "trnsim/lowering/analysis/runtime_iterations.hpp"
#include "trnsim/lowering/instructions/instruction_plan.hpp"
#include "trnsim/lowering/instructions/issue_table.hpp"
#include "trnsim/lowering/loads/due_loads.hpp"
#include "trnsim/lowering/loads/kept_steps.hpp"
#include "trnsim/lowering/loads/planned_accesses.hpp"
#include "trnsim/lowering/loads/planned_site.hpp"
#include "trnsim/lowering/loads/planned_tiles.hpp"
#include "trnsim/program/cursor.hpp"
#include "trnsim/program/program.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace trnsim::lowering {

/// A compiler's plan of loads: each just in time, into the slot of its site that has been free for
/// longest by then.
///
///     loads       a - - >  b - - >  c - - >        slots of a, b, c: 0, 1, 0
///     engine            | uses a | uses b | uses c
///
/// The times are those of a schedule on paper: every engine in program order, as soon as its
/// operands are there, at the cost of its instructions. A load takes what there is from its trigger
/// to the first byte, its descriptors, and the wake-up of its reader; that its DMA engines begin
/// one after the other and that bytes have to become visible is left out. So a site has no more
/// slots than the plan needs, and where loads take longer than planned their readers wait, and with
/// them the next loads into their slots (decisions 0027, 0046). Yields the program's steps with the
/// loads in their new places; no other step passes another one. Iterations of loops of the run
/// time, and fences, are the ends of parts that no load leaves.
class LoadPlan {
public:
    /// Slots of a site.
    struct Need {
        std::int64_t least = 0;   ///< With fewer the program does not run in its order.
        std::int64_t wanted = 0;  ///< The plan's own; 0: the site is not planned.
    };

    /// nullopt: nothing to plan, or a loop keeps its order, or tiles are read before a load of
    /// them. The arguments must outlive the plan, but not the iterations.
    [[nodiscard]] static std::optional<LoadPlan> make(const program::Program& program,
                                                      const std::vector<SiteLiveness>& liveness,
                                                      const std::vector<InstructionPlan>& plans,
                                                      const IssueTable& table,
                                                      const ChipSpec& chip,
                                                      const RuntimeIterations& iterations);

    /// Whether loads of a site are planned.
    [[nodiscard]] bool has(std::uint32_t buffer) const { return sites_[buffer].has_value(); }
    /// By buffer.
    [[nodiscard]] const std::vector<Need>& needs() const { return needs_; }

    /// Gives a site no more slots than that; loads then wait. \pre has(buffer), `least`, no next()
    void limit(std::uint32_t buffer, std::int64_t slots) { sites_[buffer]->slots.limit(slots); }

    /// The next step, or nullptr at the end. The result is overwritten by the next call.
    const program::Step* next();
    /// RuntimeIterations::ended_before() of the last step, an instruction.
    [[nodiscard]] std::int64_t ended_iterations() const { return kept_[*current_].ended; }

    /// The slot of an instance that the last step uses; nullopt: it is dead. \pre has(buffer)
    [[nodiscard]] std::optional<std::int64_t> slot(std::uint32_t buffer, std::int64_t instance);

private:
    using Item = KeptSteps::Item;
    using Load = PlannedLoad;
    using Tile = PlannedTile;
    using TileId = PlannedTileId;
    using Site = PlannedSite;

    LoadPlan(const program::Program& program,
             const std::vector<SiteLiveness>& liveness,
             const std::vector<InstructionPlan>& plans,
             const IssueTable& table,
             const ChipSpec& chip,
             const RuntimeIterations& iterations);

    [[nodiscard]] Site& site_of(const Tile& tile) { return *sites_[tile.buffer]; }
    void read();
    void read_alloc(const program::Step& step);
    void read_load(Item item, const Load& what);
    std::int64_t read_other(Item item, const PlannedAccesses& accesses);
    void end_part();
    void begin_part(std::int64_t earliest);
    std::int64_t arrival(Tile& tile);  ///< On paper: its first reader settles it.
    void need(Tile& tile, std::int64_t time);
    void use(Tile& tile, std::int64_t start, std::int64_t end);
    void begin_life(Tile& tile);

    /// False: one is not allocated yet.
    bool find_tiles(const program::Step& step, const PlannedAccesses& accesses, Item item);
    void read_ahead();
    void give_out();  ///< The next of what was read ahead, or nothing, if that is over.
    void begin_loads(std::int64_t until);
    void begin_load(const Load& load);
    void begin_held(Site& site, std::int64_t time);
    void put_load(const Load& load);
    void leave(Item item);  ///< It was given out, and its user is done with it.
    void take_slot(Tile& tile, std::int64_t time);
    /// Whether its loads can have their place in the new order.
    [[nodiscard]] bool has_slot(Tile& tile);
    void ended(const Tile& tile);  ///< It has been read for the last time.
    void release(const Tile& tile) { site_of(tile).slots.release(tile.slot); }
    /// Goes through the program. False: a tile is read before a load of it.
    [[nodiscard]] bool runs();

    const program::Program* program_;
    std::vector<Need> needs_{};
    program::Cursor cursor_;
    std::vector<std::optional<Site>> sites_;  ///< By buffer.
    std::vector<PlannedAccesses> accesses_;   ///< By template.
    std::vector<std::int64_t> written_;       ///< By buffer: when the last write to it ends.
    std::array<std::int64_t, kSequencedEngines.size()> free_at_{};
    std::int64_t bytes_at_ = 0;  ///< When all bytes needed so far could be there, but for latency.
    RuntimeIterations iterations_;
    std::int64_t ended_ = 0;        ///< How many of those ended before the last step read.
    bool has_parts_ = false;        ///< There is more than one, then:
    std::int64_t part_begin_ = 0;   ///< when the one that is read begins,
    std::int64_t end_ = 0;          ///< the end of all steps read,
    std::vector<TileId> loaded_{};  ///< and tiles with loads in the part that is read.
    std::int64_t steps_read_ = 0;
    std::int64_t latest_ = 0;     ///< Start of a step read so far;
    std::int64_t given_out_ = 0;  ///< of one that has its place in the new order.
    bool is_over_ = false;
    bool is_impossible_ = false;  ///< A tile is read before a load, or used before it is allocated.
    PlannedTiles tiles_{};
    KeptSteps kept_{0, 0};
    RingBuffer<Item> items_{};       ///< Read, in program order, but for loads;
    DueLoads loads_{};               ///< those that have to begin;
    RingBuffer<Item> out_{};         ///< both, in their new order, as far as that is settled.
    std::optional<Item> current_{};  ///< What the last call gave out.
    bool is_giving_out_ = false;     ///< What was read ahead,
    bool is_first_ = false;          ///< and nothing of it yet;
    std::int64_t until_ = 0;         ///< up to that start.
};

}  // namespace trnsim::lowering
