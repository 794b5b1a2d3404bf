// SPDX-License-Identifier: Apache-2.0
// Holds back the last slices until it is known who waited for them.
#include "flow_window.hpp"

#include <cassert>

namespace trnsim::timeline {

FlowWindow::FlowWindow(std::size_t capacity) : slots_(capacity) {
    slot_of_flow_.reserve(capacity);
}

void FlowWindow::push(const Slice& slice) {
    assert(!is_full());
    const std::size_t slot = (first_ + count_) % slots_.size();
    ++count_;
    ArrowedSlice& added = slots_[slot];
    added.track = slice.track;
    added.label = slice.label;
    added.start = slice.start;
    added.end = slice.start + slice.duration;
    added.flow = slice.flow;
    added.leaving.clear();
    added.arriving.clear();
    for (const FlowId producer : slice.waited_on) {
        const auto found = slot_of_flow_.find(producer);
        if (found != slot_of_flow_.end()) {
            ++last_arrow_;
            slots_[found->second].leaving.push_back(last_arrow_);
            added.arriving.push_back(last_arrow_);
        }
    }
    if (slice.flow != 0) {
        slot_of_flow_[slice.flow] = slot;
    }
}

void FlowWindow::pop() {
    assert(!is_empty());
    const auto found = slot_of_flow_.find(slots_[first_].flow);
    if (found != slot_of_flow_.end() && found->second == first_) {
        slot_of_flow_.erase(found);
    }
    first_ = (first_ + 1) % slots_.size();
    --count_;
}

}  // namespace trnsim::timeline
