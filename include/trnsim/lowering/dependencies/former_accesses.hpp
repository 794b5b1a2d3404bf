// SPDX-License-Identifier: Apache-2.0
// What was done to bytes that have no owner at the moment.
#pragma once

#include "trnsim/lowering/dependencies/access_history.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trnsim::lowering {

/// Who accessed bytes before they were given back. Whoever gets any of a range has to wait for all
/// that was done in it, so that one summary per range is kept, shared by what is left of it.
class FormerAccesses {
public:
    /// The bytes [begin, end) were given back. \pre they are not in here
    void give_back(std::int64_t begin, std::int64_t end, const AccessHistory& history);

    /// Takes the bytes [begin, end) out, as far as they are in here, and adds to `waits` what their
    /// new owner waits for.
    void take(std::int64_t begin, std::int64_t end, WaitSet& waits);

private:
    using Byte = std::int32_t;  ///< Of a partition. Half as much has to move.
    struct Range {
        Byte begin = 0;
        Byte end = 0;
        std::uint32_t summary = 0;
    };
    struct Summary {
        WaitSet waits;
        int ranges = 0;  ///< That share it; 0: free to be used again.
    };

    [[nodiscard]] std::uint32_t new_summary();

    std::vector<Range> ranges_;  ///< By address; no two have a byte in common.
    std::vector<Summary> summaries_;
    std::vector<std::uint32_t> unused_;  ///< Of the summaries.
};

}  // namespace trnsim::lowering
