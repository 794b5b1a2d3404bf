// SPDX-License-Identifier: Apache-2.0
// Names of the operations.
#include "trnsim/isa/opcode.hpp"

#include "trnsim/isa/name_table.hpp"

#include <array>

namespace trnsim {
namespace {

constexpr std::size_t kOpcodeCount = static_cast<std::size_t>(Opcode::CollectivePermute) + 1;

constexpr NameTable<Opcode, kOpcodeCount> kNames{{
    "nc_matmul",
    "nc_matmul_mx",
    "nc_matmul_sparse",
    "nc_transpose",
    "tensor_copy",
    "tensor_tensor",
    "tensor_scalar",
    "scalar_tensor_tensor",
    "tensor_scalar_reduce",
    "tensor_scalar_cumulative",
    "tensor_reduce",
    "tensor_tensor_scan",
    "tensor_copy_predicated",
    "select_reduce",
    "range_select",
    "memset",
    "reciprocal",
    "exponential",
    "activation",
    "activation_reduce",
    "activate2",
    "bn_stats",
    "bn_aggr",
    "max8",
    "nc_find_index8",
    "nc_match_replace8",
    "nc_stream_shuffle",
    "dropout",
    "rng",
    "rand2",
    "rand_get_state",
    "rand_set_state",
    "set_rng_seed",
    "quantize_mx",
    "iota",
    "affine_select",
    "local_gather",
    "nc_n_gather",
    "tensor_partition_reduce",
    "sequence_bounds",
    "nonzero_with_count",
    "topk",
    "dma_copy",
    "dma_transpose",
    "dma_compute",
    "register_move",
    "register_load",
    "register_store",
    "core_barrier",
    "sendrecv",
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "collective_permute",
}};

constexpr std::array<Opcode, kOpcodeCount> kAll = [] {
    std::array<Opcode, kOpcodeCount> all{};
    for (std::size_t i = 0; i < kOpcodeCount; ++i) {
        all[i] = static_cast<Opcode>(i);
    }
    return all;
}();

}  // namespace

std::string_view name(Opcode opcode) {
    return kNames.name(opcode);
}

std::optional<Opcode> opcode_from_name(std::string_view name) {
    return kNames.find(name);
}

std::span<const Opcode> all_opcodes() {
    return kAll;
}

bool is_dma(Opcode opcode) {
    return opcode == Opcode::DmaCopy || opcode == Opcode::DmaTranspose ||
           opcode == Opcode::DmaCompute || is_exchange(opcode);
}

bool is_exchange(Opcode opcode) {
    return opcode == Opcode::Sendrecv || is_collective(opcode);
}

bool is_collective(Opcode opcode) {
    return opcode >= Opcode::AllReduce && opcode <= Opcode::CollectivePermute;
}

}  // namespace trnsim
