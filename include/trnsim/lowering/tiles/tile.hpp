// SPDX-License-Identifier: Apache-2.0
// A tile of the program and the bytes it has.
#pragma once

#include "trnsim/lowering/dependencies/access_history.hpp"
#include "trnsim/lowering/dependencies/pending_accesses.hpp"

#include <cstdint>

namespace trnsim::lowering {

/// Bytes of SBUF or PSUM, and who accessed them. They outlive the tiles that have them.
struct Slot {
    std::int64_t address = 0;  ///< Byte within the partition.
    AccessHistory history{};
};

/// One instance of an allocation site, from its allocation to its last use. It has bytes from the
/// moment its first user is on its queue, but for times when it is spilled.
struct alignas(64) Tile {
    Slot* slot = nullptr;      ///< nullptr: no bytes yet, or spilled.
    std::uint32_t buffer = 0;  ///< The site.
    bool is_begun = false;     ///< A step in the window, or before, uses it.
    bool is_spilled = false;   ///< Had bytes and gave them up.
    bool is_dirty = false;     ///< Holds what HBM does not.
    bool is_saved = false;     ///< A copy in HBM exists: saved, or never changed since its load.
    bool is_refused = false;   ///< A step that uses it had to wait for bytes of a full memory.
    std::int64_t instance = -1;
    std::int64_t uses_left = 0;
    std::int64_t uses_to_come = 0;  ///< Of steps that are not in the window yet.
    std::uint64_t last_use = 0;     ///< Stamp of the instruction.
    PendingAccesses pending{};      ///< By steps that are not on their queues yet.
    RegionAccess save{};            ///< The transfer that saved it, if one did.
};

}  // namespace trnsim::lowering
