// SPDX-License-Identifier: Apache-2.0
// What surrounds one block of a NeuronCore in its tests: a script of instructions, the services
// that queues share, and a record of what was executed when.
#pragma once

#include "support/quiet_timeline.hpp"
#include "support/systemc_test.hpp"
#include "trnsim/neuron_core/sequencer.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::test {

[[nodiscard]] constexpr Picoseconds ns(std::int64_t count) {
    return Picoseconds{1000 * count};
}

/// Instructions in program order.
class Script : public neuron_core::InstructionSource, public neuron_core::TemplateNames {
public:
    /// One instruction, to be given waits and signals.
    class Item {
    public:
        Item& wait(int semaphore, std::uint64_t at_least);
        Item& signal(int semaphore, int add = 1);
        Item& signal_at_read(int semaphore, int add = 1);
        Item& signal_at_begin(int semaphore, int add = 1);
        Item& banks(std::uint64_t mask);

    private:
        friend class Script;
        neuron_core::QueueId queue_ = 0;
        neuron_core::QueuedInstruction instruction_;
    };

    /// An issue template of the script, to be used as often as wanted.
    const neuron_core::IssueTemplate& define(neuron_core::IssueTemplate what);

    Item& add(neuron_core::QueueId queue, const neuron_core::IssueTemplate& what);
    Item& add(Engine engine, const neuron_core::IssueTemplate& what) {
        return add(neuron_core::queue_of(engine), what);
    }

    bool produce(neuron_core::InstructionSink& sink) override;
    [[nodiscard]] bool uses(neuron_core::QueueId queue) const override;
    [[nodiscard]] std::string source_text(const neuron_core::IssueTemplate& what) const override;
    [[nodiscard]] std::string details(const neuron_core::IssueTemplate& what) const override;
    [[nodiscard]] std::int64_t elements(const neuron_core::IssueTemplate& what) const override;

private:
    std::deque<neuron_core::IssueTemplate> templates_;
    std::deque<Item> items_;
    std::size_t next_ = 0;
    std::uint32_t used_ = 0;
};

/// An instruction without a data path of its own: `interval`, `read` and `done` as given.
[[nodiscard]] neuron_core::IssueTemplate timed(const std::string& name,
                                               Picoseconds interval,
                                               Picoseconds read,
                                               Picoseconds done);
/// All three the same.
[[nodiscard]] inline neuron_core::IssueTemplate timed(const std::string& name, Picoseconds time) {
    return timed(name, time, time, time);
}

/// Slices in the order in which they ended.
class RecordedTimeline : public QuietTimeline {
public:
    struct Span {
        std::string name;
        Picoseconds start;
        Picoseconds end;
    };
    struct Sample {
        Picoseconds at;
        double value = 0.0;
    };

    timeline::TrackId add_track(std::string_view group, std::string_view name) override;
    void slice(const timeline::Slice& slice) override;
    void counter(timeline::TrackId track, Picoseconds at, double value) override;

    [[nodiscard]] const std::vector<Span>& of(timeline::TrackId track) const {
        return spans_[track];
    }
    [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }

private:
    std::vector<std::vector<Span>> spans_;  ///< By track.
    std::vector<Sample> samples_;
};

/// The services of a NeuronCore around a script. Waking up takes 10 ns, on the Tensor Engine 20 ns.
class CoreHarness {
public:
    explicit CoreHarness(neuron_core::ExecutionObserver* observer = nullptr);

    [[nodiscard]] neuron_core::CoreServices services() {
        return {.fetch = fetch_, .semaphores = semaphores_, .log = log_, .fault = fault_};
    }

    Script script;

    /// Runs what was built around it to the end, from time 0.
    static void run();

    /// What a queue executed, in order.
    [[nodiscard]] const std::vector<RecordedTimeline::Span>& executed(
        neuron_core::QueueId queue) const {
        return timeline_.of(queue);
    }
    [[nodiscard]] const std::vector<RecordedTimeline::Span>& executed(Engine engine) const {
        return executed(neuron_core::queue_of(engine));
    }
    /// Starts of a queue's instructions, in nanoseconds; the tests' times are whole ones.
    [[nodiscard]] std::vector<double> starts(Engine engine) const;
    [[nodiscard]] std::vector<double> ends(Engine engine) const;

    [[nodiscard]] neuron_core::SemaphoreFile& semaphores() { return semaphores_; }
    [[nodiscard]] neuron_core::InstructionFetch& fetch() { return fetch_; }
    [[nodiscard]] const neuron_core::ExecutionLog& log() const { return log_; }
    [[nodiscard]] std::exception_ptr fault() const { return fault_; }

private:
    std::exception_ptr fault_;
    RecordedTimeline timeline_;
    neuron_core::ExecutionLog log_;
    neuron_core::InstructionFetch fetch_;
    neuron_core::SemaphoreFile semaphores_;
};

/// A sequencer whose data path takes an instruction whenever the one before has passed its
/// interval.
class PlainEngine : public neuron_core::Sequencer {
public:
    PlainEngine(const sc_core::sc_module_name& name, Engine engine, CoreHarness& harness)
        : Sequencer(name, neuron_core::queue_of(engine), harness.services()) {
        start_at(Picoseconds{});
    }

private:
    [[nodiscard]] Picoseconds earliest(
        const neuron_core::QueuedInstruction& /*next*/) const override {
        return free_;
    }
    Issue issue(const neuron_core::QueuedInstruction& next, std::uint64_t /*sequence*/) override {
        const neuron_core::InstructionCost& cost = next.what->cost;
        free_ = now() + cost.interval;
        return {.interval = cost.interval, .read = cost.read, .done = cost.done};
    }

    Picoseconds free_;
};

}  // namespace trnsim::test
