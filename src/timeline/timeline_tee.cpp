// SPDX-License-Identifier: Apache-2.0
// Several exporters of one run.
#include "trnsim/timeline/timeline_tee.hpp"

namespace trnsim::timeline {

TrackId TimelineTee::add_track(std::string_view group, std::string_view name) {
    std::vector<TrackId>& numbers = tracks_.emplace_back();
    for (TimelineSink* sink : sinks_) {
        numbers.push_back(sink->add_track(group, name));
    }
    return static_cast<TrackId>(tracks_.size() - 1);
}

TrackId TimelineTee::add_counter(std::string_view group,
                                 std::string_view name,
                                 std::string_view unit) {
    std::vector<TrackId>& numbers = tracks_.emplace_back();
    for (TimelineSink* sink : sinks_) {
        numbers.push_back(sink->add_counter(group, name, unit));
    }
    return static_cast<TrackId>(tracks_.size() - 1);
}

LabelId TimelineTee::add_label(const Label& label) {
    std::vector<LabelId>& numbers = labels_.emplace_back();
    for (TimelineSink* sink : sinks_) {
        numbers.push_back(sink->add_label(label));
    }
    return static_cast<LabelId>(labels_.size() - 1);
}

void TimelineTee::slice(const Slice& slice) {
    for (std::size_t i = 0; i < sinks_.size(); ++i) {
        Slice passed = slice;
        passed.track = tracks_[slice.track][i];
        passed.label = labels_[slice.label][i];
        if (passed.held_by) {
            passed.held_by->track = tracks_[slice.held_by->track][i];
        }
        sinks_[i]->slice(passed);
    }
}

void TimelineTee::counter(TrackId track, Picoseconds at, double value) {
    for (std::size_t i = 0; i < sinks_.size(); ++i) {
        sinks_[i]->counter(tracks_[track][i], at, value);
    }
}

}  // namespace trnsim::timeline
