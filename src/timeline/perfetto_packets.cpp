// SPDX-License-Identifier: Apache-2.0
// Encodes rows, labels, slices and numbers as packets of a Perfetto trace.
#include "perfetto_packets.hpp"

#include <cassert>

#include <protozero/pbf_builder.hpp>

namespace trnsim::timeline {
namespace {

using namespace perfetto;

template <typename Message>
using Builder = protozero::pbf_builder<Message>;

constexpr std::uint32_t kSequence = 1;  // The trace has one sequence; its number is arbitrary.
constexpr std::int32_t kPid = 1;        // The trace has one process; its number is arbitrary.

/// The nearest nanosecond. Monotonic, so that slices that follow each other still do.
std::int64_t to_nanoseconds(Picoseconds time) {
    constexpr std::int64_t kPerNanosecond = 1000;
    return (time.value + kPerNanosecond / 2) / kPerNanosecond;
}

void append_packet(std::string& output, const std::string& packet) {
    Builder<Trace>{output}.add_message(Trace::Packet, packet);
}

}  // namespace

std::string_view PerfettoPackets::process(TrackUuid uuid, std::string_view name) {
    part_.clear();
    Builder<TrackDescriptor> descriptor{part_};
    descriptor.add_uint64(TrackDescriptor::Uuid, uuid);
    {
        Builder<ProcessDescriptor> inner{descriptor, TrackDescriptor::Process};
        inner.add_int32(ProcessDescriptor::Pid, kPid);
        inner.add_string(ProcessDescriptor::ProcessName, name.data(), name.size());
    }
    descriptor.add_enum(TrackDescriptor::ChildOrdering, kExplicitOrder);
    packet_.clear();
    Builder<TracePacket> packet{packet_};
    packet.add_uint32(TracePacket::TrustedPacketSequenceId, kSequence);
    packet.add_bool(TracePacket::FirstPacketOnSequence, true);
    packet.add_uint32(TracePacket::SequenceFlags, kIncrementalStateCleared);
    packet.add_message(TracePacket::TrackDescriptor, part_);
    output_.clear();
    append_packet(output_, packet_);
    return output_;
}

std::string_view PerfettoPackets::group(TrackUuid uuid,
                                        TrackUuid parent,
                                        std::string_view name,
                                        std::int32_t rank) {
    start_track(uuid, parent, name, rank);
    Builder<TrackDescriptor>{part_}.add_enum(TrackDescriptor::ChildOrdering, kExplicitOrder);
    return finish_track();
}

std::string_view PerfettoPackets::track(TrackUuid uuid,
                                        TrackUuid parent,
                                        std::string_view name,
                                        std::int32_t rank) {
    start_track(uuid, parent, name, rank);
    return finish_track();
}

std::string_view PerfettoPackets::counter_track(TrackUuid uuid,
                                                TrackUuid parent,
                                                std::string_view name,
                                                std::int32_t rank,
                                                std::string_view unit) {
    start_track(uuid, parent, name, rank);
    Builder<TrackDescriptor> descriptor{part_};
    Builder<CounterDescriptor>{descriptor, TrackDescriptor::Counter}.add_string(
        CounterDescriptor::UnitName, unit.data(), unit.size());
    return finish_track();
}

std::string_view PerfettoPackets::label(std::string_view name,
                                        std::string_view category,
                                        std::string_view source,
                                        std::string_view details) {
    interned_.clear();
    part_.clear();
    Builder<TrackEvent> event{part_};
    event.add_enum(TrackEvent::Type, kSliceBegin);
    event.add_uint64(TrackEvent::NameIid, intern(names_, InternedData::EventNames, name));
    if (!category.empty()) {
        event.add_uint64(TrackEvent::CategoryIids,
                         intern(categories_, InternedData::EventCategories, category));
    }
    annotate("source", source);
    annotate("details", details);
    labels_.push_back(part_);

    output_.clear();
    if (!interned_.empty()) {
        packet_.clear();
        Builder<TracePacket> packet{packet_};
        packet.add_uint32(TracePacket::TrustedPacketSequenceId, kSequence);
        packet.add_uint32(TracePacket::SequenceFlags, kNeedsIncrementalState);
        packet.add_message(TracePacket::InternedData, interned_);
        append_packet(output_, packet_);
    }
    return output_;
}

std::string_view PerfettoPackets::slice(TrackUuid uuid, const ArrowedSlice& slice) {
    assert(slice.label < labels_.size());
    output_.clear();
    part_ = labels_[slice.label];
    Builder<TrackEvent> begin{part_};
    begin.add_uint64(TrackEvent::TrackUuid, uuid);
    for (const ArrowId arrow : slice.leaving) {
        begin.add_fixed64(TrackEvent::FlowIds, arrow);
    }
    for (const ArrowId arrow : slice.arriving) {
        begin.add_fixed64(TrackEvent::TerminatingFlowIds, arrow);
    }
    append_event(to_nanoseconds(slice.start), kNeedsIncrementalState);

    part_.clear();
    Builder<TrackEvent> end{part_};
    end.add_enum(TrackEvent::Type, kSliceEnd);
    end.add_uint64(TrackEvent::TrackUuid, uuid);
    append_event(to_nanoseconds(slice.end), 0);
    return output_;
}

std::string_view PerfettoPackets::counter_value(TrackUuid uuid, Picoseconds at, double value) {
    output_.clear();
    part_.clear();
    Builder<TrackEvent> event{part_};
    event.add_enum(TrackEvent::Type, kCounter);
    event.add_uint64(TrackEvent::TrackUuid, uuid);
    event.add_double(TrackEvent::DoubleCounterValue, value);
    append_event(to_nanoseconds(at), 0);
    return output_;
}

std::uint64_t PerfettoPackets::intern(Numbers& numbers, InternedData kind, std::string_view text) {
    const auto [entry, is_new] = numbers.try_emplace(std::string{text}, numbers.size() + 1);
    if (is_new) {
        Builder<InternedData> data{interned_};
        Builder<Interned> item{data, kind};
        item.add_uint64(Interned::Iid, entry->second);
        item.add_string(Interned::Text, entry->first);
    }
    return entry->second;
}

/// Adds a key and a value to the label in `part_`; nothing if the value is empty.
void PerfettoPackets::annotate(std::string_view key, std::string_view value) {
    if (value.empty()) {
        return;
    }
    const std::uint64_t key_number = intern(keys_, InternedData::DebugAnnotationNames, key);
    const std::uint64_t value_number =
        intern(values_, InternedData::DebugAnnotationStringValues, value);
    Builder<TrackEvent> event{part_};
    Builder<DebugAnnotation> annotation{event, TrackEvent::DebugAnnotations};
    annotation.add_uint64(DebugAnnotation::NameIid, key_number);
    annotation.add_uint64(DebugAnnotation::StringValueIid, value_number);
}

void PerfettoPackets::start_track(TrackUuid uuid,
                                  TrackUuid parent,
                                  std::string_view name,
                                  std::int32_t rank) {
    part_.clear();
    Builder<TrackDescriptor> descriptor{part_};
    descriptor.add_uint64(TrackDescriptor::Uuid, uuid);
    descriptor.add_uint64(TrackDescriptor::ParentUuid, parent);
    descriptor.add_string(TrackDescriptor::Name, name.data(), name.size());
    descriptor.add_int32(TrackDescriptor::SiblingOrderRank, rank);
}

std::string_view PerfettoPackets::finish_track() {
    packet_.clear();
    Builder<TracePacket> packet{packet_};
    packet.add_uint32(TracePacket::TrustedPacketSequenceId, kSequence);
    packet.add_message(TracePacket::TrackDescriptor, part_);
    output_.clear();
    append_packet(output_, packet_);
    return output_;
}

/// Appends the event in `part_` to the output; `flags` 0 leaves the field away.
void PerfettoPackets::append_event(std::int64_t timestamp_ns, std::uint32_t flags) {
    packet_.clear();
    Builder<TracePacket> packet{packet_};
    packet.add_uint64(TracePacket::Timestamp, static_cast<std::uint64_t>(timestamp_ns));
    packet.add_uint32(TracePacket::TrustedPacketSequenceId, kSequence);
    if (flags != 0) {
        packet.add_uint32(TracePacket::SequenceFlags, flags);
    }
    packet.add_message(TracePacket::TrackEvent, part_);
    append_packet(output_, packet_);
}

}  // namespace trnsim::timeline
