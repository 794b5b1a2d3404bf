// SPDX-License-Identifier: Apache-2.0
// Who read and wrote which bytes of a tile, so that the next access knows whom to wait for.
#pragma once

#include "trnsim/base/inline_vector.hpp"
#include "trnsim/lowering/dependencies/region.hpp"
#include "trnsim/lowering/dependencies/wait_set.hpp"
#include "trnsim/neuron_core/queued_instruction.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace trnsim::lowering {

/// Which DMA engine moves which byte of a region in HBM: each has its partitions of SBUF, and those
/// of a transfer are one row each. Two transfers of a ring that agree in this are in order on every
/// engine, others may overtake each other.
struct Lanes {
    static constexpr std::int32_t kInOrder = 1'000'000;  ///< No transfer, or not in HBM.
    static constexpr std::int32_t kNowhere = 2'000'000;  ///< Indices say where,
    static constexpr std::int32_t kApart = 3'000'000;    ///< elsewhere each time: writes of a loop
                                                         ///< whose iterations are independent.

    std::int32_t row_bytes = 0;         ///< From one partition's to the next one's; 0: not known.
    std::int32_t partition = kInOrder;  ///< Of the row of byte 0, or, if not known, of the first.
    friend bool operator==(const Lanes&, const Lanes&) = default;
};

/// One access by one instruction.
struct RegionAccess {
    Region region;
    Access access = Access::Read;
    neuron_core::QueueId queue = 0;
    std::uint64_t number = 0;  ///< Of the instruction within its queue, from 1.
    Lanes lanes{};             ///< What it does not read of its own queue it comes after.
};

/// Accesses to one slot (or one HBM tensor) that later ones may have to wait for.
///
/// Flow (RAW), anti (WAR) and output (WAW) dependencies by exact region. Within one queue only flow
/// dependencies need a wait where that is in order (Lanes). Additions into PSUM by the
/// Tensor Engine do not wait for one another. Older accesses beyond a number of them are merged by
/// queue and then overlap with everything (waits stay correct, some are not needed).
class AccessHistory {
public:
    static constexpr std::size_t kMaxEntries = 96;

    /// Adds to `waits` what `access` must wait for; its number is not looked at. What the waits of
    /// one queue know has to be known to those that come after them.
    void collect(const RegionAccess& access, WaitSet& waits) const;

    /// Records the access, after collect() and with its number; drops what it makes redundant, and
    /// merges the oldest if there are more than `most`.
    void record(const RegionAccess& access, std::size_t most = kMaxEntries);

    /// Adds to `waits` what the next owner of the bytes waits for: done for writes, read for reads.
    void collect_all(WaitSet& waits) const;

    /// What former owners of the bytes did: every access waits for it. Who comes after this owner
    /// does not have to, once there was a write, which has waited for all of it.
    [[nodiscard]] WaitSet& former() {
        known_by_ = {};
        return former_;
    }

    /// As new, but for its memory.
    void clear();

private:
    struct Entry {
        Region region;
        std::uint64_t number = 0;
        neuron_core::QueueId queue = 0;
        std::uint32_t age = 0;  ///< Its place among all that were recorded.
        Lanes lanes{};
    };
    using Entries = InlineVector<Entry, 2>;  ///< In order of their recording.

    static constexpr std::size_t kAccesses = 4;  ///< Kinds of access.

    /// Of what is merged: one per queue and kind.
    static constexpr std::size_t kMaxMerged = std::size_t{2} * neuron_core::kQueues;
    [[nodiscard]] std::size_t merged_size() const {
        return static_cast<std::size_t>(std::popcount(merged_.done_queues())) +
               static_cast<std::size_t>(std::popcount(merged_.read_queues()));
    }
    [[nodiscard]] std::size_t size() const { return reads_.size() + writes_.size(); }
    [[nodiscard]] bool is_longer_than(std::size_t most) const {
        return size() + kMaxMerged > most && size() + merged_size() > most;
    }
    void merge_oldest();
    /// Whether an access comes after an earlier one of its own queue without a wait.
    [[nodiscard]] static bool is_in_order(const Entry& earlier, const RegionAccess& access);
    /// What an access waits for wherever its bytes are.
    void collect_everywhere(const RegionAccess& access, WaitSet& waits) const;

    WaitSet former_;
    WaitSet merged_;
    bool is_written_ = false;
    /// By kind of access: queues, a bit each, that were found to know all they need from there.
    mutable std::array<std::uint32_t, kAccesses> known_by_{};
    std::uint32_t recorded_ = 0;
    Entries reads_;
    Entries writes_;
};

}  // namespace trnsim::lowering
