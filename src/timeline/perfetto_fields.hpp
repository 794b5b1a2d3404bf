// SPDX-License-Identifier: Apache-2.0
// Field numbers of the Perfetto messages that are written. [PERFETTO-PROTOS]
#pragma once

#include <protozero/types.hpp>

namespace trnsim::timeline::perfetto {

/// trace.proto
enum class Trace : protozero::pbf_tag_type { Packet = 1 };

/// trace_packet.proto
enum class TracePacket : protozero::pbf_tag_type {
    Timestamp = 8,
    TrustedPacketSequenceId = 10,
    TrackEvent = 11,
    InternedData = 12,
    SequenceFlags = 13,
    TrackDescriptor = 60,
    FirstPacketOnSequence = 87,
};

/// TracePacket.SequenceFlags
inline constexpr std::uint32_t kIncrementalStateCleared = 1;
inline constexpr std::uint32_t kNeedsIncrementalState = 2;

/// track_event/track_descriptor.proto
enum class TrackDescriptor : protozero::pbf_tag_type {
    Uuid = 1,
    Name = 2,
    Process = 3,
    ParentUuid = 5,
    Counter = 8,
    ChildOrdering = 11,
    SiblingOrderRank = 12,
};

/// TrackDescriptor.ChildTracksOrdering
inline constexpr std::int32_t kExplicitOrder = 3;

/// track_event/process_descriptor.proto
enum class ProcessDescriptor : protozero::pbf_tag_type { Pid = 1, ProcessName = 6 };

/// track_event/counter_descriptor.proto
enum class CounterDescriptor : protozero::pbf_tag_type { UnitName = 6 };

/// track_event/track_event.proto
enum class TrackEvent : protozero::pbf_tag_type {
    CategoryIids = 3,
    DebugAnnotations = 4,
    Type = 9,
    NameIid = 10,
    TrackUuid = 11,
    DoubleCounterValue = 44,
    FlowIds = 47,
    TerminatingFlowIds = 48,
};

/// TrackEvent.Type
inline constexpr std::int32_t kSliceBegin = 1;
inline constexpr std::int32_t kSliceEnd = 2;
inline constexpr std::int32_t kCounter = 4;

/// track_event/debug_annotation.proto
enum class DebugAnnotation : protozero::pbf_tag_type { NameIid = 1, StringValueIid = 17 };

/// interned_data/interned_data.proto
enum class InternedData : protozero::pbf_tag_type {
    EventCategories = 1,
    EventNames = 2,
    DebugAnnotationNames = 3,
    DebugAnnotationStringValues = 29,
};

/// EventCategory, EventName, DebugAnnotationName and InternedString agree in these.
enum class Interned : protozero::pbf_tag_type { Iid = 1, Text = 2 };

}  // namespace trnsim::timeline::perfetto
