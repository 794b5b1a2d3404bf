// SPDX-License-Identifier: Apache-2.0
// Packing of slots into the partitions of SBUF and the banks of PSUM.
#include "trnsim/lowering/tiles/allocation.hpp"

#include "site_loops.hpp"
#include "slot_packer.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/base/rounding.hpp"
#include "trnsim/dma/dma_timing.hpp"
#include "trnsim/lowering/tiles/byte_owners.hpp"
#include "trnsim/lowering/tiles/psum_banks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace trnsim::lowering {
namespace {

using program::Program;

/// Slots start at multiples of this, the longest element of a fast access. [ASSUMED]
constexpr std::int64_t kSbufAlignment = 64;

/// Tiles that take one part in so many of SBUF, or more, have no buffers where not all sites fit:
/// those of later iterations would take the room that the engines need to overlap in this one.
/// [ASSUMED]
constexpr std::int64_t kLargeShare = 16;

/// A memory, and what happens when it is full.
struct Memory {
    std::string_view name;
    std::int64_t capacity = 0;  ///< Bytes per partition.
    Spilling spilling = Spilling::Off;
    std::int64_t large_tile = kNoLimit;  ///< Bytes of one that then has no buffers.
    std::int64_t fixed_end = 0;  ///< One past the highest byte that the program itself gives out.
};

/// One past the highest byte of tiles whose addresses the program fixes.
std::int64_t end_of_fixed(const Program& program,
                          Space space,
                          std::string_view memory,
                          std::int64_t partition_bytes) {
    std::int64_t end = 0;
    for (const program::Buffer& buffer : program.buffers) {
        if (buffer.space != space || !buffer.address) {
            continue;
        }
        const std::int64_t last = buffer.address->second + buffer.free_bytes();
        if (last > partition_bytes) {
            throw ProgramError(
                fmt::format("{}: {}: {} lies at bytes {} to {} of its partitions, but {} has {} "
                            "in each; choose a lower address",
                            program.source_text(buffer),
                            memory,
                            buffer.name,
                            buffer.address->second,
                            last - 1,
                            memory,
                            partition_bytes));
        }
        end = std::max(end, last);
    }
    return end;
}

/// Bytes of a partition that the DMA engines fill ahead of time.
std::int64_t bytes_ahead(const ChipSpec& chip, const Policies& policies) {
    if (policies.buffer_ns == 0) {
        return kNoLimit;
    }
    const std::int64_t partitions = chip.neuron_core.sbuf.partitions;
    const double rate = static_cast<double>(dma::serving_engines(chip.dma, partitions)) *
                        chip.dma.engine_gb_per_s.value;
    return static_cast<std::int64_t>(rate * static_cast<double>(policies.buffer_ns) /
                                     static_cast<double>(partitions));
}

/// Of `tiles` that have buffers. `tile_bytes`: in a partition. `ahead`: see bytes_ahead().
std::int64_t wanted_slots(std::int64_t tiles,
                          const Policies& policies,
                          std::int64_t tile_bytes = 0,
                          std::int64_t ahead = kNoLimit) {
    double factor = policies.buffer_factor;
    if (ahead != kNoLimit) {
        const std::int64_t filled = round_up(ahead, tile_bytes) / tile_bytes;
        factor = std::min(factor, 1.0 + static_cast<double>(filled));
    }
    return static_cast<std::int64_t>(std::floor(factor * static_cast<double>(tiles) +
                                                static_cast<double>(policies.buffer_extra)));
}

/// By buffer: how many tiles have buffers. Those that are alive at once; or more, if Python goes
/// over an allocation several times in an iteration and is told apart from the compiler's loops:
/// it does not matter then whether tensors are allocated in as many lines (decision 0044).
std::vector<std::int64_t> buffered_tiles(const Program& program,
                                         const std::vector<SiteLiveness>& liveness,
                                         const Policies& policies) {
    std::vector<std::int64_t> tiles(program.buffers.size());
    if (!policies.unrolled_buffers) {
        tiles = tiles_per_iteration(program);
    }
    for (std::size_t site = 0; site < tiles.size(); ++site) {
        tiles[site] = std::max(tiles[site], liveness[site].live_peak);
    }
    return tiles;
}

/// By buffer.
std::vector<bool> written_by_dma(const Program& program) {
    std::vector<bool> is_written(program.buffers.size());
    for (const InstructionTemplate& instruction : program.templates) {
        if (is_dma(instruction.op)) {
            is_written[instruction.at(Role::Dst).buffer] = true;
        }
    }
    return is_written;
}

template <typename SlotBytes>
std::vector<PackedSite> candidates(const Program& program,
                                   const std::vector<SiteLiveness>& liveness,
                                   const Policies& policies,
                                   Space space,
                                   std::int64_t alignment,
                                   SlotBytes slot_bytes,
                                   std::int64_t ahead = kNoLimit,
                                   const std::vector<LoadPlan::Need>& loads = {}) {
    const std::vector<std::int64_t> tiles = most_places(program);
    const std::vector<std::int64_t> buffered = buffered_tiles(program, liveness, policies);
    const std::vector<Around> around = what_is_around(program);
    std::vector<PackedSite> result;
    const std::vector<bool> is_loaded = written_by_dma(program);
    for (std::uint32_t site = 0; site < program.buffers.size(); ++site) {
        const SiteLiveness& life = liveness[site];
        const program::Buffer& buffer = program.buffers[site];
        if (buffer.space != space || buffer.address || life.last_step < 0) {
            continue;
        }
        const std::int64_t bytes = slot_bytes(buffer.free_bytes());
        const bool is_buffered = policies.unrolled_buffers || around[site] == Around::Loops;
        const bool is_repeated = tiles[site] != kNoLimit;  // [NKI-DYNAMIC-LOOPS]
        const std::int64_t wanted =
            is_repeated ? tiles[site]
            : is_buffered
                ? wanted_slots(buffered[site], policies, bytes, is_loaded[site] ? ahead : kNoLimit)
                : life.live_peak;
        const std::int64_t of_use = std::min(life.instances, tiles[site]);
        result.push_back(
            {.site = site,
             .live = life.live_peak,
             .wanted = std::clamp(wanted, life.live_peak, std::max(life.live_peak, of_use)),
             .slot_bytes = bytes,
             .alignment = std::min(bytes, alignment),
             .first_step = life.first_step,
             .last_step = life.last_step});
    }
    for (PackedSite& site : result) {
        site.is_computed = !is_loaded[site.site];
        if (!loads.empty() && loads[site.site].wanted > 0) {
            site.live = loads[site.site].least;
            site.wanted = loads[site.site].wanted;
        }
    }
    return result;
}

std::string largest_sites(const Program& program, std::vector<PackedSite> sites) {
    std::ranges::stable_sort(
        sites, std::ranges::greater{}, [](const PackedSite& c) { return c.live * c.slot_bytes; });
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, sites.size()); ++i) {
        const program::Buffer& buffer = program.buffers[sites[i].site];
        text += fmt::format("{}{} ({}): {} live tiles of {} bytes per partition",
                            i == 0 ? "" : ", ",
                            buffer.name,
                            program.source_text(buffer),
                            sites[i].live,
                            sites[i].slot_bytes);
    }
    return text;
}

