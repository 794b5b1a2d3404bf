// SPDX-License-Identifier: Apache-2.0
// Loads that a plan has to begin, and when.
#include "trnsim/lowering/loads/due_loads.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace trnsim::lowering {

void DueLoads::insert(const PlannedLoad& load) {
    std::size_t place = loads_.size();  // Most often it stays there.
    while (place > 0 && loads_[place - 1].time > load.time) {
        --place;
    }
    loads_.insert(place, load);
}

void DueLoads::find_triggers() {
    std::int64_t next = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = loads_.size(); i > 0; --i) {
        PlannedLoad& load = loads_[i - 1];
        next = std::max(std::min(load.time, next - load.transfer), load.earliest);
        load.trigger = next;
    }
}

const PlannedLoad* DueLoads::begin(std::int64_t until) {
    const bool is_due = begun_ < loads_.size() && loads_[begun_].trigger <= until;
    return is_due ? &loads_[begun_++] : nullptr;
}

void DueLoads::drop_begun() {
    loads_.drop(std::exchange(begun_, 0));
}

}  // namespace trnsim::lowering
