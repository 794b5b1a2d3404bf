// SPDX-License-Identifier: Apache-2.0
// In-order issue: wait for semaphores, start, announce the end.
#include "trnsim/neuron_core/sequencer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace trnsim::neuron_core {
namespace {

/// Whether a DMA ring was let go by its trigger: until then there was nothing for it to wait with.
bool is_triggered(const std::optional<Producer>& held_by) {
    return held_by && held_by->what->operation == Operation::Trigger;
}

/// Index of a gap's cause in EngineStats::waiting: the engines, DMA, memory ports.
std::size_t cause_of(const Producer* held_by) {
    return held_by == nullptr ? static_cast<std::size_t>(EngineStats::kCauses - 1)
                              : static_cast<std::size_t>(held_by->what->engine);
}

}  // namespace

Sequencer::Sequencer(const sc_core::sc_module_name& name,
                     QueueId queue,
                     const CoreServices& services)
    : sc_module(name),
      queue_(queue),
      services_(services),
      wakeup_time_(queue == queue_of(Engine::Tensor) ? services.semaphores.spec().wakeup_tensor_ns
                                                     : services.semaphores.spec().wakeup_ns) {
    SC_HAS_PROCESS(Sequencer);
    SC_METHOD(step);
    sensitive << wake_;
    dont_initialize();
    services_.fetch.connect(queue_, wake_);
    services_.semaphores.connect(*this);
}

void Sequencer::start_at(Picoseconds time) {
    active_until_ = time;
    wake_at(time);
}

void Sequencer::wake_at(Picoseconds time) {
    wake_.notify(to_sc_time(std::max(time - now(), Picoseconds{})));
}

void Sequencer::announced() {
    is_awaiting_ = false;
    const Picoseconds begin = earliest_start(*services_.fetch.peek(queue_));
    if (begin != kNotKnown) {
        wake_at(begin);
    }
}

void Sequencer::revised() {
    ready_ = Readiness{};
    if (!is_awaiting_) {
        wake_.notify(sc_core::SC_ZERO_TIME);
    }
}

void Sequencer::step() {
    guarded([this] { run_ahead(); });
}

void Sequencer::run_ahead() {
    const Picoseconds present = now();
    while (const QueuedInstruction* next = services_.fetch.front(queue_)) {
        const Picoseconds begin = earliest_start(*next);
        if (begin == kNotKnown) {
            return;
        }
        if (begin > present) {
            wake_at(begin);
            return;
        }
        if (!have_met(*next)) {
            return;
        }
        start(*next);
        ready_ = Readiness{};
        services_.fetch.pop(queue_);
    }
}

Picoseconds Sequencer::earliest_start(const QueuedInstruction& next) {
    if (is_awaiting_ || !find_readiness(next)) {
        return kNotKnown;
    }
    return std::max(ready_.at, earliest(next));
}

bool Sequencer::find_readiness(const QueuedInstruction& next) {
    for (; ready_.waits_known < next.waits().size(); ++ready_.waits_known) {
        const SemaphoreWait& wait = next.waits()[ready_.waits_known];
        const auto semaphore = static_cast<int>(wait.semaphore);
        const auto value = static_cast<std::int64_t>(wait.at_least);
        const SemaphoreFile::Answer answer = services_.semaphores.when(semaphore, value);
        if (!answer.is_known) {
            services_.semaphores.await(semaphore, value, *this);
            is_awaiting_ = true;
            return false;
        }
        if (answer.update != nullptr) {
            met_by(*answer.update);
        }
    }
    return true;
}

void Sequencer::met_by(const SemaphoreFile::Update& update) {
    const bool is_at_once =
        update.producer.queue == queue_ || update.producer.what->operation == Operation::Trigger;
    const Picoseconds at = is_at_once ? update.at : update.at + wakeup_time_;
    if (at > ready_.at) {
        ready_.at = at;
        ready_.held_by = update.producer;
        ready_.released = update.at;
    }
}

std::uint32_t Sequencer::own_core() const {
    return std::uint32_t{1} << static_cast<unsigned>(services_.core);
}

bool Sequencer::have_met(const QueuedInstruction& next) {
    if (next.what->meeting_cores == 0 || services_.meeting == nullptr) {
        return true;
    }
    const bool have_come = services_.meeting->arrive(
        services_.core,
        {.cores = next.what->meeting_cores | own_core(), .channel = next.what->meeting_channel},
        wake_);
    ready_.is_kept_by_cores |= !have_come;
    return have_come;
}

