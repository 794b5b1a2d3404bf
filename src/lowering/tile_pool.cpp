// SPDX-License-Identifier: Apache-2.0
// Gaps, tiles and what was there before.
#include "trnsim/lowering/tile_pool.hpp"

#include "trnsim/lowering/planned_step.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <limits>
#include <utility>

namespace trnsim::lowering {
namespace {

/// Place in the program of the first step in the window that needs the tile; beyond all if none.
std::uint64_t next_use(const Tile& tile) {
    std::uint64_t next = std::numeric_limits<std::uint64_t>::max();
    tile.pending.for_each([&](const PlannedStep& step) { next = std::min(next, step.order); });
    return next;
}

}  // namespace

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
    auto place = places_.upper_bound(address);
    if (place != places_.begin()) {
        const auto& before = *std::prev(place);
        address = aligned(std::max(address, before.first + before.second->bytes), bytes);
    }
    for (; place != places_.end(); ++place) {
        if (place->first - address >= bytes) {
            return address;
        }
        address = aligned(std::max(address, place->first + place->second->bytes), bytes);
    }
    return capacity_ - address >= bytes ? std::optional(address) : std::nullopt;
}

std::optional<std::int64_t> TilePool::find_gap(std::int64_t bytes) const {
    const std::optional<std::int64_t> ahead = gap_from(next_, bytes);
    return ahead ? ahead : gap_from(0, bytes);
}

Slot& TilePool::place(Tile& tile, std::int64_t bytes) {
    const std::optional<std::int64_t> address = find_gap(bytes);
    assert(address);
    auto place = std::make_unique<Place>();
    place->bytes = bytes;
    place->tile = &tile;
    place->slot.address = *address;
    Slot& slot = place->slot;
    places_.emplace(*address, std::move(place));
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
    const auto place = places_.find(slot.address);
    assert(place != places_.end());
    past_.push_back({.begin = slot.address,
                     .end = slot.address + place->second->bytes,
                     .history = std::move(place->second->slot.history)});
    used_ -= place->second->bytes;
    places_.erase(place);
}

Tile* TilePool::victim(std::uint64_t stamp) {
    Tile* best = nullptr;
    std::uint64_t best_next = 0;
    for (const auto& [address, place] : places_) {
        Tile& tile = *place->tile;
        if (tile.last_use >= stamp) {
            continue;
        }
        const std::uint64_t next = next_use(tile);
        if (best == nullptr || next > best_next ||
            (next == best_next && tile.last_use < best->last_use)) {
            best = &tile;
            best_next = next;
        }
    }
    return best;
}

bool TilePool::restart(std::int64_t bytes, std::uint64_t stamp) {
    if (places_.empty() || restarted_ == stamp || used_ + bytes > capacity_) {
        return false;
    }
    restarted_ = stamp;
    next_ = 0;
    return true;
}

std::vector<std::pair<const Tile*, std::int64_t>> TilePool::tiles() const {
    std::vector<std::pair<const Tile*, std::int64_t>> all;
    for (const auto& [address, place] : places_) {
        all.emplace_back(place->tile, place->bytes);
    }
    return all;
}

}  // namespace trnsim::lowering
