// SPDX-License-Identifier: Apache-2.0
// What an exchange between NeuronCores or chips costs: latency plus bytes over rate.
#pragma once

#include "trnsim/base/units.hpp"
#include "trnsim/dma/collective_spec.hpp"
#include "trnsim/dma/dma_timing.hpp"
#include "trnsim/isa/instruction.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <cstdint>

namespace trnsim::dma {

/// How the ranks of a group pass data on. Chosen by the bytes of the full tensor: mesh up to
/// mesh_bytes_max, recursive doubling and halving up to rdh_bytes_max, ring above.
/// [COLLECTIVES-INTRANODE]
enum class CollectiveAlgorithm : std::uint8_t { Mesh, Rdh, Ring };
[[nodiscard]] CollectiveAlgorithm algorithm_of(const CollectiveSpec& spec, Bytes full_tensor);

/// The ranks of one group: consecutive ranks share a chip.
struct CollectiveGroup {
    std::int64_t ranks = 1;
    std::int64_t chips = 1;      ///< Of one instance that take part.
    std::int64_t instances = 1;  ///< That take part.
};
[[nodiscard]] CollectiveGroup group_of(const CollectiveSpec& spec,
                                       const std::vector<std::int32_t>& ranks,
                                       std::int64_t ranks_per_chip);

/// Time of an all-gather or reduce-scatter of `full` bytes in n ranks on N chips:
///     mesh  launch + 2 step + full / all_to_all
///     RDH   launch + (log2 N + 1) step + (N-1)/N full / rdh
///     ring  launch + (n/2 - 1) hop + (N-1)/N full / ring, but at least touches x full / HBM
/// and between X instances network steps and (X-1)/X full / N / network more. An all-reduce
/// is both after each other. [COLLECTIVES-INTRANODE] [COLLECTIVES-INTERNODE] Leaves out contention
/// with other traffic, and the skew of the ranks.
struct CollectivePhase {
    Bytes full{};          ///< The tensor that all ranks together hold.
    double touches = 0.0;  ///< HBM accesses per byte and pair of ranks.
};
[[nodiscard]] Picoseconds phase_time(const ChipSpec& chip,
                                     const CollectiveGroup& group,
                                     const CollectivePhase& phase);

/// Time of an exchange from its trigger to the result, of its slowest group:
///     all_gather, reduce_scatter   one phase; all_reduce: two
///     all_to_all                   launch + step + bytes a chip sends / all_to_all
///     collective_permute           launch + hop + bytes / (ring / 4 x channels), at most ring;
///                                  half the bytes if it first reduces two sources to one
///     sendrecv                     sendrecv_ns, or sendrecv_gpsimd_ns; its bytes are DMA's
/// `cores` NeuronCores are one rank. \pre is_exchange(instruction.op)
[[nodiscard]] Picoseconds collective_time(const ChipSpec& chip,
                                          const InstructionTemplate& instruction,
                                          std::int64_t cores);

/// Lets a transfer take collective_time() at least: what DMA alone does not need passes before its
/// first byte. A collective's descriptors are made before the kernel runs. [NEURON-RUNTIME]
void add_exchange_latency(const ChipSpec& chip,
                          const InstructionTemplate& instruction,
                          std::int64_t cores,
                          const DmaTransferCost& transfer,
                          DgeCost& dge);

}  // namespace trnsim::dma