/// The sites of a packer begin at byte `first`.
void record(SlotPacker& packer, std::int64_t first, Allocation& result) {
    std::vector<const PackedSite*> order;  // Lives of those that share bytes do not meet.
    for (const PackedSite& site : packer.sites()) {
        order.push_back(&site);
    }
    std::ranges::stable_sort(order, {}, &PackedSite::first_step);
    ByteOwners owners;
    for (const PackedSite* site : order) {
        result.sites[site->site] = {
            .slots = site->slots,
            .slot_bytes = site->slot_bytes,
            .address = first + site->address,
            .overlaid = owners.take(site->address, site->address + site->bytes(), site->site)};
    }
}

constexpr std::string_view kSharedBanks = "PSUM tiles smaller than a bank share banks";

/// The sites that the banks go round.
void record(const BankRotation& rotation,
            const std::vector<SiteLiveness>& liveness,
            Allocation& result) {
    for (std::uint32_t site = 0; site < result.sites.size(); ++site) {
        if (rotation.has(site)) {
            result.sites[site] = {.slots = liveness[site].live_peak,
                                  .slot_bytes = rotation.tile_bytes(site),
                                  .is_pooled = true,
                                  .overlaid = {}};
        }
    }
    if (rotation.shares_banks()) {
        result.notes.emplace_back(kSharedBanks);
    }
}

/// Gives up slots of the sites' own, if tiles may spill.
void pool(const Program& program, SlotPacker& packer, const Memory& memory, Allocation& result) {
    if (memory.spilling == Spilling::Off) {
        packer.fit();  // As small as it gets.
        throw ProgramError(
            fmt::format("{}: live tiles need {} bytes per partition, but {} are usable; make tiles "
                        "smaller, shorten their lives, or allow spilling=farthest_use. "
                        "Largest: {}",
                        memory.name,
                        packer.used(),
                        memory.capacity,
                        largest_sites(program, packer.sites())));
    }
    for (const PackedSite& site : packer.sites()) {
        result.sites[site.site] = {
            .slots = site.live,
            .slot_bytes = site.slot_bytes,
            .is_pooled = true,
            .most = site.slot_bytes < memory.large_tile ? kNoLimit : site.live,
            .overlaid = {}};
    }
    result.notes.push_back(
        fmt::format("{} may fill up: all tiles share one pool of {} bytes per partition, and "
                    "where it is full some are spilled to HBM",
                    memory.name,
                    memory.capacity));
}

