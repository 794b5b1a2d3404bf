// SPDX-License-Identifier: Apache-2.0
// Who had the bytes of a memory last.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace trnsim::lowering {

/// The latest owner of each byte of every partition, of those that had one.
class ByteOwners {
public:
    /// Gives the bytes [begin, end) to `owner`; those who had any of them until then, each once.
    std::vector<std::uint32_t> take(std::int64_t begin, std::int64_t end, std::uint32_t owner);

private:
    struct Range {
        std::int64_t end = 0;
        std::uint32_t owner = 0;
    };

    /// Makes `byte` the begin of a range, if it is inside of one.
    void split(std::int64_t byte);

    std::map<std::int64_t, Range> ranges_;  ///< By begin.
};

}  // namespace trnsim::lowering
