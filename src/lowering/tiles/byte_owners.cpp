// SPDX-License-Identifier: Apache-2.0
// Who had the bytes of a memory last.
#include "trnsim/lowering/tiles/byte_owners.hpp"

#include <algorithm>
#include <iterator>

namespace trnsim::lowering {

std::vector<std::uint32_t> ByteOwners::take(std::int64_t begin,
                                            std::int64_t end,
                                            std::uint32_t owner) {
    split(begin);
    split(end);
    std::vector<std::uint32_t> former;
    const auto first = ranges_.lower_bound(begin);
    const auto last = ranges_.lower_bound(end);
    for (auto range = first; range != last; ++range) {
        former.push_back(range->second.owner);
    }
    ranges_.erase(first, last);
    if (begin < end) {
        ranges_[begin] = {.end = end, .owner = owner};
    }
    std::ranges::sort(former);
    former.erase(std::unique(former.begin(), former.end()), former.end());
    return former;
}

void ByteOwners::split(std::int64_t byte) {
    const auto behind = ranges_.lower_bound(byte);
    if (behind == ranges_.begin()) {
        return;
    }
    Range& range = std::prev(behind)->second;
    if (range.end > byte) {
        ranges_.emplace_hint(behind, byte, range);
        range.end = byte;
    }
}

}  // namespace trnsim::lowering
