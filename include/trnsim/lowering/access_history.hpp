// SPDX-License-Identifier: Apache-2.0
// Who read and wrote which bytes of a tile, so that the next access knows whom to wait for.
#pragma once

#include "trnsim/lowering/region.hpp"
#include "trnsim/neuron_core/queued_instruction.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trnsim::lowering {

/// For each queue the latest of its instructions that must have ended (done) or have read its
/// sources (read) before an access may begin. Instructions of a queue are numbered from 1; 0 is
/// none.
class WaitSet {
public:
    struct Need {
        std::uint64_t done = 0;
        std::uint64_t read = 0;
    };

    void clear() { done_queues_ = read_queues_ = 0; }
    void need_done(neuron_core::QueueId queue, std::uint64_t number) {
        raise(done_queues_, queue, needs_[queue].done, number);
    }
    void need_read(neuron_core::QueueId queue, std::uint64_t number) {
        raise(read_queues_, queue, needs_[queue].read, number);
    }
    /// All that `other` needs too, of the queues whose bits are set.
    void need(const WaitSet& other,
              std::uint32_t done_queues = kAllQueues,
              std::uint32_t read_queues = kAllQueues);

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
    static void raise(std::uint32_t& queues,
                      neuron_core::QueueId queue,
                      std::uint64_t& need,
                      std::uint64_t number) {
        need = has(queues, queue) ? std::max(need, number) : number;
        queues |= 1U << queue;
    }
    /// One kind of need of the queues `added`; `known` have it already.
    void add(std::uint32_t& known,
             std::uint32_t added,
             const WaitSet& other,
             std::uint64_t Need::*kind);

    std::array<Need, neuron_core::kQueues> needs_;  ///< Anything where there is no bit.
    std::uint32_t done_queues_ = 0;
    std::uint32_t read_queues_ = 0;
};

/// One access by one instruction.
struct RegionAccess {
    Region region;
    Access access = Access::Read;
    neuron_core::QueueId queue = 0;
    std::uint64_t number = 0;  ///< Of the instruction within its queue, from 1.
};

/// Accesses to one slot (or one HBM tensor) that later ones may have to wait for.
///
/// Flow (RAW), anti (WAR) and output (WAW) dependencies by exact region. Within one queue only flow
/// dependencies need a wait: a queue starts in order. Additions into PSUM by the Tensor Engine do
/// not wait for one another. Older accesses beyond kMaxEntries are merged by queue and then overlap
/// with everything (waits stay correct, some are early).
class AccessHistory {
public:
    static constexpr std::size_t kMaxEntries = 96;

    /// Adds to `waits` what `access` must wait for; its number is not looked at.
    void collect(const RegionAccess& access, WaitSet& waits) const;

    /// Records the access, after collect() and with its number; drops what it makes redundant.
    void record(const RegionAccess& access);

    /// Adds to `waits` every access there was: done for writes, read for reads.
    void collect_all(WaitSet& waits) const;

    /// What every later access waits for, whatever its bytes: what is merged, and what is added
    /// when the bytes change hands.
    [[nodiscard]] WaitSet& everywhere() { return everywhere_; }

    /// As new, but for its memory.
    void clear();

private:
    /// A read or a write.
    struct Last {
        std::uint64_t number = 0;
        neuron_core::QueueId queue = 0;
        bool is_write = false;

        void add_to(WaitSet& waits) const;
    };
    struct Entry {
        Region region;
        Last last;
    };

    /// Of what is merged: one per queue and kind.
    static constexpr std::size_t kMaxMerged = std::size_t{2} * neuron_core::kQueues;
    [[nodiscard]] std::size_t merged_size() const {
        return static_cast<std::size_t>(std::popcount(everywhere_.done_queues())) +
               static_cast<std::size_t>(std::popcount(everywhere_.read_queues()));
    }
    [[nodiscard]] bool is_too_long() const {
        return entries_.size() + kMaxMerged > kMaxEntries &&
               entries_.size() + merged_size() > kMaxEntries;
    }
    void merge_oldest();

    WaitSet everywhere_;
    std::vector<Entry> entries_;  ///< In order of their recording.
};

}  // namespace trnsim::lowering
