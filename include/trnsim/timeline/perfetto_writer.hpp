// SPDX-License-Identifier: Apache-2.0
// Writes a run as a trace file of Perfetto (https://ui.perfetto.dev), slice by slice.
#pragma once

#include "trnsim/timeline/timeline_sink.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace trnsim::timeline {

/// A TimelineSink that writes Perfetto's native protobuf format. [PERFETTO-TRACK-EVENT]
///
///     slice() --> [ flow window: 16,384 slices ] --> packets --> path.partial-<pid> --finish()-->
///     path
///
/// The chip is a process, groups are its children, rows theirs, in the order of their registration.
/// Slices of one row that overlap are put on rows of the same name, which the viewer draws as one.
/// Both ends of a slice are rounded to the nearest nanosecond, Perfetto's unit, so slices that
/// touch still touch and none overlap; the error is 0.5 ns at most and does not add up. An arrow is
/// drawn when fewer than 16,384 slices were reported between a slice and the one that waited for
/// it.
///
/// Memory: a fixed amount, plus what rows and labels take.
class PerfettoWriter final : public TimelineSink {
public:
    /// `process` names the chip. Nothing appears at `path` before finish().
    /// \throws UserError if the file cannot be created
    PerfettoWriter(const std::string& path, std::string_view process);
    PerfettoWriter(const PerfettoWriter&) = delete;
    PerfettoWriter& operator=(const PerfettoWriter&) = delete;
    /// Removes what was written if finish() was not reached.
    ~PerfettoWriter() override;

    TrackId add_track(std::string_view group, std::string_view name) override;
    TrackId add_counter(std::string_view group,
                        std::string_view name,
                        std::string_view unit) override;
    LabelId add_label(const Label& label) override;
    /// \throws UserError if the disk is full
    void slice(const Slice& slice) override;
    /// \throws UserError if the disk is full
    void counter(TrackId track, Picoseconds at, double value) override;

    /// Where a timeline for `path` is collected until finish(); for those who clean up after a
    /// signal.
    [[nodiscard]] static std::string partial_path(const std::string& path);

    /// Writes what is left and gives the file its name. Called once, last.
    /// \throws UserError if the disk is full or the name cannot be taken
    void finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace trnsim::timeline
