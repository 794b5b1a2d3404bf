// SPDX-License-Identifier: Apache-2.0
// What stands in an engine's instruction queue: a costed template, semaphore waits and semaphore
// updates.
#pragma once

#include "trnsim/dma/dma_timing.hpp"
#include "trnsim/isa/engine.hpp"
#include "trnsim/neuron_core/instruction_cost.hpp"
#include "trnsim/neuron_core/pe_array.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace trnsim::neuron_core {

/// An in-order queue of a NeuronCore: the five sequencers, then the DMA rings.
using QueueId = std::uint8_t;
inline constexpr int kEngineQueues = 5;
inline constexpr int kDmaRings = 16;
inline constexpr int kQueues = kEngineQueues + kDmaRings;

[[nodiscard]] constexpr QueueId queue_of(Engine engine) {
    return static_cast<QueueId>(engine);
}
[[nodiscard]] constexpr QueueId queue_of_ring(int ring) {
    return static_cast<QueueId>(kEngineQueues + ring);
}

/// How an engine handles an instruction.
enum class Operation : std::uint8_t {
    LoadStationary,
    MultiplyMoving,
    DataPath,         ///< Anything that streams elements through Vector, Scalar or GpSimd.
    StreamTranspose,  ///< 32x32 transpose on the Vector Engine: slower when its quadrants change.
    StreamShuffle,    ///< nc_stream_shuffle: loads its mask when that changes.
    ActivationTableLoad,  ///< ACT_TABLE_LOAD.
    ReadAccumulator,      ///< ACTIVATION_READ_ACCUMULATOR.
    Control,              ///< Registers, barriers, waits that did not fit: no data path.
    Trigger,              ///< DMA_DIRECT2D: lets a transfer on a DMA ring begin; no data path.
    Transfer,             ///< DMA.
};

/// Everything about an instruction that does not change from one execution to the next. What an
/// execution on an engine looks at is in the first two cache lines.
struct alignas(64) IssueTemplate {
    Operation operation = Operation::DataPath;
    Engine engine = Engine::Vector;
    bool is_transpose = false;  ///< MultiplyMoving, StreamTranspose.
    bool touches_sbuf = false;
    bool touches_psum = false;
    DgeMode dge = DgeMode::None;       ///< Transfer, Trigger.
    Engine trigger = Engine::Dma;      ///< Transfer: in whose queue its trigger is; Dma: in none.
    PeBlocks pe_blocks = kWholeArray;  ///< LoadStationary, MultiplyMoving.
    std::uint32_t index = 0;   ///< Number of this template within the run: key of its statistics.
    std::uint32_t source = 0;  ///< Template of the program trace it came from.
    std::uint32_t state_key =
        0;  ///< Vector Engine state it needs: quadrant pair, or shuffle mask (0: none).
    std::uint32_t meeting_cores = 0;  ///< Starts when these and its own have come; 0: at once.
    std::uint32_t meeting_channel = 0;
    InstructionCost cost{};           ///< All operations but the tensor engine's and Transfer.
    Cycles tensor_interval{};         ///< LoadStationary, MultiplyMoving: at full rate.
    std::int64_t passes = 1;          ///< LoadStationary, MultiplyMoving: sets of weights.
    Cycles issue_interval{};          ///< MultiplyMoving: to the next one on another tile.
    std::int64_t busy_columns = 0;    ///< MultiplyMoving: what the clock gate counts.
    double row_share = 1.0;           ///< MultiplyMoving, as the clock gate counts it.
    std::int64_t macs = 0;            ///< MultiplyMoving.
    double peak_weight = 1.0;         ///< MultiplyMoving: cost of its dtype relative to BF16.
    dma::DgeCost dge_cost{};          ///< Transfer.
    dma::DmaTransferCost transfer{};  ///< Transfer.
    bool is_spill_save = false;       ///< Transfer made by the lowering, SBUF to HBM.
    bool is_spill_reload = false;     ///< Transfer made by the lowering, HBM to SBUF.
    std::string name{};               ///< "nc_matmul", "ACT_TABLE_LOAD"
};

/// Wait until a semaphore is at least a value.
struct SemaphoreWait {
    static constexpr std::uint64_t kMostValue = (std::uint64_t{1} << 48U) - 1;
    std::uint64_t semaphore : 16 = 0;
    std::uint64_t at_least : 48 = 0;
};

/// Add to a semaphore when the instruction begins, when its sources have been read, or when the
/// result is visible.
struct SemaphoreSignal {
    std::uint16_t semaphore = 0;
    std::uint16_t add = 1;
    bool at_read = false;
    bool at_begin = false;
};

/// One entry of an instruction queue.
struct QueuedInstruction {
    static constexpr int kMaxWaits = 6;
    static constexpr int kMaxSignals = 4;

    const IssueTemplate* what = nullptr;
    std::array<SemaphoreWait, kMaxWaits> wait_list{};
    std::array<SemaphoreSignal, kMaxSignals> signal_list{};
    std::uint64_t psum_banks = 0;  ///< Bit per bank it reads or writes.
    std::uint8_t wait_count = 0;
    std::uint8_t signal_count = 0;

    [[nodiscard]] std::span<const SemaphoreWait> waits() const {
        return {wait_list.data(), wait_count};
    }
    [[nodiscard]] std::span<const SemaphoreSignal> signals() const {
        return {signal_list.data(), signal_count};
    }
};

}  // namespace trnsim::neuron_core
