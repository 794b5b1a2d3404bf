// SPDX-License-Identifier: Apache-2.0
// What is legal and slow about a DMA transfer.
#pragma once

#include "trnsim/dma/dma_spec.hpp"
#include "trnsim/isa/instruction.hpp"

#include <optional>
#include <string>

namespace trnsim::dma {

/// Descriptors shorter than this are told of. [ASSUMED]; AWS recommends 2 KiB per partition.
/// [NKI-DMA]
inline constexpr std::int64_t kShortDescriptorBytes = 512;

/// What is slow about a transfer, and what to do: "what is; rule; what to do [tag]". Of several the
/// one that costs most. Nothing for exchanges between cores, and for transfers of one descriptor.
///     one element of 1 or 2 bytes to a descriptor: a transpose by access pattern [NKI-PERF]
///     descriptors below 512 bytes: the overhead of each counts [NKI-DMA]
///     partitions that occupy less than half of the DMA engines [NKI-DMA]
[[nodiscard]] std::optional<std::string> advice(const DmaSpec& spec,
                                                const InstructionTemplate& instruction);

}  // namespace trnsim::dma
