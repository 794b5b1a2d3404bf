// SPDX-License-Identifier: Apache-2.0
// Slots, pools and what moves between them and HBM.
#include "trnsim/lowering/order/tile_memory.hpp"

#include "trnsim/base/error.hpp"
#include "trnsim/lowering/order/planned_step.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace trnsim::lowering {

TileMemory::TileMemory(const program::Program& program,
                       const std::vector<SiteLiveness>& liveness,
                       const ChipSpec& chip,
                       const Policies& policies,
                       Mover& mover,
                       const std::vector<LoadPlan::Need>& loads)
    : program_(program),
      mover_(mover),
      sbuf_pool_(chip.neuron_core.sbuf.usable_partition_kib * kKib),
      psum_pool_(chip.neuron_core.psum.banks * chip.neuron_core.psum.bank_bytes,
                 chip.neuron_core.psum.bank_bytes),
      sites_(program.buffers.size()),
      slots_(program.buffers.size()),
      pooled_(program.buffers.size()) {
    allocation_ = lowering::allocate(program, liveness, chip, policies, loads);
    rotation_ = std::exchange(allocation_.rotation, std::nullopt);
    for (std::uint32_t buffer = 0; buffer < sites_.size(); ++buffer) {
        const SitePlacement& placement = allocation_.sites[buffer];
        if (placement.slots == 0 || placement.is_planned || is_in_turn(buffer)) {
            continue;
        }
        if (placement.is_pooled) {
            TilePool& pool = program.buffers[buffer].space == Space::Psum ? psum_pool_ : sbuf_pool_;
            can_spill_ = true;
            const bool is_guarded = &pool == &sbuf_pool_ || policies.reorder_window == 1;
            if (is_guarded && std::ranges::find(guarded_, &pool) == guarded_.end()) {
                guarded_.push_back(&pool);
            }
            auto site = std::make_unique<PooledTiles>(pool, buffer, placement, liveness[buffer]);
            pooled_[buffer] = site.get();
            sites_[buffer] = std::move(site);
        } else {
            auto site = std::make_unique<TileSlots>(placement, liveness[buffer], buffer);
            slots_[buffer] = site.get();
            sites_[buffer] = std::move(site);
        }
    }
}

void TileMemory::begin(std::uint32_t buffer) {
    if (is_in_turn(buffer)) {
        rotation_->begin(buffer);
    } else if (sites_[buffer]) {
        sites_[buffer]->begin();
    }
}

Tile* TileMemory::find(std::uint32_t buffer, std::int64_t instance) {
    return sites_[buffer] ? sites_[buffer]->find(instance) : nullptr;
}

Obstacle TileMemory::obstacle(const Tile& tile) const {
    const TileSlots* slots = slots_[tile.buffer];
    const bool is_free =
        slots == nullptr || std::ranges::all_of(slots->overlaid(), [this](std::uint32_t other) {
            return sites_[other]->is_over();
        });
    return is_free ? sites_[tile.buffer]->obstacle(tile)
                   : Obstacle{.count = &ends_, .until = ends_ + 1};
}

Obstacle TileMemory::obstacle(const PlannedStep& step) const {
    for (const ResolvedOperand& operand : step.operands) {
        if (operand.tile != nullptr && operand.tile->slot == nullptr) {
            const Obstacle found = obstacle(*operand.tile);
            if (found.stands()) {
                return found;
            }
        }
    }
    const Obstacle found = obstacle_ahead(step);
    if (found.stands()) {
        for (const ResolvedOperand& operand : step.operands) {
            if (operand.tile != nullptr) {
                operand.tile->is_refused = true;
            }
        }
    }
    return found;
}

Obstacle TileMemory::obstacle_ahead(const PlannedStep& step) const {
    for (const TilePool* pool : guarded_) {
        if (const std::int64_t bytes = bytes_to_take(step, *pool); bytes > 0) {
            const Obstacle found{.count = &pool->need().chances(),
                                 .until = pool->need().until(step.order, bytes)};
            if (found.stands()) {
                return found;
            }
        }
    }
    return {};
}

const Slot* TileMemory::next_slot(const Tile& tile) const {
    const TileSlots* slots = slots_[tile.buffer];
    // Slots that lie where others were get the history of those with their first tile.
    return slots != nullptr && slots->overlaid().empty() ? slots->next_slot() : nullptr;
}

void TileMemory::admit(const PlannedStep& step) {
    for (TilePool* pool : guarded_) {
        std::int64_t begun = 0;
        std::int64_t ended = 0;
        for (const ResolvedOperand& operand : step.operands) {
            if (const std::int64_t bytes = bytes_in(*pool, operand.tile); bytes > 0) {
                begun += operand.tile->is_begun ? 0 : bytes;
                operand.tile->is_begun = true;
                ended += --operand.tile->uses_to_come == 0 ? bytes : 0;
            }
        }
        pool->need().admit(begun, ended);
    }
    if (rotation_) {
        rotation_->end_step();
    }
}

