// SPDX-License-Identifier: Apache-2.0
// Rules about slow transfers.
#include "trnsim/dma/dma_advice.hpp"

#include "trnsim/dma/dma_timing.hpp"

#include <algorithm>

namespace trnsim::dma {
namespace {

constexpr std::int64_t kPartitions = 128;  ///< Of SBUF. [NKI-DMA]

std::string text(std::int64_t value) {
    return std::to_string(value);
}

/// Share of an engine's rate that descriptors of that size reach, in percent.
std::string percent_of_rate(const DmaSpec& spec, Bytes piece) {
    const double moving = static_cast<double>(piece.value) / spec.engine_gb_per_s.value;
    const auto percent = static_cast<std::int64_t>(
        100.0 * moving / (moving + spec.descriptor_overhead_ns.nanoseconds()));
    return percent < 1 ? "less than 1" : text(percent);
}

}  // namespace

std::optional<std::string> advice(const DmaSpec& spec, const InstructionTemplate& instruction) {
    const bool is_exempt =
        !is_dma(instruction.op) || is_exchange(instruction.op) ||
        instruction.op == Opcode::DmaTranspose;  // Its engine gathers what belongs together.
    if (is_exempt) {
        return std::nullopt;
    }
    const DmaDescriptors pieces = descriptors(spec, instruction);
    if (pieces.count == 1) {
        return std::nullopt;
    }
    const std::int64_t element = size_bytes(instruction.at(Role::Dst).dtype);
    const std::string each = text(pieces.count) + " descriptors of " + text(pieces.piece.value) +
                             " B reach " + percent_of_rate(spec, pieces.piece) +
                             " % of the DMA engines' rate";
    if (element <= 2 && pieces.piece.value <= element) {
        return each +
               "; moving single elements transposes by access pattern: use dma_transpose, "
               "or transpose on the tensor engine [NKI-PERF]";
    }
    if (pieces.piece.value < kShortDescriptorBytes) {
        return each + "; let at least " + text(kShortDescriptorBytes) +
               " B lie behind each other on both sides, better 2 KiB [NKI-DMA]";
    }
    const std::int64_t used =
        (pieces.rows + spec.partitions_per_engine - 1) / spec.partitions_per_engine;
    if (pieces.rows > 0 && pieces.rows < kPartitions && 2 * used < spec.engines) {
        return text(pieces.rows) +
               (pieces.rows == 1 ? " partition occupies " : " partitions occupy ") + text(used) +
               " of " + text(spec.engines) + " DMA engines; spread the tile over " +
               text(kPartitions) + " partitions [NKI-DMA]";
    }
    return std::nullopt;
}

}  // namespace trnsim::dma
