// SPDX-License-Identifier: Apache-2.0
// An instruction without its position: operation, operands with access patterns, attributes, source
// line.
#pragma once

#include "trnsim/base/dtype.hpp"
#include "trnsim/isa/access_pattern.hpp"
#include "trnsim/isa/attributes.hpp"
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
    Tags,
    Operand0,
    Operand1,
    Bias,
    Scale,
    Initial,
    Bound0,
    Bound1,
    MaxValue,
    ReluParam,
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
    std::optional<std::uint32_t> indirect{};  ///< Which operand holds the indices that it goes by.

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
    /// The indices by which an operand is gathered or scattered, or nullptr.
    [[nodiscard]] const Operand* indices_of(const Operand& operand) const;
    friend bool operator==(const InstructionTemplate&, const InstructionTemplate&) = default;
};

}  // namespace trnsim
