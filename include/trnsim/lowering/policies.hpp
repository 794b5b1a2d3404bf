// SPDX-License-Identifier: Apache-2.0
// The decisions a compiler would have made, by name; each has a trivial variant.
#pragma once

#include "trnsim/isa/engine.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trnsim::lowering {

/// Which engine runs an operation that several can run.
enum class EngineChoice : std::uint8_t {
    First,     ///< The first allowed one that the chip has.
    Balanced,  ///< The allowed one with the least work so far.
};

/// When loads begin.
enum class LoadTiming : std::uint8_t {
    AsSoonAsPossible,  ///< When their turn comes and their tile has a slot.
    JustInTime,        ///< When a plan says so, which also settles their slots (LoadPlan); tiles of
                       ///< blocks are tiles of their own there (split_blocks).
};

/// What happens when live tiles exceed SBUF.
enum class Spilling : std::uint8_t {
    Off,          ///< A program error.
    FarthestUse,  ///< Tiles needed latest give up their bytes and are reloaded at their next use;
                  ///< those that HBM does not hold already are saved before.
};

/// Where tiles in PSUM lie.
enum class PsumBuffers : std::uint8_t {
    AsSbuf,  ///< In slots of their site, as many as buffer_factor and buffer_extra give it.
    InTurn,  ///< Each in the next free bank, in program order (BankRotation); as_sbuf if they do
             ///< not fit.
};

/// Who makes the descriptors of DMAs of which the program does not say it.
enum class DgePolicy : std::uint8_t {
    Auto,      ///< Hardware where there is some and it can, else software if need be, else nobody.
    None,      ///< Nobody: they are written to HBM before the kernel starts.
    Software,  ///< GpSimd.
    Hardware,  ///< The DGE.
    Dynamic,   ///< GpSimd on chips that have a DGE, on others nobody. [TRACES-TRN2]
};

/// How DMA transfers are put on rings.
enum class RingAssignment : std::uint8_t {
    Single,     ///< One ring in program order.
    PerSite,    ///< One ring per destination site and engine that the program lets trigger, round
                ///< robin over `dma_rings`.
    AsPlanned,  ///< The same, but for planned loads and stores, which share one in the plan's
                ///< order, if a load comes after them.
};

/// All policies of a run. Text form: "engine_choice=balanced".
struct Policies {
    EngineChoice engine_choice = EngineChoice::First;
    double buffer_factor = 1.0;     ///< Slots of a site: buffer_factor x live tiles + buffer_extra,
    std::int64_t buffer_extra = 0;  ///< rounded down, at least the live tiles if they fit.
    std::int64_t buffer_ns = 0;     ///< Of loaded tiles no more than one and what DMA fills in this
                                    ///< time, for each live one; 0: no limit.
    bool unrolled_buffers = true;   ///< Also of a site in no loop but Python's, which unrolls them;
                                    ///< false: and in others all tiles of an iteration count.
    LoadTiming loads = LoadTiming::AsSoonAsPossible;
    PsumBuffers psum_buffers = PsumBuffers::AsSbuf;
    Spilling spilling = Spilling::FarthestUse;
    RingAssignment ring_assignment = RingAssignment::PerSite;
    std::int64_t dma_rings = 4;
    DgePolicy dge = DgePolicy::Auto;
    DgePolicy scratch_dge = DgePolicy::Auto;  ///< Of tensors in HBM that the kernel both writes and
                                              ///< reads; Auto: as `dge`.
    bool trigger_in_queues = false;           ///< Without a DGE engines' queues trigger, not rings.
    bool drop_repeated_loads = false;         ///< What an iteration loads twice is loaded once.
    bool sink_loads = false;                  ///< What does not fit beside a loop is loaded in it.
    bool merge_iterations = false;            ///< One instruction for several iterations of a loop.
    bool drain_iterations = true;     ///< One of a loop of the run time begins when all of the one
                                      ///< before has ended.
    bool reuse_stationary = true;     ///< No LoadStationary when the array already holds the tile.
    bool load_identity = false;       ///< Transposes on Tensor wait for a matrix from HBM.
    std::int64_t matmul_window = 1;   ///< Of this many matmuls the first that can start goes first,
    std::int64_t reorder_window = 1;  ///< and on every other queue of this many instructions.
    double planned_dma_rate = 1.0;  ///< Share of the DMA engines' rate on which that order counts.

    /// Whether steps may be put on their queues in another order than the program's.
    [[nodiscard]] bool reorders() const { return matmul_window > 1 || reorder_window > 1; }
};

/// The defaults for a header's api: "nki" (new), "neuronxcc.nki" (old), "neuronxcc.nki.as_written"
/// (old, middle end skipped: matmuls in program order, DMAs of their own) or "trace".
/// [ACCURACY-STUDY, 9]
/// planned_dma_rate of the new one and buffer_ns of the old one [ASSUMED]; decisions 0019 and 0042
/// have the ranges.
[[nodiscard]] Policies default_policies(std::string_view api);

/// Overrides one policy: "spilling=off". \throws UserError naming the policies or values allowed
void set(Policies& policies, std::string_view assignment);

/// Name and value of every policy, for reports.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> describe(const Policies& policies);

/// One phrase on what a policy of describe() decides; empty for any other name.
[[nodiscard]] std::string_view meaning_of(std::string_view policy);

}  // namespace trnsim::lowering
