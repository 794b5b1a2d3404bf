// SPDX-License-Identifier: Apache-2.0
// What an operation needs beyond its operands.
#pragma once

#include "trnsim/isa/engine.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trnsim {

/// Rings that the links of a chip make: channels of one collective. [NKI-COLLECTIVES]
inline constexpr std::int64_t kMaxChannels = 4;

/// Which nc_matmul inputs hold only zeros and ones.
enum class OneZero : std::uint8_t { None, Stationary, Moving, Both };
/// DoubleRow: FP8, two contraction rows per PE row.
enum class MatmulPerfMode : std::uint8_t { None, DoubleRow };

[[nodiscard]] std::string_view name(OneZero value);
[[nodiscard]] std::string_view name(MatmulPerfMode mode);
[[nodiscard]] std::optional<OneZero> one_zero_from_name(std::string_view name);
[[nodiscard]] std::optional<MatmulPerfMode> perf_mode_from_name(std::string_view name);

/// Everything an operation needs beyond its operands; each op uses the few that its row in
/// docs/trace-format.md names. Names of operators are those of nki.language, "none" where there is
/// none.
struct Attributes {
    std::string op0 = "none";  ///< Also `op` of single-operator instructions.
    std::string op1 = "none";
    std::string reduce_op = "none";
    std::string function = "none";
    bool start = true;  ///< nc_matmul: overwrite PSUM; false: accumulate.
    bool is_transpose = false;
    bool negate = false;
    OneZero onezero = OneZero::None;
    MatmulPerfMode perf_mode = MatmulPerfMode::None;
    std::int64_t compress_ratio = 1;  ///< nc_matmul_sparse: N / M of its M:N pattern.
    std::optional<std::array<std::int32_t, 2>> tile_position{};  ///< [row, column]
    std::optional<std::array<std::int32_t, 2>> tile_size{};      ///< [row, column]
    std::optional<double> value = 0.0;  ///< memset; absent where each run has its own.
    std::vector<std::int32_t> mask{};
    std::int64_t elements_per_index = 1;
    std::int64_t indices = 0;
    std::int64_t k = 0;
    std::int64_t n = 0;                               ///< topk: elements looked at.
    std::vector<std::int32_t> cores{};                ///< core_barrier: who takes part.
    std::int64_t send_to = 0;                         ///< sendrecv: a core.
    std::int64_t recv_from = 0;                       ///< sendrecv: a core.
    std::int64_t pipe = 0;                            ///< sendrecv: same pipe, same order.
    bool gpsimd_dma = false;                          ///< sendrecv: by the GpSimd engine's own DMA.
    std::vector<std::vector<std::int32_t>> groups{};  ///< Collectives: ranks that work together.
    std::vector<std::vector<std::int32_t>> pairs{};   ///< collective_permute: [from, to] ranks.
    std::int64_t channels = 1;                        ///< collective_permute: concurrent rings.
    std::int64_t bytes = 0;                           ///< Collectives: what each rank puts in.
    DgeMode dge = DgeMode::Auto;
    std::optional<Engine> trigger{};
    friend bool operator==(const Attributes&, const Attributes&) = default;
};

}  // namespace trnsim
