// SPDX-License-Identifier: Apache-2.0
// Slots, pools and what moves between them and HBM.
#include "trnsim/lowering/tile_memory.hpp"

namespace trnsim::lowering {
namespace {

constexpr std::int64_t kKib = 1024;

}  // namespace

TileMemory::TileMemory(const program::Program& program,
                       const NeuronCoreSpec& core,
                       const Policies& policies,
                       Mover& mover)
    : mover_(mover),
      sbuf_pool_(core.sbuf.usable_partition_kib * kKib),
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

bool TileMemory::can_spill() const {
    return std::ranges::any_of(pooled_, [](const PooledTiles* site) { return site != nullptr; });
}

bool TileMemory::has_room_for_next(std::uint32_t buffer) const {
    if (!sites_[buffer] || sites_[buffer]->next_is_unused()) {
        return true;
    }
    if (pooled_[buffer] != nullptr) {
        return pooled_[buffer]->has_room();
    }
    return slots_[buffer]->has_free() && !slots_[buffer]->is_overlay();
}

bool TileMemory::can_find(std::uint32_t buffer, std::int64_t instance) const {
    const PooledTiles* site = pooled_[buffer];
    return site == nullptr || !site->is_spilled(instance) || site->has_room();
}

void TileMemory::allocate(std::uint32_t buffer, std::uint64_t stamp) {
    if (!sites_[buffer]) {
        return;
    }
    if (pooled_[buffer] != nullptr && !pooled_[buffer]->next_is_unused()) {
        make_room(*pooled_[buffer], stamp);
    }
    if (sites_[buffer]->allocate() && slots_[buffer] != nullptr) {
        inherit_overlaid(*slots_[buffer]);
    }
}

TileMemory::Slot* TileMemory::find(std::uint32_t buffer,
                                   std::int64_t instance,
                                   std::uint64_t stamp) {
    if (!sites_[buffer]) {
        return nullptr;
    }
    Slot* slot = sites_[buffer]->find(instance);
    if (slot == nullptr) {
        PooledTiles* site = pooled_[buffer];
        if (site == nullptr || !site->is_spilled(instance)) {
            return nullptr;
        }
        make_room(*site, stamp);
        slot = &site->restore(instance);
        if (slot->is_saved) {  // Else nothing was ever written to it.
            mover_.reload(*slot);
        }
    }
    slot->last_use = stamp;
    return slot;
}

void TileMemory::make_room(PooledTiles& site, std::uint64_t stamp) {
    while (!site.has_room()) {
        Slot& slot = site.pool().least_recently_used(stamp);
        if (slot.is_dirty) {
            mover_.save(slot);
            slot.is_dirty = false;
            slot.is_saved = true;
        }
        pooled_[slot.buffer]->forget(slot);
    }
}

void TileMemory::inherit_overlaid(TileSlots& site) {
    for (const std::uint32_t other : site.take_overlaid()) {
        TileSlots& earlier = *slots_[other];
        for (Slot& slot : site.slots()) {
            const std::int64_t begin = slot.address;
            const std::int64_t end = begin + site.placement().slot_bytes;
            for (const Slot& old : earlier.slots()) {
                const std::int64_t old_begin = old.address;
                const std::int64_t old_end = old_begin + earlier.placement().slot_bytes;
                if (begin < old_end && old_begin < end) {
                    slot.history.inherit(old.history);
                }
            }
        }
    }
}

}  // namespace trnsim::lowering
