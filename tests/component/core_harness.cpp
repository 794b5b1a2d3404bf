// SPDX-License-Identifier: Apache-2.0
// Scripts, services and records of block tests.
#include "component/core_harness.hpp"

#include <fmt/format.h>

namespace trnsim::test {

using neuron_core::IssueTemplate;
using neuron_core::QueueId;

Script::Item& Script::Item::wait(int semaphore, std::uint64_t at_least) {
    instruction_.wait_list[instruction_.wait_count++] = {
        .semaphore = static_cast<std::uint16_t>(semaphore),
        .at_least = at_least & neuron_core::SemaphoreWait::kMostValue};
    return *this;
}

Script::Item& Script::Item::signal(int semaphore, int add) {
    instruction_.signal_list[instruction_.signal_count++] = {
        .semaphore = static_cast<std::uint16_t>(semaphore),
        .add = static_cast<std::uint16_t>(add),
        .at_read = false};
    return *this;
}

Script::Item& Script::Item::signal_at_read(int semaphore, int add) {
    signal(semaphore, add);
    instruction_.signal_list[instruction_.signal_count - 1U].at_read = true;
    return *this;
}

Script::Item& Script::Item::signal_at_begin(int semaphore, int add) {
    signal(semaphore, add);
    instruction_.signal_list[instruction_.signal_count - 1U].at_begin = true;
    return *this;
}

Script::Item& Script::Item::banks(std::uint64_t mask) {
    instruction_.psum_banks = mask;
    return *this;
}

const IssueTemplate& Script::define(IssueTemplate what) {
    what.index = static_cast<std::uint32_t>(templates_.size());
    return templates_.emplace_back(std::move(what));
}

Script::Item& Script::add(QueueId queue, const IssueTemplate& what) {
    Item& item = items_.emplace_back();
    item.queue_ = queue;
    item.instruction_.what = &what;
    used_ |= 1U << queue;
    return item;
}

bool Script::produce(neuron_core::InstructionSink& sink) {
    if (next_ == items_.size()) {
        return false;
    }
    const Item& item = items_[next_++];
    sink.append(item.queue_) = item.instruction_;
    return true;
}

bool Script::uses(QueueId queue) const {
    return ((used_ >> queue) & 1U) != 0;
}

std::string Script::source_text(const IssueTemplate& what) const {
    return fmt::format("kernel.py:{}", what.index + 1);
}

std::string Script::details(const IssueTemplate& what) const {
    return what.name;
}

std::int64_t Script::elements(const IssueTemplate& /*what*/) const {
    return 0;
}

IssueTemplate timed(const std::string& name,
                    Picoseconds interval,
                    Picoseconds read,
                    Picoseconds done) {
    IssueTemplate what;
    what.name = name;
    what.cost = {.interval = interval, .read = read, .done = done, .streaming = interval};
    return what;
}

timeline::TrackId RecordedTimeline::add_track(std::string_view group, std::string_view name) {
    spans_.emplace_back();
    return QuietTimeline::add_track(group, name);
}

void RecordedTimeline::slice(const timeline::Slice& slice) {
    spans_[slice.track].push_back(
        {labels()[slice.label], slice.start, slice.start + slice.duration});
}

void RecordedTimeline::counter(timeline::TrackId /*track*/, Picoseconds at, double value) {
    samples_.push_back({at, value});
}

CoreHarness::CoreHarness(neuron_core::ExecutionObserver* observer)
    : log_(script, &timeline_, observer),
      fetch_("instruction_fetch", script),
      semaphores_("semaphore_file",
                  {.count = 16, .wakeup_tensor_ns = ns(20), .wakeup_ns = ns(10)}) {
    for (int queue = 0; queue < neuron_core::kQueues; ++queue) {
        log_.add_queue(static_cast<QueueId>(queue), "core", fmt::format("queue {}", queue));
    }
}

void CoreHarness::run() {
    sc_core::sc_start();
}

std::vector<double> CoreHarness::starts(Engine engine) const {
    std::vector<double> result;
    for (const RecordedTimeline::Span& span : executed(engine)) {
        result.push_back(span.start.nanoseconds());
    }
    return result;
}

std::vector<double> CoreHarness::ends(Engine engine) const {
    std::vector<double> result;
    for (const RecordedTimeline::Span& span : executed(engine)) {
        result.push_back(span.end.nanoseconds());
    }
    return result;
}

}  // namespace trnsim::test
