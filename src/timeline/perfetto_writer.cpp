// SPDX-License-Identifier: Apache-2.0
// Writes a run as a trace file of Perfetto: rows and their lanes, and the order of what is written.
#include "trnsim/timeline/perfetto_writer.hpp"

#include "atomic_file.hpp"
#include "flow_window.hpp"
#include "perfetto_packets.hpp"

#include <cassert>
#include <functional>
#include <map>
#include <vector>

namespace trnsim::timeline {
namespace {

constexpr std::size_t kWindowSlices = 16'384;
constexpr TrackUuid kProcessUuid = 1;

}  // namespace

struct PerfettoWriter::State {
    /// Part of a row on which slices do not overlap.
    struct Lane {
        TrackUuid uuid = 0;
        Picoseconds end;  ///< Of its last slice.
    };

    struct Row {
        std::string name;
        TrackUuid parent = 0;
        std::int32_t rank = 0;
        std::vector<Lane> lanes;  ///< At least one.
    };

    explicit State(const std::string& path) : file(path), window(kWindowSlices + 1) {}

    TrackUuid group_uuid(std::string_view name);
    TrackUuid lane_uuid(const ArrowedSlice& slice);
    Row& new_row(std::string_view group, std::string_view name);
    void write_oldest();

    AtomicFile file;
    FlowWindow window;
    PerfettoPackets packets;
    std::map<std::string, TrackUuid, std::less<>> groups;
    std::vector<Row> rows;  ///< By TrackId.
    TrackUuid last_uuid = kProcessUuid;
};

TrackUuid PerfettoWriter::State::group_uuid(std::string_view name) {
    const auto found = groups.find(name);
    if (found != groups.end()) {
        return found->second;
    }
    const TrackUuid uuid = ++last_uuid;
    file.write(packets.group(uuid, kProcessUuid, name, static_cast<std::int32_t>(groups.size())));
    groups.emplace(name, uuid);
    return uuid;
}

PerfettoWriter::State::Row& PerfettoWriter::State::new_row(std::string_view group,
                                                           std::string_view name) {
    const TrackUuid parent = group_uuid(group);
    const auto rank = static_cast<std::int32_t>(rows.size());
    return rows.emplace_back(Row{std::string{name}, parent, rank, {{++last_uuid, {}}}});
}

/// The first lane of the slice's row that is free when it starts; a new one if none is.
TrackUuid PerfettoWriter::State::lane_uuid(const ArrowedSlice& slice) {
    assert(slice.track < rows.size());
    Row& row = rows[slice.track];
    for (Lane& lane : row.lanes) {
        if (lane.end <= slice.start) {
            lane.end = slice.end;
            return lane.uuid;
        }
    }
    const Lane& added = row.lanes.emplace_back(Lane{++last_uuid, slice.end});
    file.write(packets.track(added.uuid, row.parent, row.name, row.rank));
    return added.uuid;
}

void PerfettoWriter::State::write_oldest() {
    const ArrowedSlice& slice = window.front();
    const TrackUuid uuid = lane_uuid(slice);
    file.write(packets.slice(uuid, slice));
    window.pop();
}

PerfettoWriter::PerfettoWriter(const std::string& path, std::string_view process)
    : state_(std::make_unique<State>(path)) {
    state_->file.write(state_->packets.process(kProcessUuid, process));
}

PerfettoWriter::~PerfettoWriter() = default;

TrackId PerfettoWriter::add_track(std::string_view group, std::string_view name) {
    const State::Row& row = state_->new_row(group, name);
    state_->file.write(
        state_->packets.track(row.lanes.front().uuid, row.parent, row.name, row.rank));
    return static_cast<TrackId>(row.rank);
}

TrackId PerfettoWriter::add_counter(std::string_view group,
                                    std::string_view name,
                                    std::string_view unit) {
    const State::Row& row = state_->new_row(group, name);
    state_->file.write(state_->packets.counter_track(
        row.lanes.front().uuid, row.parent, row.name, row.rank, unit));
    return static_cast<TrackId>(row.rank);
}

LabelId PerfettoWriter::add_label(const Label& label) {
    state_->file.write(
        state_->packets.label(label.name, label.category, label.source, label.details));
    return static_cast<LabelId>(state_->packets.label_count() - 1);
}

void PerfettoWriter::slice(const Slice& slice) {
    state_->window.push(slice);
    if (state_->window.is_full()) {
        state_->write_oldest();
    }
}

void PerfettoWriter::counter(TrackId track, Picoseconds at, double value) {
    assert(track < state_->rows.size());
    state_->file.write(
        state_->packets.counter_value(state_->rows[track].lanes.front().uuid, at, value));
}

std::string PerfettoWriter::partial_path(const std::string& path) {
    return AtomicFile::partial_path(path);
}

void PerfettoWriter::finish() {
    while (!state_->window.is_empty()) {
        state_->write_oldest();
    }
    state_->file.commit();
}

}  // namespace trnsim::timeline
