// SPDX-License-Identifier: Apache-2.0
// A timeline kept in memory: when each instruction began and how long it took.
#pragma once

#include "support/quiet_timeline.hpp"
#include "support/simulation.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trnsim::test {

/// Remembers every slice.
class RecordedTimeline : public QuietTimeline {
public:
    struct Entry {
        std::string name;
        Picoseconds start;
        Picoseconds duration;  ///< Until the result is visible.
    };

    void slice(const timeline::Slice& slice) override {
        entries_.push_back({labels()[slice.label], slice.start, slice.duration});
    }

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
