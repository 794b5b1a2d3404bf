// SPDX-License-Identifier: Apache-2.0
// What an instruction has to wait for.
#pragma once

#include "trnsim/neuron_core/queued_instruction.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace trnsim::lowering {

/// Of one queue, the latest instruction that must have ended (done) and the latest that must have
/// read its sources (read). Instructions of a queue are numbered from 1; 0 is none.
struct QueueNeed {
    std::uint64_t done = 0;
    std::uint64_t read = 0;

    /// The latest of both: what to wait for if only ends are told.
    [[nodiscard]] std::uint64_t end() const { return std::max(done, read); }
};

/// What the instructions of a queue have waited for so far, of each queue the latest one that has
/// ended: those after them need not wait for it, nor for its sources to be read.
class KnownWaits {
public:
    [[nodiscard]] std::uint64_t operator[](neuron_core::QueueId queue) const {
        return known_[queue];
    }
    /// \pre it was not known
    void add(neuron_core::QueueId queue, std::uint64_t number) { known_[queue] = number; }

private:
    std::array<std::uint64_t, neuron_core::kQueues> known_{};
};

/// Nothing was waited for.
inline constexpr KnownWaits kNothingKnown{};

/// Per queue what must have happened before an instruction may begin, but for what is known.
class WaitSet {
public:
    using Need = QueueNeed;

    /// Empties it. From now on it leaves out what is known when it is added; `known` must outlive
    /// it.
    void clear(const KnownWaits& known = kNothingKnown) {
        done_queues_ = read_queues_ = 0;
        known_ = &known;
    }

    /// Whether this end would be a need that it does not have,
    [[nodiscard]] bool lacks_done(neuron_core::QueueId queue, std::uint64_t number) const {
        return number > (has(done_queues_, queue) ? needs_[queue].done : (*known_)[queue]);
    }
    /// and whether these sources would.
    [[nodiscard]] bool lacks_read(neuron_core::QueueId queue, std::uint64_t number) const {
        return number > (has(read_queues_, queue) ? needs_[queue].read : (*known_)[queue]);
    }

    void need_done(neuron_core::QueueId queue, std::uint64_t number) {
        if (lacks_done(queue, number)) {
            needs_[queue].done = number;
            done_queues_ |= 1U << queue;
        }
    }
    void need_read(neuron_core::QueueId queue, std::uint64_t number) {
        if (lacks_read(queue, number)) {
            needs_[queue].read = number;
            read_queues_ |= 1U << queue;
        }
    }
    /// All that `other` needs too, of the queues whose bits are set.
    void need(const WaitSet& other,
              std::uint32_t done_queues = kAllQueues,
              std::uint32_t read_queues = kAllQueues);

    /// Whether all of that is known, and will be whatever is added.
    [[nodiscard]] bool knows(const WaitSet& other,
                             std::uint32_t done_queues,
                             std::uint32_t read_queues) const;

    /// Queues with a need, one bit each: of an end,
    [[nodiscard]] std::uint32_t done_queues() const { return done_queues_; }
    /// of sources that have been read,
    [[nodiscard]] std::uint32_t read_queues() const { return read_queues_; }
    /// and either.
    [[nodiscard]] std::uint32_t queues() const { return done_queues_ | read_queues_; }
    [[nodiscard]] Need operator[](neuron_core::QueueId queue) const {
        return {.done = has(done_queues_, queue) ? needs_[queue].done : 0,
                .read = has(read_queues_, queue) ? needs_[queue].read : 0};
    }

private:
    static constexpr std::uint32_t kAllQueues = ~0U;

    [[nodiscard]] static bool has(std::uint32_t queues, neuron_core::QueueId queue) {
        return (queues >> queue & 1U) != 0;
    }

    std::array<Need, neuron_core::kQueues> needs_;  ///< Anything where there is no bit.
    std::uint32_t done_queues_ = 0;
    std::uint32_t read_queues_ = 0;
    const KnownWaits* known_ = &kNothingKnown;
};

/// No needs.
inline constexpr WaitSet kNoNeeds{};

}  // namespace trnsim::lowering
