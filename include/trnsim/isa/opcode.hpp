// SPDX-License-Identifier: Apache-2.0
// Operations of a NeuronCore, by their nki.isa names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace trnsim {

/// One value per nki.isa operation that docs/trace-format.md lists, in its order.
enum class Opcode : std::uint8_t {
    NcMatmul,
    NcMatmulMx,
    NcMatmulSparse,
    NcTranspose,
    TensorCopy,
    TensorTensor,
    TensorScalar,
    ScalarTensorTensor,
    TensorScalarReduce,
    TensorScalarCumulative,
    TensorReduce,
    TensorTensorScan,
    TensorCopyPredicated,
    SelectReduce,
    RangeSelect,
    Memset,
    Reciprocal,
    Exponential,
    Activation,
    ActivationReduce,
    Activate2,
    BnStats,
    BnAggr,
    Max8,
    NcFindIndex8,
    NcMatchReplace8,
    NcStreamShuffle,
    Dropout,
    Rng,
    Rand2,
    RandGetState,
    RandSetState,
    SetRngSeed,
    QuantizeMx,
    Iota,
    AffineSelect,
    LocalGather,
    NcNGather,
    TensorPartitionReduce,
    SequenceBounds,
    NonzeroWithCount,
    Topk,
    DmaCopy,
    DmaTranspose,
    DmaCompute,
    RegisterMove,
    RegisterLoad,
    RegisterStore,
    CoreBarrier,
    Sendrecv,
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    CollectivePermute,
};

/// The nki.isa name: "nc_matmul".
[[nodiscard]] std::string_view name(Opcode opcode);
[[nodiscard]] std::optional<Opcode> opcode_from_name(std::string_view name);

/// All operations, in enumeration order.
[[nodiscard]] std::span<const Opcode> all_opcodes();

/// nc_matmul and its MX and sparse forms.
[[nodiscard]] constexpr bool is_matmul(Opcode opcode) {
    return opcode == Opcode::NcMatmul || opcode == Opcode::NcMatmulMx ||
           opcode == Opcode::NcMatmulSparse;
}

/// An operation that the DMA engines carry out: dma_copy, dma_transpose or dma_compute, or an
/// exchange between cores or ranks.
[[nodiscard]] bool is_dma(Opcode opcode);

/// sendrecv or a collective: what it takes depends on other cores.
[[nodiscard]] bool is_exchange(Opcode opcode);

/// An exchange between ranks: every one but sendrecv.
[[nodiscard]] bool is_collective(Opcode opcode);

}  // namespace trnsim
