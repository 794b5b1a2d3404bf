// SPDX-License-Identifier: Apache-2.0
// The hardware semaphores of a NeuronCore, with the times at which they will change.
#pragma once

#include "trnsim/base/ring_buffer.hpp"
#include "trnsim/neuron_core/queued_instruction.hpp"
#include "trnsim/neuron_core/sync_engine_spec.hpp"
#include "trnsim/neuron_core/template_names.hpp"

#include <systemc>

#include <cstdint>
#include <string>
#include <vector>

namespace trnsim::neuron_core {

/// Who raised a semaphore: the queue, and which of its instructions counting from 0.
struct Producer {
    QueueId queue = 0;
    std::uint64_t sequence = 0;
    const IssueTemplate* what = nullptr;
};

/// A queue that waits for announcements.
class SemaphoreWaiter {
public:
    SemaphoreWaiter() = default;
    SemaphoreWaiter(const SemaphoreWaiter&) = delete;
    SemaphoreWaiter& operator=(const SemaphoreWaiter&) = delete;
    virtual ~SemaphoreWaiter() = default;

    /// What it awaited is announced: when() has an answer.
    virtual void announced() = 0;
    /// Answers it had from when() may have moved to earlier times.
    virtual void revised() = 0;
};

/// The 256 counters by which engines and DMA order themselves.
///
///     signal(semaphore, at) --> [ counters, updates to come ] --> when(semaphore >= value)
///
/// An instruction's end is known when it starts, so an update is announced with its time and needs
/// no event of its own. Models: waits on >=, additions in any order from any queue, wake-up of
/// waiting queues. Does not model: ==, subtraction, event bits (D-04). One per NeuronCore.
class SemaphoreFile : public sc_core::sc_module {
public:
    /// An announced change.
    struct Update {
        Picoseconds at;
        std::int64_t value_after = 0;
        Producer producer;
    };
    /// When a condition becomes true, as far as is announced.
    struct Answer {
        bool is_known = false;
        const Update* update =
            nullptr;  ///< That makes it true; nullptr if it has been true for long.
    };

    SemaphoreFile(const sc_core::sc_module_name& name, const SemaphoreFileSpec& spec);

    /// A queue to be told of announcements that put others' answers forward. Set at elaboration.
    void connect(SemaphoreWaiter& queue) { queues_.push_back(&queue); }

    /// When `semaphore` will be at least `value`. The answer is valid until the next signal().
    [[nodiscard]] Answer when(int semaphore, std::int64_t value) const;

    /// Asks for waiter.announced(), once, as soon as when() has an answer. \pre it has none
    void await(int semaphore, std::int64_t value, SemaphoreWaiter& waiter);

    /// Announces that `semaphore` grows by `add` at `at`. \pre at >= now
    void signal(int semaphore, std::int64_t add, Picoseconds at, const Producer& producer);

    /// Highest announced value, and who raised it last and when, for messages.
    [[nodiscard]] std::string describe(int semaphore, const TemplateNames& names) const;

    [[nodiscard]] const SemaphoreFileSpec& spec() const { return spec_; }

private:
    struct Awaited {
        std::int64_t value = 0;
        SemaphoreWaiter* by = nullptr;
    };
    struct Counter {
        std::int64_t settled = 0;  ///< Value before the oldest kept update.
        RingBuffer<Update> updates;
        std::vector<Awaited> awaited;
    };

    void settle(Counter& counter) const;
    void put_forward(Counter& counter, std::size_t position, std::int64_t add);
    static void tell_waiters(Counter& counter);

    const SemaphoreFileSpec spec_;
    std::vector<Counter> counters_;
    std::vector<SemaphoreWaiter*> queues_;
};

}  // namespace trnsim::neuron_core
