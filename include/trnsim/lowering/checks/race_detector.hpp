// SPDX-License-Identifier: Apache-2.0
// Finds accesses of a lowered trace that no semaphore orders.
#pragma once

#include "trnsim/base/ring_buffer.hpp"
#include "trnsim/lowering/order/memory_history.hpp"
#include "trnsim/neuron_core/execution_observer.hpp"
#include "trnsim/program/program.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trnsim::lowering {

/// Vector clocks over queues. A queue knows an instruction of another to be over when a semaphore
/// it waited for could not have reached that value without it: the value exceeds what all other
/// queues add in the whole program. Two accesses to a common byte by different queues, at least one
/// a write, must be ordered so. A wait for what a queue added kKeptUpdates updates ago or longer is
/// taken to prove the oldest of those: races that only it hides are not found.
class RaceDetector : public neuron_core::ExecutionObserver {
public:
    /// One queue entry as it will start.
    struct Entry {
        std::string text{};  ///< "kernel.py:52 nc_matmul"
        std::vector<RegionAccess> accesses{};
        std::vector<Space> spaces{};  ///< Of the accesses.
        std::vector<neuron_core::SemaphoreWait> waits{};
        std::vector<neuron_core::SemaphoreSignal> signals{};
    };

    RaceDetector() : entries_(neuron_core::kQueues), clocks_(neuron_core::kQueues) {}

    /// States how much a queue adds to a semaphore in the whole program.
    void add_total(neuron_core::QueueId queue, int semaphore, std::int64_t amount);

    /// Announces the next entry of a queue, in queue order.
    void expect(neuron_core::QueueId queue, Entry entry);

    /// \throws ProgramError naming both instructions and the bytes if they race
    void started(neuron_core::QueueId queue, std::uint64_t sequence) override;

private:
    /// Per queue: instructions known to be done, and to have read.
    using Clock = std::array<WaitSet::Need, neuron_core::kQueues>;
    /// Additions of one queue to one semaphore, in order.
    struct Updates {
        struct Update {
            std::int64_t sum = 0;  ///< With those before it;
            WaitSet::Need over{};  ///< what is over then of the queue itself,
            Clock clock{};         ///< and what it knew when it started that instruction.
        };
        std::int64_t total = 0;
        std::int64_t announced = 0;
        RingBuffer<Update> kept;
    };
    struct Semaphore {
        std::int64_t total = 0;
        std::map<neuron_core::QueueId, Updates> by_queue;
    };
    static constexpr std::size_t kKeptUpdates = 4096;
    static constexpr std::size_t kKeptNames = 1024;

    void learn(Clock& clock, const neuron_core::SemaphoreWait& wait) const;
    void check(neuron_core::QueueId queue,
               const Entry& entry,
               const RegionAccess& access,
               Space space,
               MemoryHistory& memory);
    void announce(neuron_core::QueueId queue, std::uint64_t number, const Entry& entry);
    [[nodiscard]] std::string name_of(neuron_core::QueueId queue, std::uint64_t number) const;

    std::vector<RingBuffer<Entry>> entries_;
    std::vector<Clock> clocks_;
    std::map<int, Semaphore> semaphores_;
    std::array<MemoryHistory, 3> memories_;                            ///< By Space.
    std::array<RingBuffer<std::string>, neuron_core::kQueues> names_;  ///< Of the latest entries.
    std::array<std::uint64_t, neuron_core::kQueues> numbers_{};
};

}  // namespace trnsim::lowering
