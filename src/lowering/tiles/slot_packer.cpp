// SPDX-License-Identifier: Apache-2.0
// First fit.
#include "slot_packer.hpp"

#include "trnsim/base/rounding.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

namespace trnsim::lowering {

SlotPacker::SlotPacker(std::vector<PackedSite> sites, std::int64_t capacity)
    : sites_(std::move(sites)), by_first_step_(sites_.size()), capacity_(capacity) {
    std::iota(by_first_step_.begin(), by_first_step_.end(), std::size_t{0});
    by_last_step_ = by_first_step_;
    std::ranges::sort(by_first_step_, {}, [this](std::size_t i) { return sites_[i].first_step; });
    std::ranges::sort(by_last_step_, {}, [this](std::size_t i) { return sites_[i].last_step; });
}

std::int64_t SlotPacker::most_at_once() const {
    std::int64_t most = 0;
    std::int64_t live = 0;
    auto ended = by_last_step_.begin();
    for (const std::size_t i : by_first_step_) {
        for (; sites_[*ended].last_step < sites_[i].first_step; ++ended) {
            live -= sites_[*ended].bytes();
        }
        live += sites_[i].bytes();
        most = std::max(most, live);
    }
    return most;
}

bool SlotPacker::place_apart() {
    std::int64_t address = 0;
    for (PackedSite& site : sites_) {
        site.address = round_up(address, site.alignment);
        address = site.address + site.bytes();
    }
    used_ = address;
    shares_ = false;
    return address <= capacity_;
}

bool SlotPacker::place_shared() {
    std::vector<PackedSite*> order;
    order.reserve(sites_.size());
    for (PackedSite& site : sites_) {
        order.push_back(&site);
    }
    std::ranges::stable_sort(order, std::ranges::greater{}, &PackedSite::bytes);
    used_ = 0;
    std::vector<const PackedSite*> placed;  // By address.
    placed.reserve(order.size());
    for (PackedSite* site : order) {
        site->address = first_gap(*site, placed);
        used_ = std::max(used_, site->address + site->bytes());
        placed.insert(std::ranges::upper_bound(placed, site->address, {}, &PackedSite::address),
                      site);
    }
    shares_ = true;
    return used_ <= capacity_;
}

bool SlotPacker::fit() {
    for (PackedSite& site : sites_) {
        site.slots = site.wanted;
    }
    if (place()) {
        return true;
    }
    if (!shrink()) {
        return false;
    }
    refill();
    return true;
}

bool SlotPacker::shrink() {
    while (!place()) {
        PackedSite* largest = nullptr;
        for (PackedSite& site : sites_) {
            if (site.excess() > 0 && (largest == nullptr || can_spare_more(site, *largest))) {
                largest = &site;
            }
        }
        if (largest == nullptr) {
            place_shared();  // Says how much it takes.
            return false;
        }
        largest->slots -= std::max<std::int64_t>(1, largest->excess() / 4);
    }
    return true;
}

void SlotPacker::refill() {
    std::vector<PackedSite*> order;
    for (PackedSite& site : sites_) {
        order.push_back(&site);
    }
    std::ranges::stable_sort(order, {}, &PackedSite::slot_bytes);
    for (PackedSite* site : order) {
        grow(*site);
    }
    place();
}

void SlotPacker::grow(PackedSite& site) {
    const auto missing = static_cast<std::uint64_t>(site.wanted - site.slots);
    for (auto more = static_cast<std::int64_t>(std::bit_floor(missing)); more > 0; more /= 2) {
        if (site.slots + more > site.wanted) {
            continue;
        }
        site.slots += more;
        if (!place()) {
            site.slots -= more;
        }
    }
}

bool SlotPacker::can_spare_more(const PackedSite& a, const PackedSite& b) {
    const std::int64_t left_a = (a.excess() - 1) * b.live;
    const std::int64_t left_b = (b.excess() - 1) * a.live;
    return std::tie(left_a, a.live, a.is_computed, a.slot_bytes) >
           std::tie(left_b, b.live, b.is_computed, b.slot_bytes);
}

std::int64_t SlotPacker::first_gap(const PackedSite& site,
                                   std::span<const PackedSite* const> placed) {
    std::int64_t address = 0;
    for (const PackedSite* other : placed) {
        if (address + site.bytes() <= other->address) {
            break;
        }
        if (site.meets(*other)) {
            address = std::max(address, round_up(other->address + other->bytes(), site.alignment));
        }
    }
    return address;
}

}  // namespace trnsim::lowering
