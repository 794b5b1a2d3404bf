// SPDX-License-Identifier: Apache-2.0
// What was executed, by template, and to the timeline.
#pragma once

#include "trnsim/neuron_core/critical_path.hpp"
#include "trnsim/neuron_core/execution_observer.hpp"
#include "trnsim/neuron_core/queued_instruction.hpp"
#include "trnsim/neuron_core/semaphore_file.hpp"
#include "trnsim/neuron_core/template_names.hpp"
#include "trnsim/timeline/timeline_sink.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trnsim::neuron_core {

/// Sums over all executions of one issue template.
struct TemplateStats {
    const IssueTemplate* what = nullptr;
    std::int64_t count = 0;
    Picoseconds active;
    Picoseconds stalled;
    Picoseconds refused;  ///< Of that, for a memory port or a DMA ring's interval or limit,
    Picoseconds kept;     ///< or for other NeuronCores.
    std::vector<std::pair<const IssueTemplate*, Picoseconds>> waited_for;
    CriticalPath::Kind kind = 0;
    timeline::LabelId label = 0;
};

/// One execution as its sequencer saw it.
struct Execution {
    QueueId queue = 0;
    std::uint64_t sequence = 0;
    std::uint64_t predecessor =
        0;  ///< The instruction of its queue that it follows; of the first: itself.
    const QueuedInstruction* instruction = nullptr;
    Picoseconds start{};
    Picoseconds active{};   ///< Time it adds to its queue's active time.
    Picoseconds stalled{};  ///< Gap before it;
    Picoseconds refused{};  ///< of it, for a port of a memory or by a DMA ring's interval or limit,
    Picoseconds kept{};     ///< or for other NeuronCores to come.
    Picoseconds duration{};  ///< Start to result visible, which is in order,
    Picoseconds latency{};   ///< and its own part of that.
    std::optional<Producer> held_by{};
    Picoseconds held_until{};  ///< When the producer released it.
};

/// Collects executions of a NeuronCore: statistics per template, the critical path, timeline
/// slices. Memory depends on the number of templates only.
class ExecutionLog {
public:
    /// `sink` and `observer` may be nullptr. None is owned.
    ExecutionLog(const TemplateNames& names,
                 timeline::TimelineSink* sink,
                 ExecutionObserver* observer);

    /// A timeline row for a queue; to be called before its first execution.
    void add_queue(QueueId queue, const std::string& group, const std::string& name);

    /// When the first instructions may start.
    void start_at(Picoseconds time) { path_.start_at(time); }

    /// The start of an instruction, once its start is certain.
    void started(const Execution& execution);

    /// Its slice, once its end is known.
    void finished(const Execution& execution);

    [[nodiscard]] const std::vector<TemplateStats>& templates() const { return templates_; }
    [[nodiscard]] const CriticalPath& critical_path() const { return path_; }
    [[nodiscard]] timeline::TimelineSink* sink() const { return sink_; }
    [[nodiscard]] const TemplateNames& names() const { return names_; }

private:
    TemplateStats& stats_of(const IssueTemplate& what);

    const TemplateNames& names_;
    timeline::TimelineSink* sink_;
    ExecutionObserver* observer_;
    std::vector<TemplateStats> templates_;
    std::vector<timeline::TrackId> tracks_;
    CriticalPath path_;
};

}  // namespace trnsim::neuron_core
