// SPDX-License-Identifier: Apache-2.0
// Where tiles live: slots per allocation site, or a memory that they share.
#pragma once

#include "trnsim/lowering/analysis/liveness.hpp"
#include "trnsim/lowering/loads/load_plan.hpp"
#include "trnsim/lowering/policies.hpp"
#include "trnsim/lowering/tiles/bank_rotation.hpp"
#include "trnsim/program/program.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace trnsim::lowering {

/// What limits nothing.
inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// The slots of one site: `slots` tiles of `slot_bytes` per partition from `address` on.
struct SitePlacement {
    std::int64_t slots = 0;  ///< 0: not in SBUF or PSUM, at an address of its own, or never used.
    std::int64_t live = 0;   ///< Most of its tiles alive at once.
    std::int64_t slot_bytes = 0;  ///< Per partition, alignment included.
    std::int64_t address = 0;     ///< Byte within the partition.
    bool is_pooled = false;  ///< No slots of its own: a share of a TilePool or of the rotation.
    /// Of a site in a TilePool: tiles that have come to bytes, and are not gone, at once, wherever
    /// program order fits.
    std::int64_t most = kNoLimit;
    bool is_planned = false;                ///< A LoadPlan says which slot a tile takes.
    std::vector<std::uint32_t> overlaid{};  ///< Sites that had any of these bytes last before.
};

/// All sites' slots.
struct Allocation {
    std::vector<SitePlacement> sites;  ///< By buffer id.
    std::int64_t sbuf_bytes = 0;       ///< Per partition, highest byte in use.
    std::int64_t psum_banks = 0;       ///< Up to the highest in use, but for those of the rotation.
    std::optional<BankRotation> rotation{};  ///< Of PSUM, if the policy asks for it and it fits.
    std::vector<std::string> notes;          ///< What had to give, for the report.
};

/// By site: the most places that its tiles have, those of one iteration of a loop of the run time:
/// the hardware repeats the body as it is. kNoLimit elsewhere. [NKI-DYNAMIC-LOOPS]
[[nodiscard]] std::vector<std::int64_t> most_places(const program::Program& program);

/// Gives every other site max(live, floor(buffer_factor x live + buffer_extra)) slots, one that DMA
/// loads no more of them for each live tile than one and what the DMA engines fill in `buffer_ns`,
/// at most one per instance, at addresses of its own; one in a loop of the run time gets one for
/// each tile of an iteration. Without `unrolled_buffers` a site in no loop but Python's gets as
/// many as are alive, and in others all tiles count as live that an iteration makes by going over
/// their line again and again (decision 0044). What does not fit is made to, in this order: sites
/// whose lives do not meet share addresses; sites give up slots beyond their live tiles, the
/// largest excess first, and what room is left goes back to the smallest tiles; PSUM tiles smaller
/// than a bank share one; all sites of the memory share one pool (TilePool) and spill, if the
/// policy allows; large tiles have no buffers there. Sites whose addresses the program fixes get
/// none of this; the others lie above them. The policy may have all of PSUM go round its tiles
/// instead, where they fit (BankRotation).
/// `loads`: slots that a LoadPlan needs and wants, by buffer; empty without one. They are granted
/// where all that is needed fits into bytes that no other site has; else no site is planned.
/// \throws ProgramError naming the largest sites if it still does not fit
[[nodiscard]] Allocation allocate(const program::Program& program,
                                  const std::vector<SiteLiveness>& liveness,
                                  const ChipSpec& chip,
                                  const Policies& policies,
                                  const std::vector<LoadPlan::Need>& loads = {});

/// Whether SBUF has slots for all tiles that live at once, so that none is spilled.
[[nodiscard]] bool fits_into_sbuf(const program::Program& program,
                                  const std::vector<SiteLiveness>& liveness,
                                  const ChipSpec& chip,
                                  const Policies& policies);

}  // namespace trnsim::lowering
