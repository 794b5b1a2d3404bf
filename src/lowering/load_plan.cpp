// SPDX-License-Identifier: Apache-2.0
// A schedule on paper, and loads just in time for it.
#include "trnsim/lowering/load_plan.hpp"

#include "trnsim/base/rounding.hpp"
#include "trnsim/dma/dma_timing.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <limits>

namespace trnsim::lowering {

using program::Program;
using program::Step;

namespace {

/// How far the plan is made before the first half of it is given out, in picoseconds. Loads begin
/// earlier where others behind them need the DMA engines, but for those beyond.
constexpr std::int64_t kHorizon = 60'000'000;
/// Steps of the plan at the most.
constexpr std::size_t kMostItems = 16'384;

bool is_load(const InstructionTemplate& instruction, const std::vector<bool>& is_written) {
    const bool moves = instruction.op == Opcode::DmaCopy || instruction.op == Opcode::DmaTranspose;
    return moves && std::ranges::all_of(instruction.operands, [&](const Operand& operand) {
               const bool is_source = operand.access == Access::Read &&
                                      operand.space == Space::Hbm && !is_written[operand.buffer];
               const bool is_tile = operand.access == Access::Write && operand.space == Space::Sbuf;
               return !operand.indirect && (is_source || is_tile);
           });
}

bool must_stay_in_order(const Program& program, const std::vector<InstructionPlan>& plans) {
    return std::ranges::any_of(plans, &InstructionPlan::is_fence) ||
           std::ranges::any_of(program.loops, [](const program::Loop& loop) {
               return loop.is_in_order || loop.kind == program::LoopKind::Runtime;
           });
}

/// Of the DMA engines' rate, what NKI's documents say to plan with on NeuronCore-v3.
/// [NKI-DMA-BANDWIDTH]
constexpr double kPlannedRate = 23.0 / 27.2;
/// The same for a load by itself, whose engines begin one after the other. [ASSUMED]
constexpr double kRateAlone = 0.5;

/// Of a load of `dst`. Each DMA engine serves partitions of its own, except in a transpose: half of
/// them take as long as all.
std::int64_t planned_transfer(const DmaSpec& dma, Opcode op, const Operand& dst, double rate) {
    const bool is_transpose = op == Opcode::DmaTranspose;
    const std::int64_t in_turn =
        round_up(dst.partitions, dma.partitions_per_engine) / dma.partitions_per_engine;
    const std::int64_t engines = is_transpose ? dma.engines : std::min(in_turn, dma.engines);
    const double peak = static_cast<double>(engines) * dma.engine_gb_per_s.value;
    const double share = is_transpose ? dma.transpose_efficiency_hbm : 1.0;
    return to_picoseconds(Bytes{dst.total_bytes()}, GigabytesPerSecond{peak * share * rate}).value;
}

}  // namespace

std::vector<bool> loaded_sites(const Program& program) {
    const std::vector<bool> is_written = written_buffers(program);
    std::vector<bool> loaded = is_written;
    for (std::size_t site = 0; site < loaded.size(); ++site) {
        const program::Buffer& buffer = program.buffers[site];
        loaded[site] = loaded[site] && buffer.space == Space::Sbuf && !buffer.address;
    }
    for (const InstructionTemplate& instruction : program.templates) {
        for (const Operand& operand : instruction.operands) {
            if (operand.indirect || (operand.writes() && !is_load(instruction, is_written))) {
                loaded[operand.buffer] = false;
            }
        }
    }
    return loaded;
}

std::optional<LoadPlan> LoadPlan::make(const Program& program,
                                       const std::vector<SiteLiveness>& liveness,
                                       const std::vector<InstructionPlan>& plans,
                                       const IssueTable& table,
                                       const ChipSpec& chip) {
    LoadPlan plan(program, liveness, plans, table, chip);
    const bool has_sites = std::ranges::any_of(
        plan.sites_, [](const std::optional<Site>& site) { return site.has_value(); });
    if (!has_sites || must_stay_in_order(program, plans)) {
        return std::nullopt;
    }
    LoadPlan trial = plan;
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

LoadPlan::LoadPlan(const Program& program,
                   const std::vector<SiteLiveness>& liveness,
                   const std::vector<InstructionPlan>& plans,
                   const IssueTable& table,
                   const ChipSpec& chip)
    : program_(&program),
      plans_(&plans),
      table_(&table),
      chip_(&chip),
      cursor_(program),
      sites_(program.buffers.size()),
      written_(program.buffers.size()) {
    const std::vector<bool> loaded = loaded_sites(program);
    for (std::size_t site = 0; site < sites_.size(); ++site) {
        if (loaded[site] && liveness[site].last_step >= 0) {
            sites_[site].emplace(Site{.uses = UseCounter(liveness[site].uses)});
        }
    }
    for (std::uint32_t index = 0; index < program.templates.size(); ++index) {
        accesses_.push_back(accesses_of(index));
    }
}

LoadPlan::Accesses LoadPlan::accesses_of(std::uint32_t index) const {
    const InstructionTemplate& instruction = program_->templates[index];
    Accesses accesses;
    bool is_load = false;
    for (std::uint32_t i = 0; i < instruction.operands.size(); ++i) {
        const Operand& operand = instruction.operands[i];
        if (sites_[operand.buffer]) {
            accesses.planned.push_back(i);
            is_load = is_load || operand.writes();
            continue;
        }
        if (operand.reads()) {
            accesses.reads.push_back(operand.buffer);
        }
        if (operand.writes()) {
            accesses.writes.push_back(operand.buffer);
        }
    }
    if (is_load) {
        const Operand& dst = instruction.operands[accesses.planned.front()];
        const auto takes = [&](double rate) {
            return planned_transfer(chip_->dma, instruction.op, dst, rate);
        };
        const std::int64_t latency = latency_of(index);
        accesses.load = Load{.lead = latency + takes(kRateAlone),
                             .latency = latency,
                             .transfer = takes(kPlannedRate)};
    }
    return accesses;
}

bool LoadPlan::runs() {
    while (next() != nullptr) {
    }
    return !is_impossible_;
}

std::int64_t LoadPlan::latency_of(std::uint32_t instruction) const {
    const DgeMode mode = (*plans_)[instruction].trigger.dge;
    const NeuronCoreSpec& core = chip_->neuron_core;
    return (dma::dge_mode(core.dge, mode).first_byte_ns + core.semaphore_file.wakeup_tensor_ns)
        .value;
}

void LoadPlan::find_tiles(KeptSteps::Kept& kept) {
    const std::uint32_t instruction = program_->runs[kept.step.run].instruction;
    for (const std::uint32_t i : accesses_[instruction].planned) {
        const std::uint32_t buffer = program_->templates[instruction].operands[i].buffer;
        const TileId* tile = sites_[buffer]->living.find(kept.at[i].instance);
        if (tile == nullptr) {  // Not allocated yet: without a plan the lowering says so.
            is_impossible_ = true;
            return;
        }
        kept.tiles.push_back(*tile);
    }
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
    const std::uint32_t instruction = program_->runs[step->run].instruction;
    const Item item = kept_.keep(*step);
    find_tiles(kept_[item]);
    if (is_impossible_) {
        return;
    }
    return accesses_[instruction].load ? read_load(item, instruction)
                                       : read_other(item, instruction);
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

void LoadPlan::read_load(Item item, std::uint32_t instruction) {
    const TileId id = kept_[item].tiles.front();
    Tile& tile = tiles_[id];
    is_impossible_ = is_impossible_ || tile.is_needed;
    Load& load = tile.loads.emplace_back(*accesses_[instruction].load);
    load.item = item;
    load.tile = id;
    if (--tile.to_read == 0) {  // Nobody reads it.
        tile.end = latest_;
        need(tile, latest_);
    }
}

void LoadPlan::need(Tile& tile, std::int64_t time) {
    Site& site = site_of(tile);
    for (Load& load : tile.loads) {
        load.time = std::max(time - load.lead, site.latest);
        site.latest = load.time;
        auto place = loads_.end();  // Most often it stays there.
        while (place != loads_.begin() && std::prev(place)->time > load.time) {
            --place;
        }
        loads_.insert(place, load);
    }
    tile.loads.clear();
}

std::int64_t LoadPlan::arrival(Tile& tile) {
    if (tile.ready == 0) {
        for (const Load& load : tile.loads) {
            loaded_ += load.transfer;
            tile.ready = loaded_ + load.latency;
        }
    }
    return tile.ready;
}

void LoadPlan::read_other(Item item, std::uint32_t instruction) {
    const InstructionPlan& plan = (*plans_)[instruction];
    const Accesses& accesses = accesses_[instruction];
    KeptSteps::Kept& kept = kept_[item];
    std::int64_t* free_at = nullptr;
    if (!plan.is_transfer) {
        const Engine engine = table_->engines(instruction).front();
        free_at = &free_at_[static_cast<std::size_t>(engine)];
    }
    std::int64_t start = free_at == nullptr ? 0 : *free_at;
    for (const TileId id : kept.tiles) {
        start = std::max(start, arrival(tiles_[id]));
    }
    for (const std::uint32_t buffer : accesses.reads) {
        start = std::max(start, written_[buffer]);
    }
    const std::int64_t end =
        start + (free_at == nullptr ? latency_of(instruction) : plan.costs.front().value);
    if (free_at != nullptr) {
        *free_at = end;
    }
    for (const TileId id : kept.tiles) {
        use(tiles_[id], start, end);
    }
    for (const std::uint32_t buffer : accesses.writes) {
        written_[buffer] = end;
    }
    for (const TileId id : kept.tiles) {
        Tile& tile = tiles_[id];
        site_of(tile).live -= --tile.to_read == 0 ? 1 : 0;
    }
    latest_ = std::max(latest_, start);
    kept.time = start;
    items_.push_back(item);
}

void LoadPlan::use(Tile& tile, std::int64_t start, std::int64_t end) {
    is_impossible_ = is_impossible_ || (tile.loads.empty() && !tile.is_needed);
    need(tile, start);
    if (!tile.is_needed) {
        tile.is_needed = true;
        Site& site = site_of(tile);
        site.live_peak = std::max(site.live_peak, ++site.live);
    }
    tile.end = std::max(tile.end, end);
}

std::vector<std::int64_t> LoadPlan::triggers() const {
    std::vector<std::int64_t> times(loads_.size());
    std::int64_t next = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = loads_.size(); i > 0; --i) {
        const Load& load = loads_[i - 1];
        next = std::min(load.time, next - load.transfer);
        times[i - 1] = next;
    }
    return times;
}

void LoadPlan::refill() {
    const std::int64_t begin = items_.empty() ? latest_ : kept_[items_.front()].time;
    while (!is_over_ && items_.size() + loads_.size() < kMostItems &&
           (items_.empty() || latest_ < begin + 2 * kHorizon)) {
        read();
        if (is_impossible_) {
            return;
        }
    }
    const std::vector<std::int64_t> times = triggers();
    std::size_t begun = 0;
    const auto begin_loads = [&](std::int64_t until) {
        for (; begun < times.size() && times[begun] <= until; ++begun) {
            emit_load(loads_[begun], times[begun]);
        }
    };
    do {
        if (!items_.empty()) {
            given_out_ = std::max(given_out_, kept_[items_.front()].time);
            begin_loads(given_out_);
            emit(items_.front());
            items_.pop_front();
        }
    } while (!items_.empty() && (is_over_ || kept_[items_.front()].time <= begin + kHorizon));
    if (items_.empty()) {  // What is left nobody reads.
        begin_loads(std::numeric_limits<std::int64_t>::max());
    }
    loads_.erase(loads_.begin(), loads_.begin() + static_cast<std::ptrdiff_t>(begun));
}

bool LoadPlan::give_slot(Site& site, Tile& tile, std::int64_t time) {
    if (tile.slot == PlannedSlots::kNone) {
        tile.slot = site.slots.take(time);
    }
    return tile.slot != PlannedSlots::kNone;
}

void LoadPlan::emit_load(const Load& load, std::int64_t trigger) {
    Tile& tile = tiles_[load.tile];
    Site& site = site_of(tile);
    if (site.held.empty() && give_slot(site, tile, trigger)) {
        put_load(load);
    } else {
        site.held.push_back(load);
    }
}

void LoadPlan::emit_held(Site& site, std::int64_t time) {
    while (!site.held.empty() && give_slot(site, tiles_[site.held.front().tile], time)) {
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

void LoadPlan::emit(Item item) {
    out_.push_back(item);
    for (const TileId id : kept_[item].tiles) {
        Tile& tile = tiles_[id];
        assert(tile.slot >= 0);
        if (--tile.to_emit == 0) {
            release(tile);
            emit_held(site_of(tile), kept_[item].time);
        }
    }
}

void LoadPlan::resolved(const KeptSteps::Kept& kept) {
    for (const TileId id : kept.tiles) {
        Tile& tile = tiles_[id];
        if (--tile.to_resolve == 0) {
            site_of(tile).living.erase(tile.instance);
            tiles_.end(id);
        }
    }
}

const Step* LoadPlan::next() {
    if (current_) {
        resolved(kept_[*current_]);
        kept_.drop(*current_);
        current_.reset();
    }
    while (out_.empty()) {
        if (is_impossible_ || (is_over_ && items_.empty() && loads_.empty())) {
            return nullptr;
        }
        refill();
    }
    current_ = out_.front();
    out_.pop_front();
    KeptSteps::Kept& kept = kept_[*current_];
    kept.step.at = kept.at;
    return &kept.step;
}

std::optional<std::int64_t> LoadPlan::slot(std::uint32_t buffer, std::int64_t instance) {
    const TileId* tile = sites_[buffer]->living.find(instance);
    return tile == nullptr || tiles_[*tile].slot < 0 ? std::nullopt
                                                     : std::optional(tiles_[*tile].slot);
}

}  // namespace trnsim::lowering
