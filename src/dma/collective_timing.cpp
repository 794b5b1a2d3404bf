// SPDX-License-Identifier: Apache-2.0
// Alpha-beta laws of collectives.
#include "trnsim/dma/collective_timing.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <set>
#include <vector>

namespace trnsim::dma {
namespace {

/// More bytes than any system has; keeps times in range.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

Picoseconds over(double bytes, GigabytesPerSecond rate) {
    return from_nanoseconds(bytes / rate.value);
}

double hbm_gb_per_s(const HbmSpec& hbm) {
    return static_cast<double>(hbm.stacks * hbm.stack_interface_bits) * hbm.pin_gbit_per_s / 8.0;
}

/// Between instances each chip passes its part of the tensor on, over its own adapter.
Picoseconds network_time(const CollectiveSpec& spec, const CollectiveGroup& group, double bytes) {
    const auto instances = static_cast<double>(group.instances);
    return (group.instances - 1) * spec.network_latency_ns +
           over((instances - 1) / instances * bytes / static_cast<double>(group.chips),
                spec.network_gb_per_s);
}

Picoseconds mesh_time(const CollectiveSpec& spec, const CollectiveGroup& group, double bytes) {
    return 2 * spec.step_ns +
           (group.chips > 1 ? over(bytes, spec.all_to_all_gb_per_s) : Picoseconds{});
}

Picoseconds rdh_time(const CollectiveSpec& spec, const CollectiveGroup& group, double bytes) {
    const auto chips = static_cast<double>(group.chips);
    const auto steps = static_cast<std::int64_t>(std::ceil(std::log2(chips))) + 1;
    return steps * spec.step_ns + over((chips - 1) / chips * bytes, spec.rdh_gb_per_s);
}

Picoseconds ring_time(const CollectiveSpec& spec, const CollectiveGroup& group, double bytes) {
    const auto chips = static_cast<double>(group.chips);
    const std::int64_t local_ranks = group.ranks / group.instances;
    return std::max<std::int64_t>(local_ranks / 2 - 1, 1) * spec.ring_hop_ns +
           over((chips - 1) / chips * bytes, spec.ring_gb_per_s);
}

/// The slowest group's time.
template <typename Time>
Picoseconds slowest(const std::vector<CollectiveGroup>& groups, Time time) {
    Picoseconds most;
    for (const CollectiveGroup& group : groups) {
        most = std::max(most, time(group));
    }
    return most;
}

Picoseconds all_to_all_time(const CollectiveSpec& spec,
                            const CollectiveGroup& group,
                            double rank_bytes) {
    const auto chips = static_cast<double>(group.chips * group.instances);
    const double sent = rank_bytes * static_cast<double>(group.ranks) / chips;
    return spec.launch_ns + spec.step_ns +
           (group.chips > 1 ? over(sent, spec.all_to_all_gb_per_s) : Picoseconds{}) +
           (group.instances > 1 ? spec.network_latency_ns + over(sent, spec.network_gb_per_s)
                                : Picoseconds{});
}

Picoseconds permute_time(const CollectiveSpec& spec, double bytes, std::int64_t channels) {
    const double share =
        std::min(1.0, static_cast<double>(channels) / static_cast<double>(kMaxChannels));
    return spec.launch_ns + spec.ring_hop_ns +
           over(bytes, GigabytesPerSecond{spec.ring_gb_per_s.value * share});
}

}  // namespace

CollectiveAlgorithm algorithm_of(const CollectiveSpec& spec, Bytes full_tensor) {
    if (full_tensor.value <= spec.mesh_bytes_max) {
        return CollectiveAlgorithm::Mesh;
    }
    return full_tensor.value <= spec.rdh_bytes_max ? CollectiveAlgorithm::Rdh
                                                   : CollectiveAlgorithm::Ring;
}

CollectiveGroup group_of(const CollectiveSpec& spec,
                         const std::vector<std::int32_t>& ranks,
                         std::int64_t ranks_per_chip) {
    std::set<std::int64_t> chips;
    std::set<std::int64_t> instances;
    for (const std::int32_t rank : ranks) {
        const std::int64_t chip = rank / ranks_per_chip;
        chips.insert(chip);
        instances.insert(chip / spec.chips_per_instance);
    }
    const auto count = static_cast<std::int64_t>(std::max<std::size_t>(1, instances.size()));
    const auto all_chips = static_cast<std::int64_t>(std::max<std::size_t>(1, chips.size()));
    return {.ranks = static_cast<std::int64_t>(std::max<std::size_t>(1, ranks.size())),
            .chips = (all_chips + count - 1) / count,
            .instances = count};
}

Picoseconds phase_time(const ChipSpec& chip,
                       const CollectiveGroup& group,
                       const CollectivePhase& phase) {
    const CollectiveSpec& spec = chip.collectives;
    const auto bytes = static_cast<double>(phase.full.value);
    Picoseconds time = spec.launch_ns;
    switch (algorithm_of(spec, phase.full)) {
        case CollectiveAlgorithm::Mesh:
            time += mesh_time(spec, group, bytes);
            break;
        case CollectiveAlgorithm::Rdh:
            time += rdh_time(spec, group, bytes);
            break;
        case CollectiveAlgorithm::Ring:
            time += ring_time(spec, group, bytes);
            break;
    }
    const std::int64_t chips = group.chips * group.instances;
    const double pairs =
        std::max(1.0, static_cast<double>(group.ranks) / 2.0 / static_cast<double>(chips));
    const Picoseconds memory =
        from_nanoseconds(phase.touches * pairs * bytes / hbm_gb_per_s(chip.hbm));
    return std::max(time, memory) + network_time(spec, group, bytes);
}

Picoseconds collective_time(const ChipSpec& chip,
                            const InstructionTemplate& instruction,
                            std::int64_t cores) {
    assert(is_exchange(instruction.op));
    const CollectiveSpec& spec = chip.collectives;
    const Attributes& attributes = instruction.attributes;
    const std::int64_t ranks_per_chip = std::max<std::int64_t>(1, chip.neuron_cores / cores);
    std::vector<CollectiveGroup> groups;
    for (const std::vector<std::int32_t>& ranks : attributes.groups) {
        groups.push_back(group_of(spec, ranks, ranks_per_chip));
    }
    const std::int64_t bytes = std::min(attributes.bytes, kMostBytes);
    const CollectivePhase scatter{.full = Bytes{bytes}, .touches = spec.reduce_scatter_touches};
    switch (instruction.op) {
        case Opcode::Sendrecv:
            return attributes.gpsimd_dma ? spec.sendrecv_gpsimd_ns : spec.sendrecv_ns;
        case Opcode::AllGather:
            return slowest(groups, [&](const CollectiveGroup& group) {
                return phase_time(
                    chip,
                    group,
                    {.full = Bytes{std::min(bytes, kMostBytes / group.ranks) * group.ranks},
                     .touches = spec.all_gather_touches});
            });
        case Opcode::ReduceScatter:
            return slowest(groups, [&](const CollectiveGroup& group) {
                return phase_time(chip, group, scatter);
            });
        case Opcode::AllReduce:
            return slowest(groups, [&](const CollectiveGroup& group) {
                return phase_time(chip, group, scatter) +
                       phase_time(
                           chip, group, {.full = Bytes{bytes}, .touches = spec.all_gather_touches});
            });
        case Opcode::AllToAll:
            return slowest(groups, [&](const CollectiveGroup& group) {
                return all_to_all_time(spec, group, static_cast<double>(bytes));
            });
        default: {
            const std::int64_t sent = attributes.op0 == "none" ? bytes : bytes / 2;
            return permute_time(spec, static_cast<double>(sent), attributes.channels);
        }
    }
}

void add_exchange_latency(const ChipSpec& chip,
                          const InstructionTemplate& instruction,
                          std::int64_t cores,
                          const DmaTransferCost& transfer,
                          DgeCost& dge) {
    const Picoseconds until_done = transfer.spread + chip.dma.completion_ns;
    const Picoseconds begin = collective_time(chip, instruction, cores) - until_done;
    if (instruction.op == Opcode::Sendrecv) {
        dge.first_byte = std::max(dge.first_byte, begin);
        return;
    }
    dge.generator = Picoseconds{};
    dge.first_byte = std::max(chip.collectives.launch_ns, begin - transfer.service);
}

}  // namespace trnsim::dma
