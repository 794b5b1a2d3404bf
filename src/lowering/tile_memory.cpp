// SPDX-License-Identifier: Apache-2.0
// Slots, pools and what moves between them and HBM.
#include "trnsim/lowering/tile_memory.hpp"

#include "trnsim/base/error.hpp"
#include "trnsim/lowering/planned_step.hpp"

#include <fmt/format.h>

#include <string>

namespace trnsim::lowering {

TileMemory::TileMemory(const program::Program& program,
                       const NeuronCoreSpec& core,
                       const Policies& policies,
                       Mover& mover)
    : program_(program),
      mover_(mover),
      sbuf_pool_(core.sbuf.usable_partition_kib * kKib),
      sbuf_need_(sbuf_pool_.capacity()),
      psum_pool_(core.psum.banks * core.psum.bank_bytes, core.psum.bank_bytes),
      sites_(program.buffers.size()),
      slots_(program.buffers.size()),
      pooled_(program.buffers.size()) {
    const std::vector<SiteLiveness> liveness = analyse_liveness(program);
    allocation_ = lowering::allocate(program, liveness, core, policies);
    for (std::uint32_t buffer = 0; buffer < sites_.size(); ++buffer) {
        const SitePlacement& placement = allocation_.sites[buffer];
        if (placement.slots == 0) {
            continue;
        }
        if (placement.is_pooled) {
            TilePool& pool = program.buffers[buffer].space == Space::Psum ? psum_pool_ : sbuf_pool_;
            can_spill_ = true;
            shares_sbuf_ = shares_sbuf_ || &pool == &sbuf_pool_;
            auto site =
                std::make_unique<PooledTiles>(pool, buffer, placement.slot_bytes, liveness[buffer]);
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
    if (sites_[buffer]) {
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
    const std::int64_t bytes = shared_bytes(step);
    if (bytes == 0) {
        return {};
    }
    const Obstacle found{.count = &sbuf_need_.chances(),
                         .until = sbuf_need_.until(step.order, bytes)};
    if (found.stands()) {
        for (const ResolvedOperand& operand : step.operands) {
            if (operand.tile != nullptr) {
                operand.tile->is_refused = true;
            }
        }
    }
    return found;
}

const Slot* TileMemory::next_slot(const Tile& tile) const {
    const TileSlots* slots = slots_[tile.buffer];
    // Slots that lie where others were get the history of those with their first tile.
    return slots != nullptr && slots->overlaid().empty() ? slots->next_slot() : nullptr;
}

void TileMemory::admit(const PlannedStep& step) {
    if (!shares_sbuf_) {
        return;
    }
    std::int64_t begun = 0;
    std::int64_t ended = 0;
    for (const ResolvedOperand& operand : step.operands) {
        if (const std::int64_t bytes = shared_bytes(operand.tile); bytes > 0) {
            begun += operand.tile->is_begun ? 0 : bytes;
            operand.tile->is_begun = true;
            ended += --operand.tile->uses_to_come == 0 ? bytes : 0;
        }
    }
    sbuf_need_.admit(begun, ended);
}

bool TileMemory::retire(const PlannedStep& step) {
    if (shares_sbuf_) {
        sbuf_need_.retire(step.order);
    }
    return shares_sbuf_;
}

bool TileMemory::allows(const PlannedStep& step) const {
    const std::int64_t bytes = shared_bytes(step);
    return bytes == 0 || sbuf_need_.allows(step.order, bytes);
}

std::int64_t TileMemory::shared_bytes(const PlannedStep& step) const {
    std::int64_t bytes = 0;
    for (const ResolvedOperand& operand : step.operands) {
        const Tile* tile = operand.tile;
        if (tile != nullptr && tile->slot == nullptr && !tile->is_spilled) {
            bytes += shared_bytes(tile);
        }
    }
    return bytes;
}

std::int64_t TileMemory::shared_bytes(const Tile* tile) const {
    const PooledTiles* site = tile != nullptr ? pooled_[tile->buffer] : nullptr;
    return site != nullptr && &site->pool() == &sbuf_pool_ ? site->tile_bytes() : 0;
}

bool TileMemory::give_bytes(Tile& tile, const PlannedStep& step, std::uint64_t stamp) {
    PooledTiles* pooled = pooled_[tile.buffer];
    if (const std::int64_t bytes = tile.is_spilled ? 0 : shared_bytes(&tile); bytes > 0) {
        take_shared(bytes, tile, step);
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

void TileMemory::take_shared(std::int64_t bytes, const Tile& tile, const PlannedStep& step) {
    sbuf_need_.take(step.order, bytes);
    if (!tile.is_refused) {
        return;
    }
    bool is_for_others = false;
    tile.pending.for_each([&](const PlannedStep& other) {
        is_for_others =
            is_for_others || (other.lack.stands() && other.lack.count == &sbuf_need_.chances());
    });
    if (is_for_others) {  // They take less now.
        sbuf_need_.give_chance();
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
                              program_.source_text(buffer.source));
    }
    throw ProgramError(
        fmt::format("{}: a tile of {} ({}) takes {} bytes per partition{}, but {} are usable{}",
                    wanted.space == Space::Psum ? "PSUM" : "SBUF",
                    wanted.name,
                    program_.source_text(wanted.source),
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
