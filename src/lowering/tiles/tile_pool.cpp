// SPDX-License-Identifier: Apache-2.0
// Gaps, tiles and what was there before.
#include "trnsim/lowering/tiles/tile_pool.hpp"

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
    place.index = uses_.size();
    uses_.push_back({.tile = &tile, .place = &place});
    next_ = *address + bytes;
    used_ += bytes;
    peak_ = std::max(peak_, used_);
    free_.take(*address, next_);
    former_.take(*address, next_, place.history.former());
    return place;
}

void TilePool::remove(Slot& slot) {
    auto& place = static_cast<Place&>(slot);
    assert(place.index < uses_.size() && uses_[place.index].place == &place);
    free_.give_back(place.address, place.address + place.bytes);
    former_.give_back(place.address, place.address + place.bytes, place.history);
    used_ -= place.bytes;
    uses_[place.index] = uses_.back();
    uses_[place.index].place->index = place.index;
    uses_.pop_back();
    blanks_.push_back(&place);
}

Tile* TilePool::victim(std::uint64_t stamp) {
    const Use* best = nullptr;
    std::uint64_t best_next = 0;
    for (const Use& use : uses_) {
        const std::uint64_t last_use = use.tile->last_use;
        if (last_use >= stamp) {
            continue;
        }
        const std::uint64_t next = use.tile->pending.first();
        if (best == nullptr || next > best_next ||
            (next == best_next && std::pair(last_use, use.place->address) <
                                      std::pair(best->tile->last_use, best->place->address))) {
            best = &use;
            best_next = next;
        }
    }
    return best == nullptr ? nullptr : best->tile;
}

bool TilePool::restart(std::int64_t bytes, std::uint64_t stamp) {
    if (uses_.empty() || restarted_ == stamp || used_ + bytes > capacity_) {
        return false;
    }
    restarted_ = stamp;
    next_ = 0;
    return true;
}

std::vector<std::pair<const Tile*, std::int64_t>> TilePool::tiles() const {
    std::vector<std::pair<const Tile*, std::int64_t>> all;
    std::vector<Use> by_address = uses_;
    std::ranges::sort(by_address, {}, [](const Use& use) { return use.place->address; });
    all.reserve(by_address.size());
    for (const Use& use : by_address) {
        all.emplace_back(use.tile, use.place->bytes);
    }
    return all;
}

}  // namespace trnsim::lowering
