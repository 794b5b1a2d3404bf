// SPDX-License-Identifier: Apache-2.0
// Several exporters of one run.
#pragma once

#include "trnsim/timeline/timeline_sink.hpp"

#include <utility>
#include <vector>

namespace trnsim::timeline {

/// Passes everything on to each of its sinks, under the numbers that each of them gave.
class TimelineTee final : public TimelineSink {
public:
    /// The sinks must outlive it.
    explicit TimelineTee(std::vector<TimelineSink*> sinks) : sinks_(std::move(sinks)) {}

    TrackId add_track(std::string_view group, std::string_view name) override;
    TrackId add_counter(std::string_view group,
                        std::string_view name,
                        std::string_view unit) override;
    LabelId add_label(const Label& label) override;
    void slice(const Slice& slice) override;
    void counter(TrackId track, Picoseconds at, double value) override;

private:
    std::vector<TimelineSink*> sinks_;
    std::vector<std::vector<TrackId>> tracks_;  ///< By own number: those of the sinks.
    std::vector<std::vector<LabelId>> labels_;
};

}  // namespace trnsim::timeline
