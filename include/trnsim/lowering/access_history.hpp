// SPDX-License-Identifier: Apache-2.0
// Who read and wrote which bytes of a tile, so that the next access knows whom to wait for.
#pragma once

#include "trnsim/lowering/region.hpp"
#include "trnsim/neuron_core/queued_instruction.hpp"

#include <array>
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

    void clear();
    void need_done(neuron_core::QueueId queue, std::uint64_t number);
    void need_read(neuron_core::QueueId queue, std::uint64_t number);
    /// All that `other` needs too.
    void need(const WaitSet& other);

    /// Queues with a need, one bit each.
    [[nodiscard]] std::uint32_t queues() const { return queues_; }
    [[nodiscard]] const Need& operator[](neuron_core::QueueId queue) const { return needs_[queue]; }

private:
    std::array<Need, neuron_core::kQueues> needs_{};
    std::uint32_t queues_ = 0;
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

    /// Makes every later access wait for all of these: the bytes change hands.
    void inherit(const WaitSet& all);

    /// As new, but for its memory.
    void clear();

private:
    /// The last read or write of a queue that later accesses to any byte wait for.
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

    [[nodiscard]] std::size_t merged_size() const {
        return writes_everywhere_.size() + reads_everywhere_.size();
    }
    void merge_oldest();
    void add_everywhere(const Last& last);

    // One per queue:
    std::vector<Last> writes_everywhere_;
    std::vector<Last> reads_everywhere_;
    std::vector<Entry> entries_;  ///< In order of their recording.
};

}  // namespace trnsim::lowering
