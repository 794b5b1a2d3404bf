// SPDX-License-Identifier: Apache-2.0
// What a DMA transfer costs: descriptors, DMA engines, descriptor generation.
#pragma once

#include "trnsim/base/units.hpp"
#include "trnsim/dma/dma_spec.hpp"
#include "trnsim/isa/instruction.hpp"
#include "trnsim/memory/hbm_spec.hpp"
#include "trnsim/neuron_core/sync_engine_spec.hpp"

#include <cstdint>
#include <vector>

namespace trnsim::dma {

/// How a transfer falls apart into descriptors: runs that are contiguous on both sides, cut at
/// descriptor_bytes_max; adjacent runs count as one.
struct DmaDescriptors {
    std::int64_t count = 0;  ///< Of the whole transfer.
    std::int64_t rows =
        0;          ///< Partition rows on the side that decides the engines; 0: none (HBM to HBM).
    Bytes bytes{};  ///< Moved by the engines: the wider side where the types differ.
    Bytes piece{};  ///< Mean bytes of one descriptor, rounded up.
};
[[nodiscard]] DmaDescriptors descriptors(const DmaSpec& spec,
                                         const InstructionTemplate& instruction);

/// How many of the engines serve partitions of an on-chip memory.
[[nodiscard]] std::int64_t serving_engines(const DmaSpec& spec, std::int64_t partitions);

/// One transfer on the DMA engines, undisturbed by others.
struct DmaTransferCost {
    std::uint32_t engine_mask = 0;  ///< Bit e: engine e takes part.
    Picoseconds service{};          ///< Time of the busiest engine for its descriptors.
    Picoseconds spread{};           ///< The last engine's lag behind the first, from start to end.
    std::int64_t descriptors = 0;   ///< Of all engines.
    Bytes bytes{};                  ///< Moved, destination side.
    Bytes bytes_read_hbm{};
    Bytes bytes_written_hbm{};
    double hbm_page_efficiency = 1.0;  ///< Of the stack's rate, for pieces this short.
    /// By engine: its own time, where that is not `service` for each of the mask. Else empty.
    std::vector<Picoseconds> uneven{};

    /// Of all engines.
    [[nodiscard]] Picoseconds engine_time() const;
};

/// Engine e serves the partitions e x partitions_per_engine and following, so P rows from
/// `first_partition` use ceil(P / 8) engines; transposes and transfers between HBM addresses are
/// dealt out by descriptor: some engines may have fewer than others. Of an engine: sum over its
/// descriptors of max(overhead + bytes / rate / efficiency, descriptor_min of `mode`). Efficiency
/// is 1 for copies and casts, else that of dma_transpose or dma_compute, which reads every source
/// and writes a sum of two at its efficiency. The engines of a read of HBM begin one after the
/// other, the later the longer its descriptors, and end so: each has the same lag in every
/// transfer, which costs latency and no throughput. [TRACES-TRN2] [M-VOYAGER] [NKI-DMA]
/// [ACCURACY-STUDY, 3, 4.3] Leaves out the latencies before and after.
[[nodiscard]] DmaTransferCost transfer_cost(const DmaSpec& spec,
                                            const HbmSpec& hbm,
                                            const DgeModeSpec& mode,
                                            const InstructionTemplate& instruction,
                                            std::int32_t first_partition = 0);

/// What making the descriptors of one DMA costs.
struct DgeCost {
    Picoseconds sequencer{};   ///< The trigger holds its sequencer.
    Picoseconds generator{};   ///< The generator (DGE block, GpSimd) is busy.
    Picoseconds first_byte{};  ///< Trigger to first byte moved.
};
[[nodiscard]] const DgeModeSpec& dge_mode(const DgeSpec& spec,
                                          DgeMode mode);  ///< \pre mode != Auto
[[nodiscard]] DgeCost dge_cost(const DgeSpec& spec, DgeMode mode, std::int64_t descriptors);

/// From the trigger of a DMA to the next one on its ring: the ring's own pace, the sequencer's, and
/// the descriptors of a ring are made one after the other. [M-VOYAGER]
[[nodiscard]] Picoseconds ring_interval(const DmaSpec& spec, const DgeCost& cost);

/// How long the engine that triggers a DMA is held: its sequencer by the trigger, GpSimd until it
/// has made the descriptors. [TRACES-TRN2] [NKI-DGE]
[[nodiscard]] Picoseconds trigger_interval(DgeMode mode, const DgeCost& cost);

/// Whether an engine can trigger DMAs that are described in this way: of the DGE Sync and Scalar,
/// of GpSimd itself, of descriptors that are there any. [NKI-DGE] \pre mode != Auto
[[nodiscard]] bool can_trigger(Engine engine, DgeMode mode);

/// The mode of a DMA: the one it asks for; else software for gathers, scatters and GpSimd triggers;
/// none for computes and transposes, of which hardware describes few shapes; else hardware where
/// the chip has it and Sync, Scalar or nobody in particular triggers, but for casts, which it does
/// not make: these go by software, or by none if an engine is named; else none. [NKI-DGE] [NKI-ISA]
[[nodiscard]] DgeMode resolve_dge(const DgeSpec& spec, const InstructionTemplate& instruction);

}  // namespace trnsim::dma
