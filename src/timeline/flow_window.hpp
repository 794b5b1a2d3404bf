// SPDX-License-Identifier: Apache-2.0
// Holds back the last slices until it is known who waited for them.
#pragma once

#include "trnsim/timeline/timeline_sink.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace trnsim::timeline {

/// Identifies one arrow of the timeline, from a slice to one that waited for it.
using ArrowId = std::uint64_t;

/// A slice with the arrows that leave and reach it.
struct ArrowedSlice {
    TrackId track = 0;
    LabelId label = 0;
    Picoseconds start;
    Picoseconds end;
    FlowId flow = 0;
    std::vector<ArrowId> leaving;
    std::vector<ArrowId> arriving;
};

/// A first-in-first-out window over the slices. Perfetto wants an arrow named at both of its ends,
/// and one that forks is drawn as a chain, so every pair of slices gets an arrow of its own; who
/// waits for a slice is only known later. What leaves the window gets no more arrows.
class FlowWindow {
public:
    explicit FlowWindow(std::size_t capacity);

    [[nodiscard]] bool is_full() const { return count_ == slots_.size(); }
    [[nodiscard]] bool is_empty() const { return count_ == 0; }

    /// Adds a slice and its arrows from the slices in the window. \pre not full
    void push(const Slice& slice);

    /// The oldest slice, complete. \pre not empty
    [[nodiscard]] const ArrowedSlice& front() const { return slots_[first_]; }
    void pop();

private:
    std::vector<ArrowedSlice> slots_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    ArrowId last_arrow_ = 0;
    std::unordered_map<FlowId, std::size_t> slot_of_flow_;
};

}  // namespace trnsim::timeline
