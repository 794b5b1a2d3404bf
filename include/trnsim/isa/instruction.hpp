// SPDX-License-Identifier: Apache-2.0
// An instruction without its position: operation, operands with access patterns, attributes, source
// line.
#pragma once

#include "trnsim/base/dtype.hpp"
#include "trnsim/isa/access_pattern.hpp"
#include "trnsim/isa/engine.hpp"
#include "trnsim/isa/opcode.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trnsim {

/// Memories of a NeuronCore, and its device memory.
enum class Space : std::uint8_t { Hbm, Sbuf, Psum };

/// What an instruction does with an operand. Accumulate is the tensor engine adding into PSUM.
enum class Access : std::uint8_t { Read, Write, Update, Accumulate };

/// The part an operand plays; docs/trace-format.md, section 5, lists the roles of each operation.
enum class Role : std::uint8_t {
    Dst,
    DstScale,
    Data,
    Data1,
    Data2,
    Src,
    Stationary,
    Moving,
    StationaryScale,
    MovingScale,
    Operand0,
    Operand1,
    Bias,
    Scale,
    Initial,
    Bound0,
    Bound1,
    MaxValue,
    ReduceResult,
    Predicate,
    OnTrue,
    OnFalse,
    Values,
    Index,
    DstIndex,
};

[[nodiscard]] std::string_view name(Space space);
[[nodiscard]] std::string_view name(Access access);
[[nodiscard]] std::string_view name(Role role);
[[nodiscard]] std::optional<Space> space_from_name(std::string_view name);
[[nodiscard]] std::optional<Access> access_from_name(std::string_view name);
[[nodiscard]] std::optional<Role> role_from_name(std::string_view name);

/// One operand. In SBUF and PSUM every one of `partitions` consecutive partitions is accessed by
/// the same `pattern`; in HBM the pattern is the whole access and `partitions` is 1.
struct Operand {
    Role role = Role::Dst;
    Access access = Access::Read;
    Space space = Space::Sbuf;
    Dtype dtype = Dtype::Float32;
    std::uint32_t buffer = 0;  ///< Allocation site; unused in a lowered trace.
    std::int32_t partitions = 1;
    AccessPattern pattern{};
    std::optional<Role> indirect{};  ///< The operand that holds the indices of a gather or scatter.

    [[nodiscard]] bool reads() const { return access != Access::Write; }
    [[nodiscard]] bool writes() const { return access != Access::Read; }
    /// Elements per partition (SBUF, PSUM) or in all (HBM).
    [[nodiscard]] std::int64_t elements() const { return pattern.elements(); }
    /// Bytes moved over all partitions.
    [[nodiscard]] std::int64_t total_bytes() const {
        return elements() * partitions * size_bytes(dtype);
    }
    friend bool operator==(const Operand&, const Operand&) = default;
};

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
    std::optional<std::array<std::int32_t, 2>> tile_position{};  ///< [row, column]
    std::optional<std::array<std::int32_t, 2>> tile_size{};      ///< [row, column]
    double value = 0.0;
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

/// A place in the kernel's source: index into Program::files and line, innermost frame first.
struct SourceFrame {
    std::uint32_t file = 0;
    std::uint32_t line = 0;
    friend bool operator==(const SourceFrame&, const SourceFrame&) = default;
};

/// An instruction without its position. Cost depends on nothing else, so it is computed once per
/// template.
struct InstructionTemplate {
    Opcode op = Opcode::TensorCopy;
    std::vector<Engine> engines{};  ///< Allowed, best first.
    std::vector<Operand> operands{};
    Attributes attributes{};
    std::optional<std::int32_t> ring{};  ///< DMA ring; lowered traces only.
    std::vector<SourceFrame> source{};

    /// The operand of that role, or nullptr.
    [[nodiscard]] const Operand* find(Role role) const;
    /// The operand of that role. \pre it exists (the trace reader checked).
    [[nodiscard]] const Operand& at(Role role) const;
    friend bool operator==(const InstructionTemplate&, const InstructionTemplate&) = default;
};

}  // namespace trnsim
