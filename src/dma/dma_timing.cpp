// SPDX-License-Identifier: Apache-2.0
// What a DMA transfer costs: descriptors, DMA engines, descriptor generation.
#include "trnsim/dma/dma_timing.hpp"

#include "trnsim/memory/hbm_timing.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>

namespace trnsim::dma {
namespace {

std::int64_t total_elements(const Operand& operand) {
    return operand.elements() * operand.partitions;
}

/// How many indices say where an operand lies: 0 for a fixed place, 1 for an offset of it all.
std::int64_t indices(const InstructionTemplate& instruction, const Operand& operand) {
    const Operand* found = instruction.indices_of(operand);
    return found == nullptr ? 0 : total_elements(*found);
}

/// Elements that lie behind each other in one address range: in HBM over the whole access, in SBUF
/// within a partition. Indexed rows are never adjacent.
std::int64_t contiguous_run(const InstructionTemplate& instruction, const Operand& operand) {
    const std::int64_t run = operand.pattern.contiguous_run();
    const std::int64_t rows = std::max<std::int64_t>(1, indices(instruction, operand));
    return std::clamp<std::int64_t>(total_elements(operand) / rows, 1, run);
}

/// Pieces of a stream of `total` elements that is cut at every multiple of `a` and of `b`.
std::int64_t pieces(std::int64_t total, std::int64_t a, std::int64_t b) {
    const std::int64_t step = a / std::gcd(a, b);  // Every b x step elements both cut.
    assert(step > 0);
    const std::int64_t common = step > total / b ? 0 : total / (b * step);
    return std::max<std::int64_t>(1, total / a + total / b - common);
}

/// Runs contiguous on both sides, cut at the longest descriptor. A transposing engine gathers its
/// destination itself: only the source's runs count. [ASSUMED]
std::int64_t count_descriptors(const DmaSpec& spec,
                               const InstructionTemplate& instruction,
                               const Operand& src) {
    const Operand& dst = instruction.at(Role::Dst);
    const std::int64_t total = std::max(total_elements(dst), total_elements(src));
    const std::int64_t source_run = contiguous_run(instruction, src);
    const std::int64_t runs = instruction.op == Opcode::DmaTranspose
                                  ? total / source_run
                                  : pieces(total, contiguous_run(instruction, dst), source_run);
    const std::int64_t widest = std::max(size_bytes(dst.dtype), size_bytes(src.dtype));
    const std::int64_t run_bytes = (total * widest + runs - 1) / runs;
    return runs * ((run_bytes + spec.descriptor_bytes_max - 1) / spec.descriptor_bytes_max);
}

/// The side whose partitions decide the engines: SBUF, the larger one if both are. Nothing for HBM
/// to HBM.
const Operand* partitioned_side(const Operand& dst, const Operand& src) {
    const Operand* side = nullptr;
    for (const Operand* operand : {&dst, &src}) {
        if (operand->space == Space::Sbuf &&
            (side == nullptr || operand->partitions > side->partitions)) {
            side = operand;
        }
    }
    return side;
}

bool casts(const InstructionTemplate& instruction) {
    const Dtype dtype = instruction.at(Role::Dst).dtype;
    return std::any_of(
        instruction.operands.begin(), instruction.operands.end(), [&](const Operand& operand) {
            return operand.role == Role::Src && operand.dtype != dtype;
        });
}

/// Computes take static descriptors, and hardware makes those of transposes of 16 rows only, which
/// the kernel asks for by name. [NKI-ISA]
bool is_plain_copy(Opcode op) {
    return op != Opcode::DmaCompute && op != Opcode::DmaTranspose;
}

double efficiency(const DmaSpec& spec, const InstructionTemplate& instruction) {
    switch (instruction.op) {
        case Opcode::DmaTranspose:
            return instruction.at(Role::Src).space == Space::Hbm ? spec.transpose_efficiency_hbm
                                                                 : spec.transpose_efficiency_sbuf;
        case Opcode::DmaCompute:
            return 2.0 * spec.compute_efficiency;  // That of a sum of two, each counted.
        default:
            return 1.0;
    }
}

/// Which engines take part, and how many descriptors each of them has.
struct Split {
    std::uint32_t mask = 0;
    std::array<std::int64_t, kMostDmaEngines> descriptors{};

