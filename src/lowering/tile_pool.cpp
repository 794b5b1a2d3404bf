// SPDX-License-Identifier: Apache-2.0
// Gaps, tiles and what was there before.
#include "trnsim/lowering/tile_pool.hpp"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

namespace trnsim::lowering {

TilePool::Place& TilePool::new_place() {
    if (blanks_.empty()) {
        return storage_.emplace_back();
    }
    Place& place = *blanks_.back();
    blanks_.pop_back();
    place.history.clear();
    return place;
}

Slot& TilePool::place(Tile& tile, std::int64_t bytes) {
    const std::optional<std::int64_t> address = free_.find(next_, bytes);
    assert(address);
    Place& place = new_place();
    place.address = *address;
    place.bytes = bytes;
    place.tile = &tile;
    place.index = places_.size();
    places_.push_back(&place);
    next_ = *address + bytes;
    used_ += bytes;
    peak_ = std::max(peak_, used_);
    free_.take(*address, next_);
    former_.take(*address, next_, place.history.former());
    return place;
}

void TilePool::remove(Slot& slot) {
    auto& place = static_cast<Place&>(slot);
    assert(place.index < places_.size() && places_[place.index] == &place);
    free_.give_back(place.address, place.address + place.bytes);
    former_.give_back(place.address, place.address + place.bytes, place.history);
    used_ -= place.bytes;
    places_[place.index] = places_.back();
    places_[place.index]->index = place.index;
    places_.pop_back();
    blanks_.push_back(&place);
}

Tile* TilePool::victim(std::uint64_t stamp) {
    const Place* best = nullptr;
    std::uint64_t best_next = 0;
    for (const Place* place : places_) {
        const std::uint64_t last_use = place->tile->last_use;
        if (last_use >= stamp) {
            continue;
        }
        const std::uint64_t next = place->tile->pending.first();
        if (best == nullptr || next > best_next ||
            (next == best_next && std::pair(last_use, place->address) <
                                      std::pair(best->tile->last_use, best->address))) {
            best = place;
            best_next = next;
        }
    }
    return best == nullptr ? nullptr : best->tile;
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
    std::vector<const Place*> by_address(places_.begin(), places_.end());
    std::ranges::sort(by_address, {}, &Place::address);
    all.reserve(by_address.size());
    for (const Place* place : by_address) {
        all.emplace_back(place->tile, place->bytes);
    }
    return all;
}

}  // namespace trnsim::lowering
