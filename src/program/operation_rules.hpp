// SPDX-License-Identifier: Apache-2.0
// What each operation takes: the table of docs/trace-format.md, section 5, as data.
#pragma once

#include "trnsim/isa/instruction.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace trnsim::program {

/// How often a role occurs.
enum class Arity : std::uint8_t { One, Optional, OneOrMore };

/// One entry of an operation's operand list. A vector operand has one value per partition.
struct OperandRule {
    Role role = Role::Dst;
    Arity arity = Arity::One;
    bool is_vector = false;
};

/// The keys of `attributes`.
enum class Attribute : std::uint8_t {
    Op,
    Op0,
    Op1,
    ReduceOp,
    Function,
    Start,
    IsTranspose,
    Negate,
    OneZero,
    PerfMode,
    TilePosition,
    TileSize,
    Value,
    Mask,
    ElementsPerIndex,
    Indices,
    K,
    Dge,
    Trigger,
    N,
    Cores,
    SendTo,
    RecvFrom,
    Pipe,
    GpsimdDma,
    Groups,
    Pairs,
    Channels,
    Bytes,
    CompressRatio,
};

/// The key in a trace: "op0".
[[nodiscard]] std::string_view name(Attribute attribute);

/// An attribute of an operation. `allows_none`: the operator may be "none".
struct AttributeRule {
    Attribute attribute = Attribute::Op;
    bool required = true;
    bool allows_none = false;
};

/// How the element counts of an operation's operands relate; operand_shapes.cpp states each.
enum class ShapeRule : std::uint8_t {
    Free,
    Elementwise,
    Reduce,
    Matmul,
    Transpose,
    BnStats,
    BnAggr,
    Max8,
    FindIndex8,
    MatchReplace8,
    QuantizeMx,
    LocalGather,
    Gather,
    PartitionReduce,
    SequenceBounds,
    NonzeroWithCount,
    Topk,
    Move,
    Shuffle,
    SingleElement,
};

/// A constant list with room for what one operation needs.
template <typename T, std::size_t kRoom>
class RuleList {
public:
    constexpr RuleList(std::initializer_list<T> entries) {
        for (const T& entry : entries) {
            entries_[size_++] = entry;
        }
    }
    [[nodiscard]] constexpr std::span<const T> span() const { return {entries_.data(), size_}; }

private:
    std::array<T, kRoom> entries_{};
    std::size_t size_ = 0;
};

/// A row of the table.
struct OperationRule {
    Opcode op = Opcode::NcMatmul;
    RuleList<Engine, 5> engines;
    ShapeRule shape = ShapeRule::Free;
    RuleList<OperandRule, 6> operands;
    RuleList<AttributeRule, 7> attributes;
};

/// The row of an operation.
[[nodiscard]] const OperationRule& rule_of(Opcode op);

/// Whether `engine` reaches `space` for that operand of `op`. [NKI-ISA]
[[nodiscard]] bool reaches(Engine engine, Opcode op, Role role, Space space);

/// The one pair of inputs of `op` that may not both be in PSUM, if there is one. [NKI-ISA]
[[nodiscard]] std::span<const Role> not_both_in_psum(Opcode op);

}  // namespace trnsim::program
