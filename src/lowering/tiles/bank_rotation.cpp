// SPDX-License-Identifier: Apache-2.0
// The banks of PSUM, one tile after the other.
#include "trnsim/lowering/tiles/bank_rotation.hpp"

#include "trnsim/base/rounding.hpp"
#include "trnsim/lowering/tiles/allocation.hpp"
#include "trnsim/lowering/tiles/psum_banks.hpp"
#include "trnsim/program/cursor.hpp"

#include <algorithm>

namespace trnsim::lowering {

using program::Program;
using program::Step;

namespace {

bool lies_in_psum(const program::Buffer& buffer) {
    return buffer.space == Space::Psum && !buffer.address;
}

/// Whether every site could have a tile more than live at once, in banks of its own.
bool leaves_banks_to_run_ahead(const Program& program,
                               const std::vector<SiteLiveness>& liveness,
                               const PsumSpec& psum,
                               std::int64_t banks) {
    std::int64_t wanted = 0;
    for (std::size_t site = 0; site < program.buffers.size(); ++site) {
        const SiteLiveness& life = liveness[site];
        if (lies_in_psum(program.buffers[site]) && life.live_peak > 0) {
            const std::int64_t tiles = life.live_peak + (life.instances > life.live_peak ? 1 : 0);
            wanted += tiles * round_up(program.buffers[site].free_bytes(), psum.bank_bytes) /
                      psum.bank_bytes;
        }
    }
    return wanted <= banks;
}

}  // namespace

std::optional<BankRotation> BankRotation::plan(const Program& program,
                                               const std::vector<SiteLiveness>& liveness,
                                               const PsumSpec& psum,
                                               std::int64_t first) {
    const std::int64_t banks = psum.banks - first / psum.bank_bytes;
    const bool is_short = !leaves_banks_to_run_ahead(program, liveness, psum, banks);
    BankRotation rotation(program, liveness, psum, first, is_short);
    if (rotation.fits(program, liveness)) {
        return rotation;
    }
    BankRotation other(program, liveness, psum, first, !is_short);
    if (rotation.shares_banks_ != other.shares_banks_ && other.fits(program, liveness)) {
        return other;
    }
    return std::nullopt;
}

BankRotation::BankRotation(const Program& program,
                           const std::vector<SiteLiveness>& liveness,
                           const PsumSpec& psum,
                           std::int64_t first,
                           bool shares_banks)
    : psum_(psum),
      first_(first),
      sites_(program.buffers.size()),
      free_(psum.banks * psum.bank_bytes, psum.bank_bytes),
      next_(first),
      highest_(first) {
    free_.take(0, first);
    const std::vector<std::int64_t> most = most_places(program);
    for (std::size_t site = 0; site < sites_.size(); ++site) {
        if (lies_in_psum(program.buffers[site]) && liveness[site].last_step >= 0) {
            const std::int64_t bytes = program.buffers[site].free_bytes();
            sites_[site].emplace(Site{.tile_bytes = shares_banks ? part_of_bank(psum, bytes)
                                                                 : round_up(bytes, psum.bank_bytes),
                                      .uses = UseCounter(liveness[site].uses),
                                      .most_places = most[site]});
            shares_banks_ = shares_banks_ || (shares_banks && bytes < psum.bank_bytes);
        }
    }
}

bool BankRotation::fits(const Program& program, const std::vector<SiteLiveness>& liveness) const {
    std::int64_t banks = first_ / psum_.bank_bytes;
    bool are_single = true;
    for (std::size_t site = 0; site < sites_.size(); ++site) {
        if (sites_[site]) {
            are_single = are_single && sites_[site]->tile_bytes <= psum_.bank_bytes;
            banks += liveness[site].live_peak;
        }
    }
    return (are_single && banks <= psum_.banks) || BankRotation(*this).runs(program);
}

bool BankRotation::runs(const Program& program) {
    program::Cursor cursor(program);
    while (const Step* step = cursor.next()) {
        if (step->is_alloc) {
            if (has(step->run)) {
                begin(step->run);
            }
            continue;
        }
        const program::Run& run = program.runs[step->run];
        const std::vector<Operand>& operands = program.templates[run.instruction].operands;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (has(operands[i].buffer)) {
                static_cast<void>(use(operands[i].buffer, step->at[i].instance));
            }
        }
        if (is_full_) {
            return false;
        }
        end_step();
    }
    return true;
}

void BankRotation::begin(std::uint32_t buffer) {
    Site& site = *sites_[buffer];
    const UseCounter::Instance next = site.uses.next();
    if (next.uses > 0) {
        site.living[next.number].uses_left = next.uses;
    }
}

std::optional<std::int64_t> BankRotation::use(std::uint32_t buffer, std::int64_t instance) {
    Site& site = *sites_[buffer];
    Tile* tile = site.living.find(instance);
    if (tile == nullptr) {
        return std::nullopt;
    }
    if (tile->address < 0) {
        place(site, *tile);
    }
    const std::int64_t address = tile->address;
    if (--tile->uses_left == 0) {
        over_.emplace_back(address, address + site.tile_bytes);
        site.living.erase(instance);
    }
    return address;
}

void BankRotation::place(Site& site, Tile& tile) {
    std::optional<std::int64_t> found;
    if (std::ssize(site.places) == site.most_places) {
        const std::int64_t former = site.places.front();
        found = free_.find(former, site.tile_bytes);
        found = found == former ? found : std::nullopt;
        site.places.pop_front();
    }
    if (!found) {
        found = free_.find(next_, site.tile_bytes);
        is_full_ = is_full_ || !found;
    }
    tile.address = found.value_or(first_);
    if (!found) {
        return;
    }
    next_ = tile.address + site.tile_bytes;
    highest_ = std::max(highest_, next_);
    free_.take(tile.address, next_);
    if (site.most_places != kNoLimit) {
        site.places.push_back(tile.address);
    }
}

void BankRotation::end_step() {
    for (const auto& [begin, end] : over_) {
        free_.give_back(begin, end);
    }
    over_.clear();
}

std::int64_t BankRotation::banks() const {
    return round_up(highest_, psum_.bank_bytes) / psum_.bank_bytes;
}

}  // namespace trnsim::lowering