    [[nodiscard]] std::int64_t busiest() const { return std::ranges::max(descriptors); }
    [[nodiscard]] bool is_even() const {
        return std::ranges::all_of(
            descriptors, [most = busiest()](std::int64_t one) { return one == 0 || one == most; });
    }
};

Split split_evenly(const DmaSpec& spec, std::int64_t count, std::int64_t first_engine) {
    Split split;
    const std::int64_t used = std::min(spec.engines, count);
    for (std::int64_t i = 0; i < used; ++i) {
        const auto engine = static_cast<std::size_t>((first_engine + i) % spec.engines);
        split.mask |= 1U << engine;
        split.descriptors[engine] = (count + used - 1 - i) / used;
    }
    return split;
}

Split split_by_partition(const DmaSpec& spec,
                         std::int64_t count,
                         std::int64_t rows,
                         std::int64_t first) {
    Split split;
    std::array<std::int64_t, kMostDmaEngines> rows_of_engine{};
    for (std::int64_t row = first; row < first + rows;) {
        const std::int64_t group = row / spec.partitions_per_engine;
        const std::int64_t next = std::min((group + 1) * spec.partitions_per_engine, first + rows);
        const auto engine = static_cast<std::size_t>(group % spec.engines);
        split.mask |= 1U << engine;
        rows_of_engine[engine] += next - row;
        row = next;
    }
    std::ranges::transform(rows_of_engine, split.descriptors.begin(), [&](std::int64_t own) {
        return (count * own + rows - 1) / rows;
    });
    return split;
}

bool reads_hbm(const InstructionTemplate& instruction) {
    return std::ranges::any_of(instruction.operands, [](const Operand& operand) {
        return operand.role == Role::Src && operand.space == Space::Hbm;
    });
}

Picoseconds read_spread(const DmaSpec& spec, std::uint32_t engines, double descriptor_bytes) {
    const double turn_ns =
        spec.read_turn_ns.nanoseconds() + descriptor_bytes / spec.read_turn_gb_per_s.value;
    const double last = static_cast<double>(std::bit_width(engines)) - 1.0;
    return from_nanoseconds(turn_ns * last);
}

}  // namespace

DmaDescriptors descriptors(const DmaSpec& spec, const InstructionTemplate& instruction) {
    const Operand& dst = instruction.at(Role::Dst);
    DmaDescriptors result;
    for (const Operand& src : instruction.operands) {
        if (src.role != Role::Src) {
            continue;
        }
        result.count += count_descriptors(spec, instruction, src);
        result.bytes += Bytes{std::max(dst.total_bytes(), src.total_bytes())};
    }
    assert(result.count > 0);
    const Operand* side = partitioned_side(dst, instruction.at(Role::Src));
    result.rows = side == nullptr ? 0 : side->partitions;
    result.piece = Bytes{(result.bytes.value + result.count - 1) / result.count};
    return result;
}

std::int64_t serving_engines(const DmaSpec& spec, std::int64_t partitions) {
    const std::int64_t each = spec.partitions_per_engine;
    return std::min(spec.engines, (partitions + each - 1) / each);
}

Picoseconds DmaTransferCost::engine_time() const {
    return uneven.empty() ? std::popcount(engine_mask) * service
                          : std::accumulate(uneven.begin(), uneven.end(), Picoseconds{});
}

DmaTransferCost transfer_cost(const DmaSpec& spec,
                              const HbmSpec& hbm,
                              const DgeModeSpec& mode,
                              const InstructionTemplate& instruction,
                              std::int32_t first_partition) {
    const DmaDescriptors pieces = descriptors(spec, instruction);
    const bool spreads = pieces.rows == 0 || instruction.op == Opcode::DmaTranspose;
    const Split split =
        spreads ? split_evenly(spec, pieces.count, first_partition / spec.partitions_per_engine)
                : split_by_partition(spec, pieces.count, pieces.rows, first_partition);
    const double mean_bytes =
        static_cast<double>(pieces.bytes.value) / static_cast<double>(pieces.count);
    const double moving_ns =
        mean_bytes / (spec.engine_gb_per_s.value * efficiency(spec, instruction));
    const double descriptor_ns = std::max(spec.descriptor_overhead_ns.nanoseconds() + moving_ns,
                                          mode.descriptor_min_ns.nanoseconds());

    DmaTransferCost cost;
    cost.engine_mask = split.mask;
    const auto time_of = [descriptor_ns](std::int64_t count) {
        return from_nanoseconds(static_cast<double>(count) * descriptor_ns);
    };
    cost.service = time_of(split.busiest());
    if (!split.is_even()) {
        cost.uneven.resize(split.descriptors.size());
        std::ranges::transform(split.descriptors, cost.uneven.begin(), time_of);
    }
    cost.spread =
        reads_hbm(instruction) ? read_spread(spec, split.mask, mean_bytes) : Picoseconds{};
    cost.descriptors = pieces.count;
    cost.hbm_page_efficiency = memory::page_efficiency(hbm, pieces.piece);
    for (const Operand& operand : instruction.operands) {
        if (operand.role == Role::Dst) {
            cost.bytes += Bytes{operand.total_bytes()};
        }
        if (operand.space == Space::Hbm) {
            (operand.role == Role::Dst ? cost.bytes_written_hbm : cost.bytes_read_hbm) +=
                Bytes{operand.total_bytes()};
        }
    }
    return cost;
}

const DgeModeSpec& dge_mode(const DgeSpec& spec, DgeMode mode) {
    assert(mode != DgeMode::Auto);
    switch (mode) {
        case DgeMode::Hardware:
            return spec.hardware;
        case DgeMode::Software:
            return spec.software;
        default:
            return spec.none;
    }
}

DgeCost dge_cost(const DgeSpec& spec, DgeMode mode, std::int64_t descriptors) {
    const DgeModeSpec& chosen = dge_mode(spec, mode);
    return {.sequencer = chosen.sequencer_ns,
            .generator =
                chosen.issue_interval_ns + from_nanoseconds(static_cast<double>(descriptors) *
                                                            chosen.per_descriptor_ns.nanoseconds()),
            .first_byte = chosen.first_byte_ns};
}

Picoseconds ring_interval(const DmaSpec& spec, const DgeCost& cost) {
    return std::max({spec.ring_interval_ns, cost.sequencer, cost.generator});
}

Picoseconds trigger_interval(DgeMode mode, const DgeCost& cost) {
    return mode == DgeMode::Software ? std::max(cost.sequencer, cost.generator) : cost.sequencer;
}

bool can_trigger(Engine engine, DgeMode mode) {
    switch (mode) {
        case DgeMode::Hardware:
            return engine == Engine::Sync || engine == Engine::Scalar;
        case DgeMode::Software:
            return engine == Engine::Gpsimd;
        default:
            return true;
    }
}

DgeMode resolve_dge(const DgeSpec& spec, const InstructionTemplate& instruction) {
    if (instruction.attributes.dge != DgeMode::Auto) {
        return instruction.attributes.dge;
    }
    std::int64_t most_indices = 0;
    for (const Operand& operand : instruction.operands) {
        most_indices = std::max(most_indices, indices(instruction, operand));
    }
    if (most_indices > 1 || instruction.attributes.trigger == Engine::Gpsimd) {
        return DgeMode::Software;
    }
    if (most_indices == 0 && !is_plain_copy(instruction.op)) {
        return DgeMode::None;
    }
    const std::optional<Engine> trigger = instruction.attributes.trigger;
    if (!spec.hardware.available || (trigger && !can_trigger(*trigger, DgeMode::Hardware))) {
        return most_indices == 0 ? DgeMode::None : DgeMode::Software;
    }
    if (casts(instruction)) {
        return instruction.attributes.trigger ? DgeMode::None : DgeMode::Software;
    }
    return DgeMode::Hardware;
}

}  // namespace trnsim::dma
