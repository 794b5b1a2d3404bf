// SPDX-License-Identifier: Apache-2.0
// The slots of one site in a plan of loads.
#include "trnsim/lowering/loads/planned_slots.hpp"

#include <cassert>
#include <limits>
#include <utility>

namespace trnsim::lowering {

namespace {

constexpr PlannedEnd kUnknown{.time = std::numeric_limits<std::int64_t>::max(),
                              .step = std::numeric_limits<std::int64_t>::max()};

}  // namespace

std::int64_t PlannedSlots::take(std::int64_t time, std::int64_t reader) {
    const auto longest_free = [this](auto&& may_be) {
        auto found = slots_.end();
        for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
            const bool is_longer = found == slots_.end() || slot->end.time < found->end.time;
            found = is_longer && may_be(*slot) ? slot : found;
        }
        return found;
    };
    auto slot = longest_free([time, reader](const Slot& one) {
        return one.end.time <= time && (one.tiles == 0 || one.end.step < reader);
    });
    if (slot == slots_.end() && size() < limit_) {
        slot = slots_.emplace(slots_.end());
    } else if (slot == slots_.end()) {
        slot = longest_free([](const Slot& one) { return one.tiles == 0; });
    }
    if (slot == slots_.end()) {
        return kNone;
    }
    slot->end = kUnknown;
    ++slot->tiles;
    return slot - slots_.begin();
}

bool PlannedSlots::begin(std::int64_t slot) {
    assert(at(slot).tiles > 0);
    return !std::exchange(at(slot).is_begun, true);
}

void PlannedSlots::release(std::int64_t slot) {
    Slot& one = at(slot);
    assert(one.is_begun);
    one.is_begun = false;
    --one.tiles;
}

}  // namespace trnsim::lowering
