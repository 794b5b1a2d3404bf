// SPDX-License-Identifier: Apache-2.0
// Loads that a plan has to begin, and when.
#pragma once

#include "trnsim/base/ring_buffer.hpp"
#include "trnsim/lowering/loads/planned_tiles.hpp"

#include <cstddef>
#include <cstdint>

namespace trnsim::lowering {

/// Loads whose tiles are needed, by when they have to begin.
class DueLoads {
public:
    [[nodiscard]] bool empty() const { return loads_.empty(); }
    [[nodiscard]] std::size_t size() const { return loads_.size(); }

    /// Adds one with its `time`, behind others of that time. \pre none has begun
    void insert(const PlannedLoad& load);

    /// Settles when each begins: by its time, and by when the DMA engines have to move its bytes
    /// ahead of those behind it, but not before its earliest.
    void find_triggers();

    /// The next one that begins by then; nullptr: none. Valid until drop_begun().
    /// \pre find_triggers() after the last insert()
    [[nodiscard]] const PlannedLoad* begin(std::int64_t until);

    /// Takes out those that have begun.
    void drop_begun();

private:
    RingBuffer<PlannedLoad> loads_{};
    std::size_t begun_ = 0;
};

}  // namespace trnsim::lowering
