// SPDX-License-Identifier: Apache-2.0
// The hardware semaphores of a NeuronCore, with the times at which they will change.
#pragma once

#include "trnsim/base/ring_buffer.hpp"
#include "trnsim/neuron_core/queued_instruction.hpp"
#include "trnsim/neuron_core/sync_engine_spec.hpp"

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

    /// The event that wakes a queue, for announcements that put others' answers forward. Set at
    /// elaboration.
    void connect(sc_core::sc_event& wake) { queues_.push_back(&wake); }

    /// When `semaphore` will be at least `value`. The answer is valid until the next signal().
    [[nodiscard]] Answer when(int semaphore, std::int64_t value) const;

    /// Grows with every announcement that puts answers of when() forward; as long as it stays the
    /// same, an answer that was known does not change.
    [[nodiscard]] std::uint64_t revision() const { return revision_; }

    /// Asks for `wake` to be notified when an announcement may change the answer of when().
    void await(int semaphore, std::int64_t value, sc_core::sc_event& wake);

    /// Announces that `semaphore` grows by `add` at `at`. \pre at >= now
    void signal(int semaphore, std::int64_t add, Picoseconds at, const Producer& producer);

    /// Highest announced value, and who raised it last and when, for messages.
    [[nodiscard]] std::string describe(int semaphore) const;

    [[nodiscard]] const SemaphoreFileSpec& spec() const { return spec_; }

private:
    struct Waiter {
        std::int64_t value = 0;
        sc_core::sc_event* wake = nullptr;
    };
    struct Counter {
        std::int64_t settled = 0;  ///< Value before the oldest kept update.
        RingBuffer<Update> updates;
        std::vector<Waiter> waiters;
    };

    void settle(Counter& counter) const;
    void put_forward(Counter& counter, std::size_t position, std::int64_t add);
    static void wake_waiters(Counter& counter);

    const SemaphoreFileSpec spec_;
    std::vector<Counter> counters_;
    std::vector<sc_core::sc_event*> queues_;
    std::uint64_t revision_ = 0;
};

}  // namespace trnsim::neuron_core
