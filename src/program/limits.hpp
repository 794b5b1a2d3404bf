// SPDX-License-Identifier: Apache-2.0
// Bounds of what a trace may say: far above any program or memory, far below the range of int64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trnsim::program {

/// Largest magnitude of an integer in a trace, and most elements of a buffer or a pattern.
/// [ASSUMED]
inline constexpr std::int64_t kMaxInteger = std::int64_t{1} << 48;

/// Largest distance, in elements or bytes, that a position or a pattern may reach. With it an
/// access's bytes stay below 2^61. [ASSUMED]
inline constexpr std::int64_t kMaxReach = std::int64_t{1} << 56;

/// Most executed steps of a program, and most trips of a loop: days of simulation. [ASSUMED]
inline constexpr std::int64_t kMaxSteps = 1'000'000'000'000;

/// Deepest nest of loops. [ASSUMED]
inline constexpr std::size_t kMaxDepth = 64;

/// Longest record. [ASSUMED]
inline constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;

/// Semaphore conditions and updates of one lowered run.
inline constexpr std::size_t kMaxSemaphores = 4;

/// Largest number of a semaphore, and largest single addition to one. [ASSUMED]
inline constexpr std::int64_t kMaxSemaphoreId = 0xFFFF;

/// Value that an instruction can wait for: what queues have room for.
inline constexpr std::int64_t kMaxSemaphoreValue = (std::int64_t{1} << 48) - 1;

/// Pairs of a pattern within a partition, and in HBM. [NKI-AP]
inline constexpr std::size_t kMaxOnChipPairs = 4;
inline constexpr std::size_t kMaxHbmPairs = 6;

/// Partitions of SBUF and PSUM. [NKI-ARCH-V2]
inline constexpr std::int64_t kPartitions = 128;

/// Physical cores of a logical NeuronCore. [NKI-ARCH-V3]
inline constexpr std::int64_t kMaxCores = 8;

/// Largest rank of a collective. [ASSUMED]
inline constexpr std::int64_t kMaxRank = 0xFFFF;

/// DMA rings of a NeuronCore that a template can name. [NKI-DMA]
inline constexpr std::int64_t kRings = 16;

}  // namespace trnsim::program
