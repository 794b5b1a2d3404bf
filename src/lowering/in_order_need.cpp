// SPDX-License-Identifier: Apache-2.0
// Bytes needed by steps that are passed.
#include "trnsim/lowering/in_order_need.hpp"

#include <algorithm>

namespace trnsim::lowering {

void InOrderNeed::admit(std::int64_t begun, std::int64_t ended) {
    live_ += begun;
    needs_.push_back({.need = live_, .peak = live_ <= capacity_ ? live_ : Stretch::kNone});
    steps_.push_back({.ended = ended});
    live_ -= ended;
    all_.reset();
}

void InOrderNeed::retire(std::uint64_t order) {
    steps_[order - needs_.begin()].is_retired = true;
    while (!steps_.empty() && steps_.front().is_retired) {
        steps_.pop_front();
        needs_.pop_front();
        all_.reset();
    }
}

void InOrderNeed::take(std::uint64_t order, std::int64_t bytes) {
    if (order > needs_.begin()) {
        Stretch step = needs_[order];
        step.early += bytes;
        needs_.set(order, step);
        all_.reset();
    }
}

bool InOrderNeed::allows(std::uint64_t order, std::int64_t bytes) const {
    if (!all_) {
        all_ = needs_.fold(needs_.begin(), needs_.end());
    }
    const std::int64_t own = bytes - steps_[order - needs_.begin()].ended;
    const std::int64_t most = std::max(capacity_, all_->need);
    if (all_->peak + own <= most) {  // Wherever it stands: mostly so while there is room.
        return true;
    }
    const Stretch passed = needs_.fold(needs_.begin(), order);
    return passed.peak + (all_->early - passed.early) + own <= most;
}

}  // namespace trnsim::lowering