/// Calls fits(first), which places what has no address from byte `first` on: above what has one,
/// else anywhere.
template <typename Fits>
bool fit_beside_fixed(const Memory& memory, Allocation& result, Fits fits) {
    if (fits(memory.fixed_end)) {
        return true;
    }
    if (memory.fixed_end > 0) {
        result.notes.push_back(
            fmt::format("{}: tiles without an address do not fit above byte {}, where those with "
                        "one end, and lie anywhere, as if those were not there",
                        memory.name,
                        memory.fixed_end));
    }
    return memory.fixed_end > 0 && fits(0);
}

/// Says of which sites in SBUF the policy makes tiles of Python's loops wait for one another.
void note_unrolled(const Program& program,
                   const std::vector<SiteLiveness>& liveness,
                   const Policies& policies,
                   Allocation& result) {
    if (policies.unrolled_buffers) {
        return;
    }
    const std::vector<Around> around = what_is_around(program);
    std::vector<std::string_view> names;
    for (std::size_t site = 0; site < around.size(); ++site) {
        const SiteLiveness& life = liveness[site];
        const std::int64_t wanted =
            std::min(wanted_slots(life.live_peak, policies), life.instances);
        if (around[site] == Around::PythonLoops && wanted > life.live_peak &&
            program.buffers[site].space == Space::Sbuf && !program.buffers[site].address) {
            names.emplace_back(program.buffers[site].name);
        }
    }
    if (!names.empty()) {
        const std::string more =
            names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : std::string{};
        result.notes.push_back(
            fmt::format("tiles of Python loops ({}{}) are taken to be reused at once; in "
                        "nl.affine_range iterations overlap, here with --policy "
                        "unrolled_buffers=true",
                        names.front(),
                        more));
    }
}

/// The sites whose loads are planned.
void record(const std::vector<LoadPlan::Need>& loads, Allocation& result) {
    for (std::size_t site = 0; site < loads.size(); ++site) {
        result.sites[site].is_planned = loads[site].wanted > 0;
    }
}

void allocate_sbuf(const Program& program,
                   const std::vector<SiteLiveness>& liveness,
                   const ChipSpec& chip,
                   const Policies& policies,
                   const std::vector<LoadPlan::Need>& loads,
                   Allocation& result) {
    const SbufSpec& spec = chip.neuron_core.sbuf;
    const std::int64_t fixed =
        end_of_fixed(program, Space::Sbuf, "SBUF", spec.partition_kib * kKib);
    const std::int64_t capacity = spec.usable_partition_kib * kKib;
    const Memory memory{.name = "SBUF",
                        .capacity = capacity,
                        .spilling = policies.spilling,
                        .large_tile = capacity / kLargeShare,
                        .fixed_end = round_up(fixed, kSbufAlignment)};
    const auto packer_above = [&](std::int64_t first,
                                  const std::vector<LoadPlan::Need>& planned = {}) {
        return SlotPacker(candidates(
                              program,
                              liveness,
                              policies,
                              Space::Sbuf,
                              kSbufAlignment,
                              [](std::int64_t bytes) { return round_up(bytes, kSbufAlignment); },
                              bytes_ahead(chip, policies),
                              planned),
                          std::max<std::int64_t>(0, memory.capacity - first));
    };
    result.sbuf_bytes = fixed;
    const auto take = [&](SlotPacker& packer, std::int64_t first) {
        if (packer.used() > 0) {
            result.sbuf_bytes = std::max(fixed, first + packer.used());
        }
        record(packer, first, result);
    };
    if (SlotPacker packer = packer_above(memory.fixed_end, loads);
        !loads.empty() && packer.fit() && !packer.shares()) {
        take(packer, memory.fixed_end);
        record(loads, result);
        return;
    }
    const bool have_fit = fit_beside_fixed(memory, result, [&](std::int64_t first) {
        SlotPacker packer = packer_above(first);
        const bool fits = packer.fit();
        if (fits) {
            take(packer, first);
        }
        return fits;
    });
    if (!have_fit) {
        SlotPacker packer = packer_above(0);
        pool(program, packer, memory, result);
    }
}

