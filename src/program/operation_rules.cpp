// SPDX-License-Identifier: Apache-2.0
// The table of operations. [NKI-ISA]
#include "operation_rules.hpp"

#include "trnsim/isa/name_table.hpp"

#include <algorithm>
#include <cassert>

namespace trnsim::program {
namespace {

constexpr NameTable<Attribute, 30> kAttributeNames{{
    "op",
    "op0",
    "op1",
    "reduce_op",
    "function",
    "start",
    "is_transpose",
    "negate",
    "onezero",
    "perf_mode",
    "tile_position",
    "tile_size",
    "value",
    "mask",
    "elements_per_index",
    "indices",
    "k",
    "dge",
    "trigger",
    "n",
    "cores",
    "send_to",
    "recv_from",
    "pipe",
    "gpsimd_dma",
    "groups",
    "pairs",
    "channels",
    "bytes",
    "compress_ratio",
}};

constexpr OperandRule one(Role role) {
    return {role, Arity::One, false};
}
constexpr OperandRule maybe(Role role) {
    return {role, Arity::Optional, false};
}
constexpr OperandRule many(Role role) {
    return {role, Arity::OneOrMore, false};
}
constexpr OperandRule vector(Role role) {
    return {role, Arity::One, true};
}
constexpr OperandRule maybe_vector(Role role) {
    return {role, Arity::Optional, true};
}
constexpr AttributeRule must(Attribute attribute) {
    return {attribute, true, false};
}
constexpr AttributeRule may(Attribute attribute) {
    return {attribute, false, true};
}
constexpr AttributeRule must_or_none(Attribute attribute) {
    return {attribute, true, true};
}

constexpr OperandRule kDst = one(Role::Dst);
constexpr OperandRule kData = one(Role::Data);
constexpr OperandRule kMaybeReduceResult = maybe_vector(Role::ReduceResult);

constexpr RuleList<Engine, 5> kTensor{Engine::Tensor};
constexpr RuleList<Engine, 5> kVector{Engine::Vector};
constexpr RuleList<Engine, 5> kScalar{Engine::Scalar};
constexpr RuleList<Engine, 5> kGpsimd{Engine::Gpsimd};
constexpr RuleList<Engine, 5> kTensorVector{Engine::Tensor, Engine::Vector};
constexpr RuleList<Engine, 5> kVectorScalar{Engine::Vector, Engine::Scalar};
constexpr RuleList<Engine, 5> kVectorGpsimd{Engine::Vector, Engine::Gpsimd};
constexpr RuleList<Engine, 5> kElementwise{Engine::Vector, Engine::Scalar, Engine::Gpsimd};
constexpr RuleList<Engine, 5> kDma{Engine::Dma};
constexpr RuleList<Engine, 5> kSequenced{
    Engine::Tensor, Engine::Vector, Engine::Scalar, Engine::Gpsimd, Engine::Sync};

using A = Attribute;
using S = ShapeRule;

constexpr std::array kRules{
    OperationRule{Opcode::NcMatmul,
                  kTensor,
                  S::Matmul,
                  {kDst, one(Role::Stationary), one(Role::Moving)},
                  {may(A::Start),
                   may(A::IsTranspose),
                   may(A::OneZero),
                   may(A::PerfMode),
                   may(A::TilePosition),
                   may(A::TileSize)}},
    OperationRule{Opcode::NcMatmulMx,
                  kTensor,
                  S::Matmul,
                  {kDst,
                   one(Role::Stationary),
                   one(Role::Moving),
                   one(Role::StationaryScale),
                   one(Role::MovingScale)},
                  {may(A::Start), may(A::TilePosition), may(A::TileSize)}},
    OperationRule{Opcode::NcMatmulSparse,
                  kTensor,
                  S::Matmul,
                  {kDst, one(Role::Stationary), one(Role::Moving), one(Role::Tags)},
                  {may(A::Start), must(A::CompressRatio)}},
    OperationRule{Opcode::NcTranspose, kTensorVector, S::Transpose, {kDst, kData}, {}},
    OperationRule{Opcode::TensorCopy, kElementwise, S::Elementwise, {kDst, kData}, {}},
    OperationRule{Opcode::TensorTensor,
                  kVectorGpsimd,
                  S::Elementwise,
                  {kDst, one(Role::Data1), one(Role::Data2)},
                  {must(A::Op)}},
    OperationRule{Opcode::TensorScalar,
                  kElementwise,
                  S::Elementwise,
                  {kDst,
                   kData,
                   maybe_vector(Role::Operand0),
                   maybe_vector(Role::Operand1),
                   maybe_vector(Role::Initial)},
                  {must(A::Op0), may(A::Op1)}},
    OperationRule{
        Opcode::ScalarTensorTensor,
        kVector,
        S::Elementwise,
        {kDst, kData, maybe_vector(Role::Operand0), one(Role::Operand1), kMaybeReduceResult},
        {must(A::Op0), must(A::Op1), may(A::ReduceOp)}},
    OperationRule{Opcode::TensorScalarReduce,
                  kVector,
                  S::Elementwise,
                  {kDst,
                   kData,
                   maybe_vector(Role::Operand0),
                   maybe_vector(Role::Initial),
                   vector(Role::ReduceResult)},
                  {must(A::Op0), must(A::ReduceOp)}},
    OperationRule{Opcode::TensorScalarCumulative,
                  kVector,
                  S::Elementwise,
                  {kDst, kData, maybe_vector(Role::Operand0), maybe_vector(Role::Operand1)},
                  {must(A::Op0), must(A::Op1)}},
    OperationRule{
        Opcode::TensorReduce, kVector, S::Reduce, {kDst, kData}, {must(A::Op), may(A::Negate)}},
    OperationRule{Opcode::TensorTensorScan,
                  kVector,
                  S::Elementwise,
                  {kDst, one(Role::Data1), one(Role::Data2), maybe_vector(Role::Initial)},
                  {must(A::Op0), must(A::Op1)}},
    OperationRule{Opcode::TensorCopyPredicated,
                  kVector,
                  S::Elementwise,
                  {kDst, maybe(Role::Data), one(Role::Predicate)},
                  {}},
    OperationRule{
        Opcode::SelectReduce,
        kVector,
        S::Elementwise,
        {kDst, one(Role::Predicate), one(Role::OnTrue), maybe(Role::OnFalse), kMaybeReduceResult},
        {}},
    OperationRule{Opcode::RangeSelect,
                  kVector,
                  S::Elementwise,
                  {kDst, kData, vector(Role::Bound0), vector(Role::Bound1), kMaybeReduceResult},
                  {}},
    OperationRule{Opcode::Memset, kVectorGpsimd, S::Free, {kDst}, {must(A::Value)}},
    OperationRule{Opcode::Reciprocal, kVectorScalar, S::Elementwise, {kDst, kData}, {}},
    OperationRule{Opcode::Exponential,
                  kVector,
                  S::Elementwise,
                  {kDst,
                   kData,
                   maybe_vector(Role::MaxValue),
                   maybe_vector(Role::Initial),
                   kMaybeReduceResult},
                  {}},
    OperationRule{
        Opcode::Activation,
        kScalar,
        S::Elementwise,
        {kDst, kData, maybe_vector(Role::Bias), maybe_vector(Role::Scale), kMaybeReduceResult},
        {must(A::Function), may(A::ReduceOp)}},
    OperationRule{Opcode::ActivationReduce,
                  kScalar,
                  S::Elementwise,
                  {kDst,
                   kData,
                   maybe_vector(Role::Bias),
                   maybe_vector(Role::Scale),
                   vector(Role::ReduceResult)},
                  {must(A::Function), must(A::ReduceOp)}},
    OperationRule{
        Opcode::Activate2,
        kScalar,
        S::Elementwise,
        {kDst,
         kData,
         maybe_vector(Role::Operand0),
         maybe_vector(Role::Operand1),
         maybe_vector(Role::ReluParam),
         kMaybeReduceResult},
        {must(A::Function), must_or_none(A::Op0), must_or_none(A::Op1), must_or_none(A::ReduceOp)}},
    OperationRule{Opcode::BnStats, kVector, S::BnStats, {kDst, kData}, {}},
    OperationRule{Opcode::BnAggr, kVector, S::BnAggr, {kDst, kData}, {}},
    OperationRule{Opcode::Max8, kVector, S::Max8, {kDst, kData}, {}},
    OperationRule{
        Opcode::NcFindIndex8, kVector, S::FindIndex8, {kDst, kData, one(Role::Values)}, {}},
    OperationRule{Opcode::NcMatchReplace8,
                  kVector,
                  S::MatchReplace8,
                  {kDst, kData, one(Role::Values), maybe(Role::DstIndex)},
                  {}},
    OperationRule{Opcode::NcStreamShuffle, kVector, S::Shuffle, {kDst, kData}, {must(A::Mask)}},
    OperationRule{
        Opcode::Dropout, kVector, S::Elementwise, {kDst, kData, maybe_vector(Role::Operand0)}, {}},
    OperationRule{Opcode::Rng, kVectorGpsimd, S::Free, {kDst}, {}},
    OperationRule{Opcode::Rand2,
                  kVector,
                  S::Free,
                  {kDst, maybe_vector(Role::Operand0), maybe_vector(Role::Operand1)},
                  {}},
    OperationRule{Opcode::RandGetState, kVectorGpsimd, S::Free, {kDst}, {}},
    OperationRule{Opcode::RandSetState, kVectorGpsimd, S::Free, {kData}, {}},
    OperationRule{Opcode::SetRngSeed, kVector, S::SingleElement, {kData}, {}},
    OperationRule{
        Opcode::QuantizeMx, kVector, S::QuantizeMx, {kDst, one(Role::DstScale), kData}, {}},
    OperationRule{Opcode::Iota, kGpsimd, S::Free, {kDst}, {}},
    OperationRule{Opcode::AffineSelect, kGpsimd, S::Elementwise, {kDst, kData}, {}},
    OperationRule{Opcode::LocalGather,
                  kGpsimd,
                  S::LocalGather,
                  {kDst, kData, one(Role::Index)},
                  {may(A::ElementsPerIndex), must(A::Indices)}},
    OperationRule{Opcode::NcNGather,
                  kGpsimd,
                  S::Gather,
                  {kDst, kData, one(Role::Index)},
                  {may(A::ElementsPerIndex), must(A::Indices)}},
    OperationRule{
        Opcode::TensorPartitionReduce, kGpsimd, S::PartitionReduce, {kDst, kData}, {must(A::Op)}},
    OperationRule{Opcode::SequenceBounds, kGpsimd, S::SequenceBounds, {kDst, kData}, {}},
    OperationRule{Opcode::NonzeroWithCount, kGpsimd, S::NonzeroWithCount, {kDst, kData}, {}},
    OperationRule{Opcode::Topk,
                  kGpsimd,
                  S::Topk,
                  {kDst, kData, maybe(Role::DstIndex)},
                  {must(A::K), may(A::N)}},
    OperationRule{Opcode::DmaCopy,
                  kDma,
                  S::Move,
                  {kDst, one(Role::Src), maybe(Role::Index)},
                  {may(A::Dge), may(A::Trigger)}},
    OperationRule{Opcode::DmaTranspose,
                  kDma,
                  S::Move,
                  {kDst, one(Role::Src), maybe(Role::Index)},
                  {may(A::Dge), may(A::Trigger)}},
    OperationRule{Opcode::DmaCompute,
                  kDma,
                  S::Move,
                  {kDst, many(Role::Src)},
                  {must(A::Op), may(A::Dge), may(A::Trigger)}},
    OperationRule{Opcode::RegisterMove, kSequenced, S::Free, {}, {}},
    OperationRule{Opcode::RegisterLoad, kSequenced, S::SingleElement, {kData}, {}},
    OperationRule{Opcode::RegisterStore, kSequenced, S::SingleElement, {kDst}, {}},
    OperationRule{Opcode::CoreBarrier, kSequenced, S::Free, {maybe(Role::Dst)}, {may(A::Cores)}},
    OperationRule{Opcode::Sendrecv,
                  kDma,
                  S::Elementwise,
                  {kDst, one(Role::Src)},
                  {must(A::SendTo), must(A::RecvFrom), may(A::Pipe), may(A::GpsimdDma)}},
    OperationRule{Opcode::AllReduce,
                  kDma,
                  S::Free,
                  {many(Role::Dst), many(Role::Src)},
                  {must(A::Groups), must(A::Op), must(A::Bytes)}},
    OperationRule{Opcode::AllGather,
                  kDma,
                  S::Free,
                  {many(Role::Dst), many(Role::Src), maybe(Role::Index)},
                  {must(A::Groups), must(A::Bytes)}},
    OperationRule{Opcode::ReduceScatter,
                  kDma,
                  S::Free,
                  {many(Role::Dst), many(Role::Src)},
                  {must(A::Groups), must(A::Op), must(A::Bytes)}},
    OperationRule{Opcode::AllToAll,
                  kDma,
                  S::Free,
                  {many(Role::Dst), many(Role::Src), maybe(Role::Index)},
                  {must(A::Groups), must(A::Bytes)}},
    OperationRule{Opcode::CollectivePermute,
                  kDma,
                  S::Free,
                  {many(Role::Dst), many(Role::Src)},
                  {must(A::Pairs), may(A::Channels), may(A::Op), must(A::Bytes)}},
};

constexpr bool is_in_opcode_order() {
    for (std::size_t i = 0; i < kRules.size(); ++i) {
        if (kRules[i].op != static_cast<Opcode>(i)) {
            return false;
        }
    }
    return kRules.size() == static_cast<std::size_t>(Opcode::CollectivePermute) + 1;
}
static_assert(is_in_opcode_order());

}  // namespace

std::string_view name(Attribute attribute) {
    return kAttributeNames.name(attribute);
}

const OperationRule& rule_of(Opcode op) {
    return kRules[static_cast<std::size_t>(op)];
}

bool reaches(Engine engine, Opcode op, Role role, Space space) {
    if (op == Opcode::RegisterLoad || op == Opcode::RegisterStore || op == Opcode::CoreBarrier ||
        engine == Engine::Dma) {
        return space != Space::Psum;
    }
    switch (engine) {
        case Engine::Tensor:
            return space == (role == Role::Dst ? Space::Psum : Space::Sbuf);
        case Engine::Vector:
        case Engine::Scalar:
            return space == Space::Sbuf || (space == Space::Psum && op != Opcode::QuantizeMx);
        case Engine::Gpsimd:
            return space == Space::Sbuf;
        case Engine::Sync:
        case Engine::Dma:
            break;
    }
    return false;
}

std::span<const Role> not_both_in_psum(Opcode op) {
    static constexpr std::array kTwoTensors{Role::Data1, Role::Data2};
    static constexpr std::array kScalarTensor{Role::Data, Role::Operand1};
    static constexpr std::array kPredicated{Role::Data, Role::Predicate};
    static constexpr std::array kSelect{Role::OnTrue, Role::Predicate};
    switch (op) {
        case Opcode::TensorTensor:
        case Opcode::TensorTensorScan:
            return kTwoTensors;
        case Opcode::ScalarTensorTensor:
            return kScalarTensor;
        case Opcode::TensorCopyPredicated:
            return kPredicated;
        case Opcode::SelectReduce:
            return kSelect;
        default:
            return {};
    }
}

}  // namespace trnsim::program
