// SPDX-License-Identifier: Apache-2.0
// A timeline kept in memory: when each instruction began and how long it took.
#pragma once

#include "support/simulation.hpp"
#include "trnsim/timeline/timeline_sink.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trnsim::test {

/// Remembers every slice.
class RecordedTimeline : public timeline::TimelineSink {
public:
    struct Entry {
        std::string name;
        Picoseconds start;
        Picoseconds duration;  ///< Until the result is visible.
    };

    timeline::TrackId add_track(std::string_view /*group*/, std::string_view /*name*/) override {
        return tracks_++;
    }
    timeline::TrackId add_counter(std::string_view /*group*/,
                                  std::string_view /*name*/,
                                  std::string_view /*unit*/) override {
        return tracks_++;
    }
    timeline::LabelId add_label(std::string_view name,
                                std::string_view /*category*/,
                                std::string_view /*source*/,
                                std::string_view /*details*/) override {
        labels_.emplace_back(name);
        return static_cast<timeline::LabelId>(labels_.size() - 1);
    }
    void slice(const timeline::Slice& slice) override {
        entries_.push_back({labels_[slice.label], slice.start, slice.duration});
    }
    void counter(timeline::TrackId /*track*/, Picoseconds /*at*/, double /*value*/) override {}

    /// The executions of a name, in order of their ends.
    [[nodiscard]] std::vector<Entry> of(std::string_view name) const {
        std::vector<Entry> result;
        for (const Entry& entry : entries_) {
            if (entry.name == name) {
                result.push_back(entry);
            }
        }
        return result;
    }

private:
    timeline::TrackId tracks_ = 0;
    std::vector<std::string> labels_;
    std::vector<Entry> entries_;
};

/// Simulates, and returns the executions of a name, in order of their ends.
[[nodiscard]] inline std::vector<RecordedTimeline::Entry> executions(
    const program::Program& program, const ChipSpec& chip, std::string_view name) {
    RecordedTimeline timeline;
    static_cast<void>(
        run(program, chip, RunOptions{.policies = {}, .timeline = &timeline, .progress = {}}));
    return timeline.of(name);
}

}  // namespace trnsim::test
