// SPDX-License-Identifier: Apache-2.0
// Bytes needed by steps that are passed.
#include "trnsim/lowering/tiles/in_order_need.hpp"

#include <algorithm>

namespace trnsim::lowering {

void InOrderNeed::admit(std::int64_t begun, std::int64_t ended) {
    live_ += begun;
    if (live_ > capacity_) {  // That much may be taken from now on.
        give_chance();
    }
    needs_.push_back({.need = live_, .peak = live_ <= capacity_ ? live_ : Stretch::kNone});
    steps_.push_back({.ended = ended});
    live_ -= ended;
    answers_.reset();
}

void InOrderNeed::retire(std::uint64_t order) {
    steps_[order - needs_.begin()].is_retired = true;
    while (!steps_.empty() && steps_.front().is_retired) {
        steps_.pop_front();
        needs_.pop_front();
        ++chances_;
        answers_.reset();
    }
}

void InOrderNeed::take(std::uint64_t order, std::int64_t bytes) {
    if (order > needs_.begin()) {
        Stretch step = needs_[order];
        step.early += bytes;
        needs_.set(order, step);
        answers_.reset();
    }
}

InOrderNeed::Answers& InOrderNeed::answers() const {
    if (!answers_) {
        answers_ = {.all = needs_.fold(needs_.begin(), needs_.end())};
    }
    return *answers_;
}

std::uint64_t InOrderNeed::until(std::uint64_t order, std::int64_t bytes) const {
    if (order == needs_.begin()) {  // It passes nobody.
        return 0;
    }
    auto& [all, refused_order, refused_bytes, refused_until] = answers();
    const std::int64_t own = bytes - steps_[order - needs_.begin()].ended;
    const std::int64_t most = std::max(capacity_, all.need);
    if (all.peak + own <= most) {  // Wherever it stands: mostly so while there is room.
        return 0;
    }
    if (order >= refused_order && own >= refused_bytes) {
        return refused_until;
    }
    const Stretch passed = needs_.fold(needs_.begin(), order);
    const std::int64_t others = all.early - passed.early + own;
    if (passed.peak + others <= most) {
        return 0;
    }
    const std::uint64_t in_the_way =
        needs_.last_place(needs_.begin(), order, [others, most](const Stretch& stretch) {
            return stretch.peak + others > most;
        });
    refused_order = order;
    refused_bytes = own;
    refused_until = chances_ + (in_the_way + 1 - needs_.begin());
    return refused_until;
}

}  // namespace trnsim::lowering
