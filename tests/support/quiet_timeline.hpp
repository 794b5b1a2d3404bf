// SPDX-License-Identifier: Apache-2.0
// A timeline that keeps nothing but names.
#pragma once

#include "trnsim/timeline/timeline_sink.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trnsim::test {

/// Numbers tracks and labels. What derives from it watches what it wants to.
class QuietTimeline : public timeline::TimelineSink {
public:
    timeline::TrackId add_track(std::string_view /*group*/, std::string_view /*name*/) override {
        return tracks_++;
    }
    timeline::TrackId add_counter(std::string_view group,
                                  std::string_view name,
                                  std::string_view /*unit*/) override {
        return add_track(group, name);
    }
    timeline::LabelId add_label(const timeline::Label& label) override {
        labels_.emplace_back(label.name);
        return static_cast<timeline::LabelId>(labels_.size() - 1);
    }
    void slice(const timeline::Slice& /*slice*/) override {}
    void counter(timeline::TrackId /*track*/, Picoseconds /*at*/, double /*value*/) override {}

    [[nodiscard]] const std::vector<std::string>& labels() const { return labels_; }

private:
    timeline::TrackId tracks_ = 0;
    std::vector<std::string> labels_;
};

}  // namespace trnsim::test
