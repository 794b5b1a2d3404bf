// SPDX-License-Identifier: Apache-2.0
// Statistics per template and slices of the timeline.
#include "trnsim/neuron_core/execution_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace trnsim::neuron_core {
namespace {

timeline::FlowId flow_of(QueueId queue, std::uint64_t sequence) {
    return (static_cast<timeline::FlowId>(queue) << 48U) | (sequence + 1);
}

void add_wait(TemplateStats& stats, const IssueTemplate* what, Picoseconds time) {
    for (auto& [known, sum] : stats.waited_for) {
        if (known == what) {
            sum += time;
            return;
        }
    }
    stats.waited_for.emplace_back(what, time);
}

}  // namespace

ExecutionLog::ExecutionLog(const TemplateNames& names,
                           timeline::TimelineSink* sink,
                           ExecutionObserver* observer)
    : names_(names), sink_(sink), observer_(observer), tracks_(kQueues) {}

void ExecutionLog::add_queue(QueueId queue, const std::string& group, const std::string& name) {
    if (sink_ != nullptr) {
        tracks_[queue] = sink_->add_track(group, name);
    }
}

TemplateStats& ExecutionLog::stats_of(const IssueTemplate& what) {
    if (what.index >= templates_.size()) {
        templates_.resize(what.index + 1);
    }
    TemplateStats& stats = templates_[what.index];
    if (stats.what == nullptr) {
        stats.what = &what;
        const std::string source = names_.source_text(what);
        stats.kind = path_.kind_of(
            fmt::format("{} {} ({})", source, what.name, trnsim::name(what.engine)), what.engine);
        if (sink_ != nullptr) {
            stats.label =
                sink_->add_label({.name = what.name,
                                  .category = trnsim::name(what.engine),
                                  .source = source,
                                  .details = names_.details(what),
                                  .elements = names_.elements(what),
                                  .is_transpose = what.is_transpose,
                                  .bytes = what.transfer.bytes.value,
                                  .descriptors = what.transfer.descriptors,
                                  .hbm_read_bytes = what.transfer.bytes_read_hbm.value,
                                  .hbm_write_bytes = what.transfer.bytes_written_hbm.value});
        }
    }
    return stats;
}

void ExecutionLog::started(const Execution& execution) {
    if (observer_ != nullptr) {
        observer_->started(execution.queue, execution.sequence);
    }
    TemplateStats& stats = stats_of(*execution.instruction->what);
    ++stats.count;
    stats.active += execution.active;
    stats.stalled += execution.stalled;
    stats.refused += execution.refused;
    stats.kept += execution.kept;
    CriticalPath::Hold hold{.since = execution.start,
                            .predecessor = execution.predecessor,
                            .refused = execution.refused,
                            .kept = execution.kept};
    if (execution.held_by) {
        hold.producer_queue = execution.held_by->queue;
        hold.producer_sequence = execution.held_by->sequence;
        hold.since = execution.held_until;
        const Picoseconds waited = execution.stalled - execution.refused - execution.kept;
        if (waited > Picoseconds{}) {
            add_wait(stats, execution.held_by->what, waited);
        }
    }
    path_.started(execution.queue, execution.sequence, stats.kind, execution.start, hold);
}

void ExecutionLog::finished(const Execution& execution) {
    if (sink_ == nullptr) {
        return;
    }
    const TemplateStats& stats = stats_of(*execution.instruction->what);
    std::array<timeline::FlowId, 1> waited{};
    std::size_t count = 0;
    std::optional<timeline::Executed> held_by;
    if (execution.held_by) {
        const Producer& producer = *execution.held_by;
        waited[count++] = flow_of(producer.queue, producer.sequence);
        held_by = {.track = tracks_[producer.queue], .order = producer.sequence};
    }
    sink_->slice({.track = tracks_[execution.queue],
                  .label = stats.label,
                  .start = execution.start,
                  .duration = execution.duration,
                  .flow = flow_of(execution.queue, execution.sequence),
                  .waited_on = {waited.data(), count},
                  .order = execution.sequence,
                  .latency = execution.latency,
                  .occupied = execution.active,
                  .waited = execution.stalled,
                  .held_by = held_by});
}

}  // namespace trnsim::neuron_core
