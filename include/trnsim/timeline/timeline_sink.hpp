// SPDX-License-Identifier: Apache-2.0
// Where the simulated chip tells what happened when; an exporter stands behind it.
#pragma once

#include "trnsim/base/units.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace trnsim::timeline {

/// One row of the timeline: "neuron_core.tensor_engine", "dma.ring[3]", "hbm".
using TrackId = std::uint32_t;

/// What a slice is called, with its details; registered once per instruction template.
using LabelId = std::uint32_t;

/// Identifies an executed instruction as the source of a semaphore wait; 0 is none.
using FlowId = std::uint64_t;

/// What slices of a label are.
struct Label {
    std::string_view name;      ///< "nc_matmul"
    std::string_view category;  ///< The engine: "tensor".
    std::string_view source;    ///< "kernel.py:52"
    std::string_view details;   ///< Operands, in one line.
    std::int64_t elements = 0;  ///< Per partition, of the largest operand that is streamed.
    bool is_transpose = false;  ///< By the Tensor Engine.
    // Of a transfer:
    std::int64_t bytes = 0;
    std::int64_t descriptors = 0;
    std::int64_t hbm_read_bytes = 0;
    std::int64_t hbm_write_bytes = 0;
};

/// An executed instruction: the number `order` (from 0) of its row.
struct Executed {
    TrackId track = 0;
    std::uint64_t order = 0;
};

/// One executed instruction or transfer.
struct Slice {
    TrackId track = 0;
    LabelId label = 0;
    Picoseconds start;
    Picoseconds duration;
    FlowId flow = 0;                    ///< Its own identity, for later slices that wait for it.
    std::span<const FlowId> waited_on;  ///< What it waited for: drawn as arrows.
    std::uint64_t order = 0;            ///< On its row, from 0.
    Picoseconds latency{};              ///< Without what an earlier one of its row adds.
    Picoseconds occupied{};             ///< Of its row's time: nothing else could start.
    Picoseconds waited{};               ///< Its row stood still before it, for
    std::optional<Executed> held_by{};  ///< the last to let it go; none: a port of a memory.
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
    virtual LabelId add_label(const Label& label) = 0;
    virtual void slice(const Slice& slice) = 0;
    virtual void counter(TrackId track, Picoseconds at, double value) = 0;
};

}  // namespace trnsim::timeline
