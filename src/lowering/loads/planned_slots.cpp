// SPDX-License-Identifier: Apache-2.0
// The slots of one site in a plan of loads.
#include "trnsim/lowering/loads/planned_slots.hpp"

#include <algorithm>
#include <iterator>

namespace trnsim::lowering {

std::int64_t PlannedSlots::take(std::int64_t time) {
    auto slot = std::ranges::find_if(
        slots_, [time](const Slot& one) { return one.is_free && one.free_at <= time; });
    if (slot == slots_.end() && size() < limit_) {
        slots_.emplace_back();
        slot = std::prev(slots_.end());
    } else if (slot == slots_.end()) {
        slot = std::ranges::find_if(slots_, &Slot::is_free);
    }
    if (slot == slots_.end()) {
        return kNone;
    }
    slot->is_free = false;
    return slot - slots_.begin();
}

}  // namespace trnsim::lowering