bool TileMemory::retire(const PlannedStep& step) {
    for (TilePool* pool : guarded_) {
        pool->need().retire(step.order);
    }
    return !guarded_.empty();
}

std::int64_t TileMemory::bytes_to_take(const PlannedStep& step, const TilePool& pool) const {
    std::int64_t bytes = 0;
    for (const ResolvedOperand& operand : step.operands) {
        const Tile* tile = operand.tile;
        if (tile != nullptr && tile->slot == nullptr && !tile->is_spilled) {
            bytes += bytes_in(pool, tile);
        }
    }
    return bytes;
}

std::int64_t TileMemory::bytes_in(const TilePool& pool, const Tile* tile) const {
    const PooledTiles* site = tile != nullptr ? pooled_[tile->buffer] : nullptr;
    return site != nullptr && &site->pool() == &pool ? site->tile_bytes() : 0;
}

bool TileMemory::give_bytes(Tile& tile, const PlannedStep& step, std::uint64_t stamp) {
    PooledTiles* pooled = pooled_[tile.buffer];
    for (TilePool* pool : guarded_) {
        if (const std::int64_t bytes = tile.is_spilled ? 0 : bytes_in(*pool, &tile); bytes > 0) {
            take(bytes, tile, step, pool->need());
        }
    }
    const bool has_moved = pooled != nullptr && make_room(tile, stamp);
    sites_[tile.buffer]->give(tile);
    if (pooled == nullptr) {
        inherit_overlaid(*slots_[tile.buffer]);
    } else if (tile.is_saved) {  // Else nothing was ever written to it.
        mover_.reload(tile);
    }
    return has_moved;
}

void TileMemory::take(std::int64_t bytes,
                      const Tile& tile,
                      const PlannedStep& step,
                      InOrderNeed& need) {
    need.take(step.order, bytes);
    if (!tile.is_refused) {
        return;
    }
    bool is_for_others = false;
    tile.pending.for_each([&](const PlannedStep& other) {
        is_for_others =
            is_for_others || (other.lack.stands() && other.lack.count == &need.chances());
    });
    if (is_for_others) {  // They take less now.
        need.give_chance();
    }
}

bool TileMemory::use(Tile& tile) {
    TileStore& site = *sites_[tile.buffer];
    const bool is_gone = site.use(tile);
    ends_ += is_gone && site.is_over() ? 1U : 0U;
    return is_gone;
}

bool TileMemory::make_room(const Tile& tile, std::uint64_t stamp) {
    PooledTiles& site = *pooled_[tile.buffer];
    bool has_moved = false;
    while (!site.has_room()) {
        has_moved = true;
        if (Tile* other = site.pool().victim(stamp)) {
            move_out(*other);
        } else if (site.pool().restart(site.tile_bytes(), stamp)) {
            while (Tile* in_the_way = site.pool().victim(stamp + 1)) {
                move_out(*in_the_way);
            }
        } else {
            does_not_fit(tile);
        }
    }
    return has_moved;
}

void TileMemory::move_out(Tile& tile) {
    if (tile.is_dirty) {
        mover_.save(tile);
        tile.is_dirty = false;
        tile.is_saved = true;
    }
    pooled_[tile.buffer]->take(tile);
}

void TileMemory::does_not_fit(const Tile& tile) const {
    const PooledTiles& site = *pooled_[tile.buffer];
    const program::Buffer& wanted = program_.buffers[tile.buffer];
    std::string beside;
    for (const auto& [other, bytes] : site.pool().tiles()) {
        const program::Buffer& buffer = program_.buffers[other->buffer];
        beside += fmt::format("{}{} of {} ({})",
                              beside.empty() ? " beside " : " and ",
                              bytes,
                              buffer.name,
                              program_.source_text(buffer));
    }
    throw ProgramError(
        fmt::format("{}: a tile of {} ({}) takes {} bytes per partition{}, but {} are usable{}",
                    wanted.space == Space::Psum ? "PSUM" : "SBUF",
                    wanted.name,
                    program_.source_text(wanted),
                    site.tile_bytes(),
                    beside,
                    site.pool().capacity(),
                    beside.empty() ? "; make it smaller"
                                   : " and one instruction needs them all; make them smaller"));
}

void TileMemory::inherit_overlaid(TileSlots& site) {
    for (const std::uint32_t other : site.take_overlaid()) {
        ++ends_;
        TileSlots& earlier = *slots_[other];
        for (Slot& slot : site.slots()) {
            const std::int64_t begin = slot.address;
            const std::int64_t end = begin + site.placement().slot_bytes;
            for (const Slot& old : earlier.slots()) {
                const std::int64_t old_begin = old.address;
                const std::int64_t old_end = old_begin + earlier.placement().slot_bytes;
                if (begin < old_end && old_begin < end) {
                    old.history.collect_all(slot.history.former());
                }
            }
        }
    }
}

}  // namespace trnsim::lowering
