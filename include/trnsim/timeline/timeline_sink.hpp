// SPDX-License-Identifier: Apache-2.0
// Where the simulated chip tells what happened when; an exporter stands behind it.
#pragma once

#include "trnsim/base/units.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace trnsim::timeline {

/// One row of the timeline: "neuron_core.tensor_engine", "dma.ring[3]", "hbm".
using TrackId = std::uint32_t;

/// What a slice is called, with its details; registered once per instruction template.
using LabelId = std::uint32_t;

/// Identifies an executed instruction as the source of a semaphore wait; 0 is none.
using FlowId = std::uint64_t;

/// One executed instruction or transfer.
struct Slice {
    TrackId track = 0;
    LabelId label = 0;
    Picoseconds start;
    Picoseconds duration;
    FlowId flow = 0;                    ///< Its own identity, for later slices that wait for it.
    std::span<const FlowId> waited_on;  ///< What it waited for: drawn as arrows.
};

/// Receives a run as it happens, in no particular order between tracks and in time order within
/// one. Memory use must not depend on the number of calls.
class TimelineSink {
public:
    TimelineSink() = default;
    TimelineSink(const TimelineSink&) = delete;
    TimelineSink& operator=(const TimelineSink&) = delete;
    virtual ~TimelineSink() = default;

    /// A row; `group` nests rows ("NeuronCore 0", "DMA").
    virtual TrackId add_track(std::string_view group, std::string_view name) = 0;
    /// A row that shows a number over time, with its unit.
    virtual TrackId add_counter(std::string_view group,
                                std::string_view name,
                                std::string_view unit) = 0;
    /// A slice name with its category, source line and one-line details.
    virtual LabelId add_label(std::string_view name,
                              std::string_view category,
                              std::string_view source,
                              std::string_view details) = 0;
    virtual void slice(const Slice& slice) = 0;
    virtual void counter(TrackId track, Picoseconds at, double value) = 0;
};

}  // namespace trnsim::timeline
