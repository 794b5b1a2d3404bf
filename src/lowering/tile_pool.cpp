// SPDX-License-Identifier: Apache-2.0
// Gaps, tiles and what was there before.
#include "trnsim/lowering/tile_pool.hpp"

#include "trnsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace trnsim::lowering {

std::int64_t TilePool::aligned(std::int64_t address, std::int64_t bytes) const {
    if (bank_bytes_ == 0) {
        return address;
    }
    const std::int64_t into_bank = address % bank_bytes_;
    const bool fits = into_bank == 0 || into_bank + bytes <= bank_bytes_;
    return fits ? address : address + bank_bytes_ - into_bank;
}

std::optional<std::int64_t> TilePool::gap_from(std::int64_t start, std::int64_t bytes) const {
    std::int64_t address = aligned(start, bytes);
    auto tile = tiles_.upper_bound(address);
    if (tile != tiles_.begin()) {
        const auto& before = *std::prev(tile);
        address = aligned(std::max(address, before.first + before.second->bytes), bytes);
    }
    for (; tile != tiles_.end(); ++tile) {
        if (tile->first - address >= bytes) {
            return address;
        }
        address = aligned(std::max(address, tile->first + tile->second->bytes), bytes);
    }
    return capacity_ - address >= bytes ? std::optional(address) : std::nullopt;
}

std::optional<std::int64_t> TilePool::find_gap(std::int64_t bytes) const {
    const std::optional<std::int64_t> ahead = gap_from(next_, bytes);
    return ahead ? ahead : gap_from(0, bytes);
}

TilePool::Slot& TilePool::place(std::uint32_t buffer, std::int64_t bytes) {
    const std::optional<std::int64_t> address = find_gap(bytes);
    assert(address);
    auto tile = std::make_unique<Tile>();
    tile->bytes = bytes;
    tile->slot.buffer = buffer;
    tile->slot.address = *address;
    Slot& slot = tile->slot;
    tiles_.emplace(*address, std::move(tile));
    next_ = *address + bytes;
    used_ += bytes;
    peak_ = std::max(peak_, used_);
    take_over(slot, bytes);
    return slot;
}

void TilePool::take_over(Slot& slot, std::int64_t bytes) {
    const std::int64_t begin = slot.address;
    const std::int64_t end = begin + bytes;
    std::vector<Past> kept;
    for (Past& past : past_) {
        if (past.end <= begin || end <= past.begin) {
            kept.push_back(std::move(past));
            continue;
        }
        slot.history.inherit(past.history);
        if (past.begin < begin) {
            kept.push_back({.begin = past.begin, .end = begin, .history = past.history});
        }
        if (end < past.end) {
            kept.push_back({.begin = end, .end = past.end, .history = std::move(past.history)});
        }
    }
    past_ = std::move(kept);
}

void TilePool::remove(const Slot& slot) {
    const auto tile = tiles_.find(slot.address);
    assert(tile != tiles_.end());
    past_.push_back({.begin = slot.address,
                     .end = slot.address + tile->second->bytes,
                     .history = std::move(tile->second->slot.history)});
    used_ -= tile->second->bytes;
    tiles_.erase(tile);
}

TilePool::Slot& TilePool::least_recently_used(std::uint64_t stamp) {
    Slot* oldest = nullptr;
    for (const auto& [address, tile] : tiles_) {
        const bool is_candidate = tile->slot.last_use < stamp;
        if (is_candidate && (oldest == nullptr || tile->slot.last_use < oldest->last_use)) {
            oldest = &tile->slot;
        }
    }
    if (oldest == nullptr) {
        throw ProgramError(
            fmt::format("{}: the operands of one instruction do not fit beside each other; make "
                        "tiles smaller",
                        bank_bytes_ == 0 ? "SBUF" : "PSUM"));
    }
    return *oldest;
}

PooledTiles::PooledTiles(TilePool& pool,
                         std::uint32_t buffer,
                         std::int64_t tile_bytes,
                         const SiteLiveness& liveness)
    : pool_(pool), buffer_(buffer), tile_bytes_(tile_bytes), counter_(liveness.uses) {}

TileStore::Slot& PooledTiles::place(std::int64_t instance, std::int64_t uses) {
    Slot& slot = pool_.place(buffer_, tile_bytes_);
    slot.instance = instance;
    slot.uses_left = uses;
    resident_[instance] = &slot;
    return slot;
}

bool PooledTiles::allocate() {
    const UseCounter::Instance next = counter_.next();
    if (next.uses > 0) {
        place(next.number, next.uses);
    }
    return next.uses > 0;
}

TileStore::Slot* PooledTiles::find(std::int64_t instance) {
    const auto found = resident_.find(instance);
    return found == resident_.end() ? nullptr : found->second;
}

void PooledTiles::forget(const Slot& slot) {
    if (slot.uses_left > 0) {
        spilled_[slot.instance] = {
            .uses_left = slot.uses_left, .save = slot.save, .is_saved = slot.is_saved};
    }
    resident_.erase(slot.instance);
    pool_.remove(slot);
}

TileStore::Slot& PooledTiles::restore(std::int64_t instance) {
    const auto found = spilled_.find(instance);
    assert(found != spilled_.end());
    Slot& slot = place(instance, found->second.uses_left);
    slot.is_saved = found->second.is_saved;
    slot.save = found->second.save;
    spilled_.erase(found);
    return slot;
}

void PooledTiles::use(Slot& slot) {
    if (--slot.uses_left == 0) {
        forget(slot);
    }
}

}  // namespace trnsim::lowering
