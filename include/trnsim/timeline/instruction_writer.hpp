// SPDX-License-Identifier: Apache-2.0
// Writes a run as a table of what every engine and DMA ring executed.
#pragma once

#include "trnsim/timeline/timeline_sink.hpp"

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace trnsim::timeline {

/// A TimelineSink that writes JSON, configs/schema/instructions.schema.json, an instruction to a
/// line. Counters are left out.
///
/// Memory: a buffer, and what rows and labels take; independent of the length of the run.
class InstructionWriter final : public TimelineSink {
public:
    /// Counts up when a key changes or goes.
    static constexpr int kSchemaVersion = 1;
    /// "kind" of the file.
    static constexpr std::string_view kKind = "instructions";

    /// What is known of the run when it has ended.
    struct Run {
        std::string chip;  ///< "trainium2"
        std::string kernel;
        std::string input;  ///< As the user gave it.
        std::vector<std::string> arguments;
        Picoseconds total;
        Picoseconds kernel_start;
        Picoseconds kernel_end;
    };

    /// The stream must outlive it.
    InstructionWriter(std::ostream& output, std::string_view trnsim_version);

    TrackId add_track(std::string_view group, std::string_view name) override;
    TrackId add_counter(std::string_view group,
                        std::string_view name,
                        std::string_view unit) override;
    LabelId add_label(const Label& label) override;
    void slice(const Slice& slice) override;
    void counter(TrackId /*track*/, Picoseconds /*at*/, double /*value*/) override {}

    /// Writes what is left. Called once, last.
    void finish(const Run& run);

private:
    void flush();

    std::ostream& output_;
    std::string buffer_;
    std::vector<std::string> queues_;  ///< By TrackId, as JSON.
    std::vector<std::string> templates_;
    bool is_first_ = true;
};

}  // namespace trnsim::timeline