void allocate_psum(const Program& program,
                   const std::vector<SiteLiveness>& liveness,
                   const PsumSpec& spec,
                   const Policies& policies,
                   Allocation& result) {
    const std::int64_t capacity = spec.banks * spec.bank_bytes;
    const std::int64_t fixed = end_of_fixed(program, Space::Psum, "PSUM", capacity);
    const Memory memory{.name = "PSUM",
                        .capacity = capacity,
                        .spilling = policies.spilling,
                        .fixed_end = round_up(fixed, spec.bank_bytes)};
    const bool is_dealt_out = policies.psum_buffers == PsumBuffers::InTurn &&
                              fit_beside_fixed(memory, result, [&](std::int64_t first) {
                                  result.rotation =
                                      BankRotation::plan(program, liveness, spec, first);
                                  return result.rotation.has_value();
                              });
    if (is_dealt_out) {
        result.psum_banks = memory.fixed_end / spec.bank_bytes;
        record(*result.rotation, liveness, result);
        return;
    }
    std::int64_t used = fixed;
    const auto fits_above = [&](std::int64_t first, auto tile_bytes) {
        SlotPacker packer(
            candidates(program, liveness, policies, Space::Psum, spec.bank_bytes, tile_bytes),
            capacity - first);
        const bool fits = packer.fit();
        if (fits) {
            used = packer.used() > 0 ? std::max(fixed, first + packer.used()) : fixed;
            record(packer, first, result);
        }
        return fits;
    };
    const auto whole_banks = [&](std::int64_t bytes) { return round_up(bytes, spec.bank_bytes); };
    const auto parts = [&](std::int64_t bytes) { return part_of_bank(spec, bytes); };
    const bool have_fit = fit_beside_fixed(memory, result, [&](std::int64_t first) {
        if (fits_above(first, whole_banks)) {
            return true;
        }
        if (fits_above(first, parts)) {
            result.notes.emplace_back(kSharedBanks);
            return true;
        }
        return false;
    });
    if (!have_fit) {
        used = capacity;
        SlotPacker packer(
            candidates(program, liveness, policies, Space::Psum, spec.bank_bytes, parts), capacity);
        pool(program, packer, memory, result);
    }
    result.psum_banks = round_up(used, spec.bank_bytes) / spec.bank_bytes;
}

}  // namespace

std::vector<std::int64_t> most_places(const Program& program) {
    std::vector<std::int64_t> tiles(program.buffers.size());
    std::vector<std::int64_t> around{kNoLimit};  ///< Executions in an iteration, by open loop.
    for (const program::Node& node : program.nodes) {
        if (node.kind == program::Node::Kind::Loop) {
            const program::Loop& loop = program.loops[node.index];
            const bool is_repeated = loop.kind == program::LoopKind::Runtime;
            const std::int64_t before = around.back();
            const bool has_no_limit = before > kNoLimit / std::max<std::int64_t>(loop.count, 1);
            around.push_back(is_repeated ? 1 : has_no_limit ? kNoLimit : before * loop.count);
        } else if (node.kind == program::Node::Kind::End) {
            around.pop_back();
        } else if (node.kind == program::Node::Kind::Alloc) {
            std::int64_t& sum = tiles[node.index];
            sum = sum > kNoLimit - around.back() ? kNoLimit : sum + around.back();
        }
    }
    std::ranges::replace(tiles, 0, kNoLimit);
    return tiles;
}

Allocation allocate(const Program& program,
                    const std::vector<SiteLiveness>& liveness,
                    const ChipSpec& chip,
                    const Policies& policies,
                    const std::vector<LoadPlan::Need>& loads) {
    Allocation result;
    result.sites.resize(program.buffers.size());
    allocate_sbuf(program, liveness, chip, policies, loads, result);
    allocate_psum(program, liveness, chip.neuron_core.psum, policies, result);
    note_unrolled(program, liveness, policies, result);
    for (std::size_t site = 0; site < result.sites.size(); ++site) {
        result.sites[site].live = liveness[site].live_peak;
    }
    return result;
}

bool fits_into_sbuf(const Program& program,
                    const std::vector<SiteLiveness>& liveness,
                    const ChipSpec& chip,
                    const Policies& policies) {
    Allocation result;
    result.sites.resize(program.buffers.size());
    allocate_sbuf(program, liveness, chip, policies, {}, result);
    for (std::size_t site = 0; site < result.sites.size(); ++site) {
        if (program.buffers[site].space == Space::Sbuf && result.sites[site].is_pooled) {
            return false;
        }
    }
    return true;
}

}  // namespace trnsim::lowering
