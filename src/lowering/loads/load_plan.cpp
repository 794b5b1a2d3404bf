// SPDX-License-Identifier: Apache-2.0
// A schedule on paper, and loads just in time for it.
#include "trnsim/lowering/loads/load_plan.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <span>

namespace trnsim::lowering {

using program::Program;
using program::Step;

namespace {

/// How far the plan is made before the first half of it is given out, in picoseconds. Loads begin
/// earlier where others behind them need the DMA engines, but for those beyond.
constexpr std::int64_t kHorizon = 60'000'000;
/// Steps of the plan at the most.
constexpr std::size_t kMostItems = 16'384;

bool must_stay_in_order(const Program& program, const RuntimeIterations& iterations) {
    return std::ranges::any_of(program.loops, [&](const program::Loop& loop) {
        const bool has_iterations = loop.kind == program::LoopKind::Runtime;
        return loop.is_in_order || (has_iterations && !iterations.has_any());
    });
}

std::size_t most_operands(const Program& program) {
    std::size_t most = 0;
    for (const InstructionTemplate& instruction : program.templates) {
        most = std::max(most, instruction.operands.size());
    }
    return most;
}

std::size_t most_tiles(const std::vector<PlannedAccesses>& accesses) {
    std::size_t most = 0;
    for (const PlannedAccesses& one : accesses) {
        most = std::max(most, one.tiles.size());
    }
    return most;
}

}  // namespace

std::optional<LoadPlan> LoadPlan::make(const Program& program,
                                       const std::vector<SiteLiveness>& liveness,
                                       const std::vector<InstructionPlan>& plans,
                                       const IssueTable& table,
                                       const ChipSpec& chip,
                                       const RuntimeIterations& iterations) {
    LoadPlan plan(program, liveness, plans, table, chip, iterations);
    const bool has_sites = std::ranges::any_of(
        plan.sites_, [](const std::optional<Site>& site) { return site.has_value(); });
    if (!has_sites || must_stay_in_order(program, iterations)) {
        return std::nullopt;
    }
    LoadPlan trial = plan;
    trial.kept_ = KeptSteps(0, most_tiles(plan.accesses_));  // Nobody looks at the steps.
    if (!trial.runs()) {
        return std::nullopt;
    }
    for (const std::optional<Site>& site : trial.sites_) {
        plan.needs_.push_back(site ? Need{.least = std::max<std::int64_t>(site->live_peak, 1),
                                          .wanted = site->slots.size()}
                                   : Need{});
    }
    return plan;
}

LoadPlan::LoadPlan(const program::Program& program,
                   const std::vector<SiteLiveness>& liveness,
                   const std::vector<InstructionPlan>& plans,
                   const IssueTable& table,
                   const ChipSpec& chip,
                   const RuntimeIterations& iterations)
    : program_(&program),
      cursor_(program),
      sites_(program.buffers.size()),
      written_(program.buffers.size()),
      iterations_(iterations),
      has_parts_(iterations.has_any() || std::ranges::any_of(plans, &InstructionPlan::is_fence)) {
    std::vector<bool> is_planned = loaded_sites(program);
    for (std::size_t site = 0; site < sites_.size(); ++site) {
        is_planned[site] = is_planned[site] && liveness[site].last_step >= 0;
        if (is_planned[site]) {
            sites_[site].emplace(Site{.uses = UseCounter(liveness[site].uses)});
        }
    }
    accesses_ = plan_accesses(program, is_planned, plans, table, chip);
    kept_ = KeptSteps(most_operands(program), most_tiles(accesses_));
}

bool LoadPlan::runs() {
    while (next() != nullptr) {
    }
    return !is_impossible_;
}

bool LoadPlan::find_tiles(const Step& step, const PlannedAccesses& accesses, Item item) {
    return std::ranges::all_of(accesses.tiles, [&](const PlannedAccesses::Tile& tile) {
        const TileId* id = sites_[tile.buffer]->living.find(step.at[tile.operand].instance);
        if (id != nullptr) {  // Else, without a plan, the lowering says so.
            kept_.add_tile(item, *id);
        }
        return id != nullptr;
    });
}

void LoadPlan::read() {
    const Step* step = cursor_.next();
    if (step == nullptr) {
        is_over_ = true;
        return;
    }
    if (step->is_alloc) {
        return read_alloc(*step);
    }
    const PlannedAccesses& accesses = accesses_[program_->runs[step->run].instruction];
    if (const std::int64_t ended = iterations_.ended_before(*step); ended_ != ended) {
        ended_ = ended;
        end_part();
        begin_part(end_);
    }
    ++steps_read_;
    const Item item = kept_.keep(*step);
    kept_[item].ended = ended_;
    if (program_->runs[step->run].has_edges()) {
        kept_.keep_iterations(item, step->iterations);
    }
    if (!find_tiles(*step, accesses, item)) {
        is_impossible_ = true;
    } else if (accesses.load) {
        read_load(item, *accesses.load);
    } else if (accesses.is_fence) {
        end_part();
        begin_part(read_other(item, accesses));
    } else {
        read_other(item, accesses);
    }
}

/// Loads whose tiles only other parts read are in time before its last step.
void LoadPlan::end_part() {
    for (const TileId id : loaded_) {
        Tile& tile = tiles_[id];
        if (!tile.loads.empty()) {
            arrival(tile);
            need(tile, latest_);
            begin_life(tile);
        }
    }
    loaded_.clear();
}

void LoadPlan::begin_part(std::int64_t earliest) {
    part_begin_ = std::max(earliest, latest_ + 1);
    bytes_at_ = std::max(bytes_at_, part_begin_);
    for (std::int64_t& free_at : free_at_) {
        free_at = std::max(free_at, part_begin_);
    }
}

void LoadPlan::read_alloc(const Step& step) {
    if (!sites_[step.run]) {
        const Item item = kept_.keep(step);
        kept_[item].time = latest_;
        items_.push_back(item);
        return;
    }
    Site& site = *sites_[step.run];
    const UseCounter::Instance next = site.uses.next();
    if (next.uses > 0) {
        site.living[next.number] = tiles_.begin(step.run, next.number, next.uses);
    }
}

void LoadPlan::read_load(Item item, const Load& what) {
    const TileId id = kept_.tiles(item).front();
    Tile& tile = tiles_[id];
    is_impossible_ = is_impossible_ || tile.is_needed;
    kept_[item].is_load = true;
    Load& load = tile.loads.emplace_back(what);
    load.item = item;
    load.tile = id;
    load.earliest = part_begin_;
    if (has_parts_) {
        loaded_.push_back(id);
    }
    if (--tile.to_read == 0) {  // Nobody reads it.
        tile.end = {.time = latest_, .step = steps_read_};
        need(tile, latest_);
        ended(tile);
    }
}

void LoadPlan::need(Tile& tile, std::int64_t time) {
    Site& site = site_of(tile);
    tile.reader = tile.loads.empty() ? tile.reader : steps_read_;
    for (Load& load : tile.loads) {
        const std::int64_t lead = load.latency + load.transfer;
        load.time = std::max({time - lead, site.latest, load.earliest});
        site.latest = load.time;
        loads_.insert(load);
    }
    tile.loads.clear();
}

std::int64_t LoadPlan::arrival(Tile& tile) {
    if (tile.ready == 0) {
        for (const Load& load : tile.loads) {
            bytes_at_ += load.transfer;
            tile.ready = bytes_at_ + load.latency;
        }
    }
    return tile.ready;
}

std::int64_t LoadPlan::read_other(Item item, const PlannedAccesses& accesses) {
    const std::span<const TileId> tiles = kept_.tiles(item);
    std::int64_t* const free_at =
        accesses.engine ? &free_at_[static_cast<std::size_t>(*accesses.engine)] : nullptr;
    std::int64_t start = free_at == nullptr ? part_begin_ : *free_at;
    for (const TileId id : tiles) {
        start = std::max(start, arrival(tiles_[id]));
    }
    for (const std::uint32_t buffer : accesses.reads) {
        start = std::max(start, written_[buffer]);
    }
    const std::int64_t end = start + accesses.duration;
    if (free_at != nullptr) {
        *free_at = end;
    }
    for (const TileId id : tiles) {
        use(tiles_[id], start, end);
    }
    for (const std::uint32_t buffer : accesses.writes) {
        written_[buffer] = end;
    }
    for (const TileId id : tiles) {
        Tile& tile = tiles_[id];
        if (--tile.to_read == 0) {
            --site_of(tile).live;
            ended(tile);
        }
    }
    end_ = std::max(end_, end);
    latest_ = std::max(latest_, start);
    kept_[item].time = start;
    items_.push_back(item);
    return end;
}

void LoadPlan::use(Tile& tile, std::int64_t start, std::int64_t end) {
    is_impossible_ = is_impossible_ || (tile.loads.empty() && !tile.is_needed);
    need(tile, start);
    begin_life(tile);
    tile.end = {.time = std::max(tile.end.time, end), .step = steps_read_};
}

void LoadPlan::begin_life(Tile& tile) {
    if (!tile.is_needed) {
        tile.is_needed = true;
        Site& site = site_of(tile);
        site.live_peak = std::max(site.live_peak, ++site.live);
    }
}

void LoadPlan::read_ahead() {
    const std::int64_t begin = items_.empty() ? latest_ : kept_[items_.front()].time;
    while (!is_over_ && items_.size() + loads_.size() < kMostItems &&
           (items_.empty() || latest_ < begin + 2 * kHorizon)) {
        read();
        if (is_impossible_) {
            return;
        }
    }
    loads_.find_triggers();
    until_ = begin + kHorizon;
    is_giving_out_ = is_first_ = true;
}

void LoadPlan::give_out() {
    const bool has_next =
        !items_.empty() && (is_first_ || is_over_ || kept_[items_.front()].time <= until_);
    if (has_next) {
        is_first_ = false;
        given_out_ = std::max(given_out_, kept_[items_.front()].time);
        begin_loads(given_out_);
        out_.push_back(items_.front());
        items_.pop_front();
        return;
    }
    if (items_.empty()) {  // What is left nobody reads.
        begin_loads(std::numeric_limits<std::int64_t>::max());
    }
    loads_.drop_begun();
    is_giving_out_ = false;
}

void LoadPlan::begin_loads(std::int64_t until) {
    while (const Load* load = loads_.begin(until)) {
        begin_load(*load);
    }
}

void LoadPlan::take_slot(Tile& tile, std::int64_t time) {
    tile.slot = site_of(tile).slots.take(time, tile.reader);
    if (tile.to_read == 0) {
        ended(tile);
    }
}

bool LoadPlan::has_slot(Tile& tile) {
    if (!tile.has_slot && tile.slot != PlannedSlots::kNone) {
        tile.has_slot = site_of(tile).slots.begin(tile.slot);
    }
    return tile.has_slot;
}

void LoadPlan::ended(const Tile& tile) {
    if (tile.slot != PlannedSlots::kNone) {
        site_of(tile).slots.end(tile.slot, tile.end);
    }
}

void LoadPlan::begin_load(const Load& load) {
    Tile& tile = tiles_[load.tile];
    RingBuffer<Load>& held = site_of(tile).held;
    const bool may_take = held.empty() || tiles_[held.back().tile].slot != PlannedSlots::kNone;
    if (may_take && tile.slot == PlannedSlots::kNone) {
        take_slot(tile, load.trigger);
    }
    if (held.empty() && has_slot(tile)) {
        put_load(load);
    } else {
        held.push_back(load);
    }
}

void LoadPlan::begin_held(Site& site, std::int64_t time) {
    while (!site.held.empty()) {
        Tile& tile = tiles_[site.held.front().tile];
        if (tile.slot == PlannedSlots::kNone) {
            take_slot(tile, time);
        }
        if (!has_slot(tile)) {
            return;
        }
        put_load(site.held.front());
        site.held.pop_front();
    }
}

void LoadPlan::put_load(const Load& load) {
    Tile& tile = tiles_[load.tile];
    if (--tile.to_emit == 0) {
        release(tile);
    }
    out_.push_back(load.item);
}

void LoadPlan::leave(Item item) {
    const bool is_load = kept_[item].is_load;
    for (const TileId id : kept_.tiles(item)) {
        Tile& tile = tiles_[id];
        assert(tile.has_slot);
        if (!is_load && --tile.to_emit == 0) {
            release(tile);
            begin_held(site_of(tile), kept_[item].time);
        }
        if (--tile.to_resolve == 0) {
            site_of(tile).living.erase(tile.instance);
            tiles_.end(id);
        }
    }
    kept_.drop(item);
}

const Step* LoadPlan::next() {
    if (current_) {
        leave(*current_);
        current_.reset();
    }
    while (out_.empty()) {
        if (is_giving_out_) {
            give_out();
        } else if (is_impossible_ || (is_over_ && items_.empty() && loads_.empty())) {
            return nullptr;
        } else {
            read_ahead();
        }
    }
    current_ = out_.front();
    out_.pop_front();
    Step& step = kept_[*current_].step;
    step.at = kept_.at(*current_);
    step.iterations = kept_.iterations(*current_);
    return &step;
}

std::optional<std::int64_t> LoadPlan::slot(std::uint32_t buffer, std::int64_t instance) {
    const TileId* tile = sites_[buffer]->living.find(instance);
    return tile == nullptr || tiles_[*tile].slot < 0 ? std::nullopt
                                                     : std::optional(tiles_[*tile].slot);
}

}  // namespace trnsim::lowering
