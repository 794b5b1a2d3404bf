// SPDX-License-Identifier: Apache-2.0
// Bytes needed by steps that are passed.
#include "trnsim/lowering/in_order_need.hpp"

#include <algorithm>
#include <cassert>

namespace trnsim::lowering {

void InOrderNeed::admit(std::int64_t begun, std::int64_t ended) {
    live_ += begun;
    steps_.push_back({.need = live_, .ended = ended});
    live_ -= ended;
}

void InOrderNeed::retire(std::uint64_t order) {
    steps_[order - first_].is_retired = true;
    while (!steps_.empty() && steps_.front().is_retired) {
        early_ -= steps_.front().early;
        steps_.pop_front();
        ++first_;
    }
}

void InOrderNeed::take(std::uint64_t order, std::int64_t bytes) {
    if (order > first_) {
        steps_[order - first_].early += bytes;
        early_ += bytes;
    }
}

bool InOrderNeed::allows(std::uint64_t order, std::int64_t bytes) const {
    assert(order >= first_ && order - first_ < steps_.size());
    const std::uint64_t passed = order - first_;
    const std::int64_t own = bytes - steps_[passed].ended;
    const std::int64_t limit = most();
    std::int64_t early = early_;  // Taken by steps after t.
    for (std::uint64_t t = 0; t < passed; ++t) {
        const Step& step = steps_[t];
        early -= step.early;
        if (step.need <= capacity_ && step.need + early + own > limit) {
            return false;
        }
    }
    return true;
}

std::int64_t InOrderNeed::most() const {
    std::int64_t most = capacity_;
    for (const Step& step : steps_) {
        most = std::max(most, step.need);
    }
    return most;
}

}  // namespace trnsim::lowering