void Sequencer::start(const QueuedInstruction& next) {
    const Picoseconds begin = now();
    const std::uint64_t follows = sequence_ > 0 ? predecessor(next, sequence_) : 0;
    Issue lengths = issue(next, sequence_);
    read_until_ = std::max(read_until_, begin + lengths.read);
    const bool is_end_known = lengths.done != kNotKnown;
    const Picoseconds latency = is_end_known ? lengths.done : Picoseconds{};
    if (is_end_known) {
        lengths.done = std::max(lengths.done, stats_.last_done - begin);
    }
    Execution execution{.queue = queue_,
                        .sequence = sequence_,
                        .predecessor = follows,
                        .instruction = &next,
                        .start = begin,
                        .duration = is_end_known ? lengths.done : Picoseconds{},
                        .latency = latency};
    account(lengths, execution);
    services_.log.started(execution);
    if (is_end_known) {
        signal_all(next, producer_of(execution), begin, read_until_, begin + lengths.done);
        services_.log.finished(execution);
    }
    issued(execution);
    ++sequence_;
}

void Sequencer::account(const Issue& issue, Execution& execution) {
    const Picoseconds begin = execution.start;
    const Picoseconds end = begin + issue.interval;
    const Picoseconds could =
        is_triggered(ready_.held_by) ? std::max(active_until_, ready_.at) : active_until_;
    // What begins later than that was refused by a port or a ring, or kept by another core.
    const bool is_held = ready_.held_by && (ready_.at >= begin || ready_.at > could);
    if (is_held) {
        execution.held_by = ready_.held_by;
        execution.held_until = ready_.released;
    }
    if (begin > could) {
        const Picoseconds rest = begin - (is_held ? std::clamp(ready_.at, could, begin) : could);
        const bool is_kept = ready_.is_kept_by_cores;
        (is_kept ? execution.kept : execution.refused) = rest;
        execution.stalled = begin - could;
        stats_.waiting[cause_of(is_held ? &*ready_.held_by : nullptr)] += execution.stalled - rest;
        stats_.waiting[is_kept ? static_cast<std::size_t>(Engine::Sync) : cause_of(nullptr)] +=
            rest;
    }
    execution.active = std::max(Picoseconds{}, end - std::max(begin, active_until_));
    active_until_ = std::max(active_until_, end);
    stats_.active += execution.active;
    ++stats_.instruction_count;
    if (issue.done != kNotKnown) {
        const Picoseconds done = begin + issue.done;
        stats_.covered += std::max(Picoseconds{}, done - std::max(begin, stats_.last_done));
        stats_.last_done = std::max(stats_.last_done, done);
    }
}

void Sequencer::signal_all(const QueuedInstruction& instruction,
                           const Producer& producer,
                           Picoseconds begin,
                           Picoseconds read,
                           Picoseconds done) {
    for (const SemaphoreSignal& signal : instruction.signals()) {
        const Picoseconds at = signal.at_begin ? begin : signal.at_read ? read : done;
        if (at != kNotKnown) {
            services_.semaphores.signal(signal.semaphore, signal.add, at, producer);
        }
    }
}

Producer Sequencer::producer_of(const Execution& execution) {
    return {.queue = execution.queue,
            .sequence = execution.sequence,
            .what = execution.instruction->what};
}

void Sequencer::announce_read(const Execution& execution, Picoseconds read) {
    read_until_ = std::max(read_until_, read);
    signal_all(*execution.instruction, producer_of(execution), kNotKnown, read_until_, kNotKnown);
}

void Sequencer::announce_done(const Execution& execution, Picoseconds done) {
    Execution ended = execution;
    ended.latency = done - execution.start;
    done = std::max(done, stats_.last_done);
    ended.duration = done - execution.start;
    stats_.covered += std::max(Picoseconds{}, done - std::max(execution.start, stats_.last_done));
    stats_.last_done = done;
    signal_all(*execution.instruction, producer_of(execution), kNotKnown, kNotKnown, done);
    services_.log.finished(ended);
}

std::string Sequencer::describe_block() const {
    const QueuedInstruction* next = services_.fetch.peek(queue_);
    if (next == nullptr) {
        return {};
    }
    const TemplateNames& names = services_.log.names();
    std::string text = fmt::format("{} stands before {}", name(), names.line(*next->what));
    if (stats_.instruction_count > 0) {
        text += fmt::format(", instruction {} of its queue", stats_.instruction_count + 1);
    }
    for (const SemaphoreWait& wait : next->waits()) {
        const auto semaphore = static_cast<int>(wait.semaphore);
        const auto value = static_cast<std::int64_t>(wait.at_least);
        if (!services_.semaphores.when(semaphore, value).is_known) {
            text += fmt::format(": waits for semaphore {} >= {}, {}",
                                semaphore,
                                value,
                                services_.semaphores.describe(semaphore, names));
        }
    }
    if (next->what->meeting_cores != 0 && services_.meeting != nullptr) {
        text +=
            fmt::format(": waits for {}",
                        services_.meeting->missing({.cores = next->what->meeting_cores | own_core(),
                                                    .channel = next->what->meeting_channel}));
    }
    return text;
}

}  // namespace trnsim::neuron_core
