// SPDX-License-Identifier: Apache-2.0
// The Vector Engine's costs against measured laws, and at their edges.
#include "trnsim/neuron_core/vector_engine_timing.hpp"

#include "instructions.hpp"

#include <array>
#include <optional>

namespace trnsim::neuron_core {
namespace {

using test::chip;
using test::kBf16;
using test::kF32;
using test::kPsum;
using test::kSbuf;
using test::make;
using test::tile;
using test::unary;
using test::vector_of;

InstructionCost vector_on(const std::string& name, const InstructionTemplate& instruction) {
    const NeuronCoreSpec& core = chip(name).neuron_core;
    return vector_engine_cost(core.vector_engine, core.sbuf, instruction);
}

InstructionTemplate two(Opcode op, Space from, Dtype a, Dtype b, Dtype to, std::int64_t n) {
    const bool has_scalar = op == Opcode::ScalarTensorTensor;
    std::vector<Operand> operands{
        tile(Role::Dst, Space::Sbuf, to, n),
        tile(has_scalar ? Role::Data : Role::Data1, from, a, n),
        tile(has_scalar ? Role::Operand1 : Role::Data2, Space::Sbuf, b, n)};
    if (has_scalar) {
        operands.push_back(vector_of(Role::Operand0));
    }
    Attributes attributes;
    attributes.op0 = "add";
    attributes.op1 = "multiply";
    return make(op, operands, attributes);
}

InstructionTemplate reduce(Space from, Dtype source, Dtype result, std::int64_t n) {
    Attributes attributes;
    attributes.op0 = "maximum";
    return make(Opcode::TensorReduce,
                {tile(Role::Dst, Space::Sbuf, result, 1), tile(Role::Data, from, source, n)},
                attributes);
}

class VectorEngineLaw : public testing::TestWithParam<test::Law> {};

TEST_P(VectorEngineLaw, IsReproducedWithinFivePercent) {
    test::expect_law(GetParam(),
                     [](const auto& instruction) { return vector_on("trn2", instruction); });
}

const std::vector<test::Law> kVectorLaws{
    {"TensorCopyFp32",
     157,
     0.527,
     {128, 512, 2048},
     [](auto n) { return unary(Opcode::TensorCopy, kSbuf, kF32, kSbuf, kF32, n); }},
    {"TensorCopyBf16",
     156,
     0.269,
     {64, 256, 512},
     [](auto n) { return unary(Opcode::TensorCopy, kSbuf, kBf16, kSbuf, kBf16, n); }},
    {"TensorCopyFp32ToBf16",
     153,
     0.522,
     {128, 512, 4096},
     [](auto n) { return unary(Opcode::TensorCopy, kSbuf, kF32, kSbuf, kBf16, n); }},
    {"TensorCopyFp32ToInt32",
     153,
     0.536,
     {128, 512, 4096},
     [](auto n) { return unary(Opcode::TensorCopy, kSbuf, kF32, kSbuf, Dtype::Int32, n); }},
    {"TensorCopyFp32ToUint8",
     153,
     0.575,
     {128, 512, 4096},
     [](auto n) { return unary(Opcode::TensorCopy, kSbuf, kF32, kSbuf, Dtype::Uint8, n); }},
    {"TensorCopyBf16ToFp32",
     153,
     0.803,
     {64, 256, 512},
     [](auto n) { return unary(Opcode::TensorCopy, kSbuf, kBf16, kSbuf, kF32, n); }},
    {"TensorCopyFp32FromPsum",
     158,
     1.041,
     {64, 256, 512},
     [](auto n) { return unary(Opcode::TensorCopy, kPsum, kF32, kSbuf, kF32, n); }},
    {"TensorCopyFp32FromPsumToBf16",
     158,
     1.041,
     {64, 256, 512},
     [](auto n) { return unary(Opcode::TensorCopy, kPsum, kF32, kSbuf, kBf16, n); }},
    {"TensorScalarFp32",
     160.3,
     0.521,
     {128, 1024, 8192},
     [](auto n) { return unary(Opcode::TensorScalar, kSbuf, kF32, kSbuf, kF32, n); }},
    {"TensorTensorFp32",
     158.7,
     1.042,
     {128, 1024, 8192},
     [](auto n) { return two(Opcode::TensorTensor, kSbuf, kF32, kF32, kF32, n); }},
    {"TensorTensorFp32ToBf16",
     160.5,
     1.038,
     {64, 256, 512},
     [](auto n) { return two(Opcode::TensorTensor, kSbuf, kF32, kF32, kBf16, n); }},
    {"TensorTensorBf16",
     161.5,
     0.517,
     {64, 256, 512},
     [](auto n) { return two(Opcode::TensorTensor, kSbuf, kBf16, kBf16, kBf16, n); }},
    {"TensorTensorPsumAndSbuf",
     149,
     1.043,
     {64, 256, 512},
     [](auto n) { return two(Opcode::TensorTensor, kPsum, kF32, kBf16, kF32, n); }},
    {"TensorReduceFp32",
     155,
     1.042,
     {128, 1024, 8192},
     [](auto n) { return reduce(kSbuf, kF32, kF32, n); }},
    {"TensorReduceFp32FromPsum",
     155,
     1.042,
     {128, 512, 2048},
     [](auto n) { return reduce(kPsum, kF32, kF32, n); }},
    {"TensorReduceBf16ToFp32",
     143,
     1.044,
     {256, 1024, 4096},
     [](auto n) { return reduce(kSbuf, kBf16, kF32, n); }},
    {"Reciprocal",
     153,
     6.25,
     {1, 128, 2048},
     [](auto n) { return unary(Opcode::Reciprocal, kSbuf, kF32, kSbuf, kF32, n); }},
    {"TensorTensorScan",
     157.7,
     2.083,
     {64, 1024, 8192},
     [](auto n) {
         return make(Opcode::TensorTensorScan,
                     {tile(Role::Dst, kSbuf, kF32, n),
                      tile(Role::Data1, kSbuf, kF32, n),
                      tile(Role::Data2, kSbuf, kF32, n)});
     }},
    {"TensorTensorScanFromATile",
     217.7,
     2.083,
     {64, 1024, 8192},
     [](auto n) {
         return make(Opcode::TensorTensorScan,
                     {tile(Role::Dst, kSbuf, kF32, n),
                      tile(Role::Data1, kSbuf, kF32, n),
                      tile(Role::Data2, kSbuf, kF32, n),
                      vector_of(Role::Initial)});
     }},
    {"CopyPredicatedConstant",
     155.5,
     1.109,
     {64, 256, 1024},
     [](auto n) {
         return make(
             Opcode::TensorCopyPredicated,
             {tile(Role::Dst, kSbuf, kF32, n), tile(Role::Predicate, kSbuf, Dtype::Uint8, n)});
     }},
    {"StreamShuffle",
     143,
     1.045,
     {256, 512},
     [](auto n) { return unary(Opcode::NcStreamShuffle, kSbuf, kBf16, kSbuf, kBf16, n); }},
    {"MemsetBf16",
     58,
     0.832,
     {16, 128, 512},
     [](auto n) { return make(Opcode::Memset, {tile(Role::Dst, kSbuf, kBf16, n)}); }},
    {"MemsetFp32InPsum",
     58,
     0.832,
     {16, 128, 512},
     [](auto n) { return make(Opcode::Memset, {tile(Role::Dst, kPsum, kF32, n)}); }},
};

INSTANTIATE_TEST_SUITE_P(Trn2, VectorEngineLaw, testing::ValuesIn(kVectorLaws), test::name_of_law);

InstructionTemplate scaled(Space from, std::int64_t n) {
    Attributes attributes;
    attributes.op0 = "multiply";
    return make(Opcode::TensorScalar,
                {tile(Role::Dst, kSbuf, kF32, n),
                 tile(Role::Data, from, kF32, n),
                 vector_of(Role::Operand0)},
                attributes);
}

/// By how much 512 elements more lengthen a 16-bit copy, per element.
double cycles_per_element(Space from, Space to, bool is_gathered = false) {
    const auto interval = [&](std::int64_t n) {
        InstructionTemplate copy = unary(Opcode::TensorCopy, from, kBf16, to, kBf16, n);
        if (is_gathered) {
            copy.operands.push_back(tile(Role::Index, kSbuf, Dtype::Uint16, n));
            copy.operands[1].indirect = 2;
        }
        return static_cast<double>(vector_on("trn2", copy).interval.value);
    };
    return (interval(2048) - interval(1024)) / 1024.0 * 0.96e-3;
}

TEST(VectorEngineFastModes, AskForPlainElementsAndForOneOfBothInSbuf) {
    EXPECT_NEAR(cycles_per_element(kSbuf, kSbuf), 0.25, 0.01);
    EXPECT_NEAR(cycles_per_element(kSbuf, kSbuf, true), 0.5, 0.01) << "wherever indices say";
    EXPECT_NEAR(cycles_per_element(kPsum, kSbuf), 0.5, 0.01);
    EXPECT_NEAR(cycles_per_element(kSbuf, kPsum), 0.5, 0.01);
    EXPECT_NEAR(cycles_per_element(kPsum, kPsum), 1.0, 0.01);
}

// Durations and steady intervals of instructions in profiles of real kernels. [TRACES-TRN2]
TEST(VectorEngineTrace, CopyOf512FromPsumTakes690ns) {
    test::expect_near_measured(
        vector_on("trn2", unary(Opcode::TensorCopy, kPsum, kF32, kSbuf, kF32, 512)).done, 690);
}

TEST(VectorEngineTrace, CastOf128FromPsumTakes291ns) {
    test::expect_near_measured(
        vector_on("trn2", unary(Opcode::TensorCopy, kPsum, kF32, kSbuf, kBf16, 128)).done, 291);
}

TEST(VectorEngineTrace, ReduceOf512Takes680nsAndStartsEvery600ns) {
    const InstructionCost cost = vector_on("trn2", reduce(kSbuf, kF32, kF32, 512));
    test::expect_near_measured(cost.done, 680);
    test::expect_near_measured(cost.interval, 600);
}

TEST(VectorEngineTrace, ReduceOf4Takes157ns) {
    test::expect_near_measured(vector_on("trn2", reduce(kSbuf, kF32, kF32, 4)).done, 157);
}

TEST(VectorEngineTrace, ReciprocalOf4Takes178nsAndOf8Takes202ns) {
    const auto reciprocal = [](std::int64_t n) {
        return unary(Opcode::Reciprocal, kSbuf, kF32, kSbuf, kF32, n);
    };
    test::expect_near_measured(vector_on("trn2", reciprocal(4)).done, 178);
    test::expect_near_measured(vector_on("trn2", reciprocal(8)).done, 202);
}

TEST(VectorEngineTrace, ScalingOf512Takes481nsAndStartsEvery396ns) {
    const InstructionCost cost = vector_on("trn2", scaled(kSbuf, 512));
    test::expect_near_measured(cost.done, 481);
    test::expect_near_measured(cost.interval, 396);
}

TEST(VectorEngineTrace, ScalingOf128FromPsumTakes350ns) {
    test::expect_near_measured(vector_on("trn2", scaled(kPsum, 128)).done, 349.5);
}

TEST(VectorEngineTrace, Transpose32x32StartsEvery93nsAndTakes233ns) {
    const auto blocks =
        make(Opcode::NcTranspose,
             {tile(Role::Dst, kSbuf, kF32, 32, 32), tile(Role::Data, kSbuf, kF32, 32, 32)});
    const InstructionCost cost = vector_on("trn2", blocks);
    test::expect_near_measured(cost.interval, 93);
    test::expect_near_measured(cost.done, 233);
    const VectorEngineSpec& spec = chip("trn2").neuron_core.vector_engine;
    test::expect_near_measured(cost.interval + transpose_regroup_time(spec), 234);
    test::expect_near_measured(shuffle_mask_load_time(spec), 13);
}

// Intervals and durations read off figures of AWS's documentation, in cycles. [FIGURES-TRN2]
TEST(VectorEngineFigure, ScalarTensorTensorOf512FromPsumStartsEvery631Cycles) {
    const InstructionCost cost =
        vector_on("trn2", two(Opcode::ScalarTensorTensor, kPsum, kF32, kF32, kF32, 512));
    test::expect_near_measured(cost.interval, 631 / 0.96);
    test::expect_near_measured(cost.done, 724 / 0.96);
}

TEST(VectorEngineFigure, TensorTensorOf8192OnTrn1Takes14968ns) {
    test::expect_near_measured(
        vector_on("trn1", two(Opcode::TensorTensor, kSbuf, kF32, kF32, kF32, 8192)).done, 14968);
}

TEST(VectorEngineCost, IsIndependentOfThePartitions) {
    const auto copy = [](std::int32_t partitions) {
        return make(Opcode::TensorCopy,
                    {tile(Role::Dst, kSbuf, kF32, 256, partitions),
                     tile(Role::Data, kSbuf, kF32, 256, partitions)});
    };
    EXPECT_EQ(vector_on("trn2", copy(1)), vector_on("trn2", copy(128)));
}

TEST(VectorEngineCost, FixedPartIsAddedAndNotAFloor) {
    const auto copy = [](std::int64_t n) {
        return unary(Opcode::TensorCopy, kPsum, kF32, kSbuf, kF32, n);
    };
    const VectorEngineSpec& spec = chip("trn2").neuron_core.vector_engine;
    EXPECT_EQ(vector_on("trn2", copy(1)).interval, to_picoseconds(Cycles{65}, spec.clock_ghz));
    EXPECT_EQ(vector_on("trn2", copy(64)).interval, to_picoseconds(Cycles{128}, spec.clock_ghz));
}

TEST(VectorEngineCost, FastModesNeedContiguous16BitInSbuf) {
    const NeuronCoreSpec& core = chip("trn2").neuron_core;
    const auto cycles = [&](Space from, std::int64_t stride) {
        return vector_cycles_per_element(core.vector_engine,
                                         core.sbuf,
                                         make(Opcode::TensorCopy,
                                              {tile(Role::Dst, kSbuf, kBf16, 512),
                                               tile(Role::Data, from, kBf16, 512, 128, stride)}));
    };
    EXPECT_DOUBLE_EQ(cycles(kSbuf, 1), 0.25);
    EXPECT_DOUBLE_EQ(cycles(kSbuf, 2), 0.5);
    EXPECT_DOUBLE_EQ(cycles(kPsum, 1), 0.5);
    EXPECT_DOUBLE_EQ(cycles(kPsum, 2), 1.0);
}

TEST(VectorEngineCost, Fp8JoinsThe16BitModesOnTrn3Only) {
    const auto copy =
        unary(Opcode::TensorCopy, kSbuf, Dtype::Float8E4m3, kSbuf, Dtype::Float8E4m3, 512);
    const auto cycles = [&](const std::string& name) {
        const NeuronCoreSpec& core = chip(name).neuron_core;
        return vector_cycles_per_element(core.vector_engine, core.sbuf, copy);
    };
    EXPECT_DOUBLE_EQ(cycles("trn2"), 0.5);
    EXPECT_DOUBLE_EQ(cycles("trn3"), 0.25);
}

TEST(VectorEngineTiming, MemsetOfANumberThatLoopsChangeTakesAsLongAsOfOne) {
    const auto cycles = [](std::optional<double> value) {
        Attributes attributes;
        attributes.value = value;
        return vector_on("trn1",
                         make(Opcode::Memset, {tile(Role::Dst, kSbuf, kBf16, 512)}, attributes))
            .interval;
    };
    EXPECT_EQ(cycles(std::nullopt), cycles(1.0));
    EXPECT_GT(cycles(std::nullopt), cycles(0.0));
}

TEST(VectorEngineCost, SaysWhenItTakesTheSharedBus) {
    EXPECT_TRUE(vector_on("trn2", unary(Opcode::TensorCopy, kSbuf, kBf16, kSbuf, kBf16, 64))
                    .uses_fast_mode);
    EXPECT_FALSE(
        vector_on("trn2", unary(Opcode::TensorCopy, kPsum, kF32, kSbuf, kF32, 64)).uses_fast_mode);
    EXPECT_FALSE(vector_on("trn1", unary(Opcode::TensorCopy, kSbuf, kBf16, kSbuf, kBf16, 64))
                     .uses_fast_mode);
    EXPECT_FALSE(vector_on("trn2", make(Opcode::Memset, {tile(Role::Dst, kSbuf, kBf16, 64)}))
                     .uses_fast_mode);
}

/// Slowdown of an FP32 copy by the stride of its source.
double slowdown(std::int64_t stride) {
    const NeuronCoreSpec& core = chip("trn2").neuron_core;
    const auto cycles = [&](std::int64_t elements_apart) {
        return vector_cycles_per_element(
            core.vector_engine,
            core.sbuf,
            make(Opcode::TensorCopy,
                 {tile(Role::Dst, kSbuf, kF32, 512),
                  tile(Role::Data, kSbuf, kF32, 512, 128, elements_apart)}));
    };
    return cycles(stride) / cycles(1);
}

TEST(VectorEngineCost, Fp32StridesAreFreeToTwoAndDoubleFromFour) {
    EXPECT_DOUBLE_EQ(slowdown(2), 1.0);
    EXPECT_DOUBLE_EQ(slowdown(3), 1.5);
    EXPECT_DOUBLE_EQ(slowdown(4), 2.0);
    EXPECT_DOUBLE_EQ(slowdown(100), 2.0);
}

TEST(VectorEngineCost, StridesCountBackwardsAndRepeatsNot) {
    EXPECT_DOUBLE_EQ(slowdown(-4), 2.0);
    EXPECT_DOUBLE_EQ(slowdown(0), 1.0);
}

TEST(VectorEngineCost, StridesOfFewElementsCostNothing) {
    const VectorEngineSpec& spec = chip("trn2").neuron_core.vector_engine;
    for (const auto& [results, stride, cycles] : {std::array<std::int64_t, 3>{16, 1, 8256},
                                                  {16, 8, 8256},
                                                  {4096, 8, 8256},
                                                  {8192, 8, 16448}}) {
        const auto reduction = make(Opcode::TensorReduce,
                                    {tile(Role::Dst, kSbuf, kF32, results, 128, stride),
                                     tile(Role::Data, kSbuf, kF32, 8192)});
        EXPECT_EQ(vector_on("trn2", reduction).interval,
                  to_picoseconds(Cycles{cycles}, spec.clock_ghz))
            << results << " results, stride " << stride;
    }
}

TEST(VectorEngineCost, StridesSlowReadingAndNoComputation) {
    const NeuronCoreSpec& core = chip("trn2").neuron_core;
    for (const Opcode op : {Opcode::Reciprocal, Opcode::BnAggr}) {
        const auto cycles = [&](std::int64_t stride) {
            return vector_cycles_per_element(
                core.vector_engine,
                core.sbuf,
                make(op,
                     {tile(Role::Dst, kSbuf, kF32, 510),
                      tile(Role::Data, kSbuf, kF32, 510, 128, stride)}));
        };
        EXPECT_DOUBLE_EQ(cycles(8), cycles(1)) << name(op);
    }
}

TEST(VectorEngineCost, TwoSbufInputsTakeTwoCyclesOnNeuronCoreV2UnlessSimpleBf16) {
    const NeuronCoreSpec& core = chip("trn1").neuron_core;
    const auto cycles = [&](const InstructionTemplate& instruction) {
        return vector_cycles_per_element(core.vector_engine, core.sbuf, instruction);
    };
    auto bf16 = two(Opcode::TensorTensor, kSbuf, kBf16, kBf16, kBf16, 512);
    EXPECT_DOUBLE_EQ(cycles(bf16), 1.0);
    bf16.attributes.op0 = "maximum";
    EXPECT_DOUBLE_EQ(cycles(bf16), 2.0);
    EXPECT_DOUBLE_EQ(cycles(two(Opcode::TensorTensor, kSbuf, kF32, kF32, kF32, 512)), 2.0);
    EXPECT_DOUBLE_EQ(cycles(two(Opcode::TensorTensor, kPsum, kF32, kF32, kF32, 512)), 1.0);
}

TEST(VectorEngineCost, SimpleBf16IsContiguousOnNeuronCoreV2) {
    const NeuronCoreSpec& core = chip("trn1").neuron_core;
    auto apart = two(Opcode::TensorTensor, kSbuf, kBf16, kBf16, kBf16, 512);
    apart.operands.back() = tile(Role::Data2, kSbuf, kBf16, 512, 128, 2);
    EXPECT_DOUBLE_EQ(vector_cycles_per_element(core.vector_engine, core.sbuf, apart), 2.0);
}

TEST(VectorEngineCost, OfThreeInputsOneCombinationIsSimpleOnNeuronCoreV2) {  // [NKI-ISA-2.26]
    const NeuronCoreSpec& core = chip("trn1").neuron_core;
    const auto cycles = [&](const std::string& op0, const std::string& op1, std::int64_t n) {
        auto instruction = two(Opcode::ScalarTensorTensor, kSbuf, kBf16, kBf16, kBf16, n);
        instruction.attributes.op0 = op0;
        instruction.attributes.op1 = op1;
        return vector_cycles_per_element(core.vector_engine, core.sbuf, instruction);
    };
    EXPECT_DOUBLE_EQ(cycles("subtract", "multiply", 512), 1.0);
    EXPECT_DOUBLE_EQ(cycles("subtract", "multiply", 511), 2.0);
    EXPECT_DOUBLE_EQ(cycles("add", "multiply", 512), 2.0);
    EXPECT_DOUBLE_EQ(cycles("subtract", "add", 512), 2.0);
}

TEST(VectorEngineCost, Fp16HasNoModeOnNeuronCoreV2) {  // [NKI-ISA-2.26]
    const NeuronCoreSpec& core = chip("trn1").neuron_core;
    auto instruction =
        two(Opcode::ScalarTensorTensor, kSbuf, Dtype::Float16, Dtype::Float16, Dtype::Float16, 512);
    instruction.attributes.op0 = "subtract";
    instruction.attributes.op1 = "multiply";
    EXPECT_DOUBLE_EQ(vector_cycles_per_element(core.vector_engine, core.sbuf, instruction), 2.0);
    auto sum = reduce(kSbuf, Dtype::Float16, Dtype::Float16, 512);
    sum.attributes.op0 = "add";
    EXPECT_DOUBLE_EQ(vector_cycles_per_element(core.vector_engine, core.sbuf, sum), 1.0);
}

TEST(VectorEngineCost, SumsAndMaximaOfBf16TakeHalfACycleOnNeuronCoreV2) {  // [NKI-ISA-2.26]
    const NeuronCoreSpec& core = chip("trn1").neuron_core;
    const auto cycles = [&](const std::string& op, Dtype result) {
        auto instruction = reduce(kSbuf, kBf16, result, 512);
        instruction.attributes.op0 = op;
        return vector_cycles_per_element(core.vector_engine, core.sbuf, instruction);
    };
    for (const char* op : {"add", "max", "maximum"}) {
        EXPECT_DOUBLE_EQ(cycles(op, kBf16), 0.5) << op;
        EXPECT_DOUBLE_EQ(cycles(op, kF32), 1.0) << op;
    }
    EXPECT_DOUBLE_EQ(cycles("multiply", kBf16), 1.0);
}

/// Cycles per element of dst and data of 512.
double cycles_of(const std::string& name, Opcode op, Dtype dtype = kF32) {
    const NeuronCoreSpec& core = chip(name).neuron_core;
    return vector_cycles_per_element(
        core.vector_engine, core.sbuf, unary(op, kSbuf, dtype, kSbuf, dtype, 512));
}

TEST(VectorEngineCost, WhatIsSerialTakesACycleForEachElement) {
    for (const Opcode op : {Opcode::TensorScalarReduce,
                            Opcode::TensorScalarCumulative,
                            Opcode::BnStats,
                            Opcode::Dropout,
                            Opcode::Rng}) {
        EXPECT_DOUBLE_EQ(cycles_of("trn2", op), 1.0) << name(op);
    }
    EXPECT_NEAR(cycles_of("trn2", Opcode::BnAggr), 13.0 / 3.0, 1e-3);  // [NKI-ISA-2.26]
}

TEST(VectorEngineCost, NeuronCoreV4MakesFourElementsInACycle) {  // [NKI-ARCH-V4]
    for (const Opcode op : {Opcode::Exponential, Opcode::QuantizeMx, Opcode::Rand2}) {
        EXPECT_DOUBLE_EQ(cycles_of("trn3", op, kBf16), 0.25) << name(op);
    }
}

TEST(VectorEngineCost, PredicatedCopiesReadTwoTilesOfSbufInTurn) {  // [NKI-ISA-2.26]
    const NeuronCoreSpec& core = chip("trn2").neuron_core;
    const auto cycles = [&](Space data, Space predicate) {
        return vector_cycles_per_element(
            core.vector_engine,
            core.sbuf,
            make(Opcode::TensorCopyPredicated,
                 {tile(Role::Dst, kSbuf, kF32, 512),
                  tile(Role::Data, data, kF32, 512),
                  tile(Role::Predicate, predicate, Dtype::Uint32, 512)}));
    };
    EXPECT_DOUBLE_EQ(cycles(kSbuf, kSbuf), 2.0);
    EXPECT_DOUBLE_EQ(cycles(kPsum, kSbuf), 1.065);
    EXPECT_DOUBLE_EQ(cycles(kSbuf, kPsum), 1.065);
}

TEST(VectorEngineCost, ReduceResultAddsAReadout) {
    Attributes attributes;
    attributes.op0 = "multiply";
    attributes.reduce_op = "add";
    const auto with = make(Opcode::SelectReduce,
                           {tile(Role::Dst, kSbuf, kF32, 64),
                            tile(Role::Predicate, kSbuf, Dtype::Uint8, 64),
                            tile(Role::OnTrue, kSbuf, kF32, 64),
                            vector_of(Role::ReduceResult)});
    auto without = with;
    without.operands.pop_back();
    const VectorEngineSpec& spec = chip("trn2").neuron_core.vector_engine;
    EXPECT_EQ(vector_on("trn2", with).interval - vector_on("trn2", without).interval,
              to_picoseconds(Cycles{64 + 128}, spec.clock_ghz) -
                  to_picoseconds(Cycles{128}, spec.clock_ghz));
}

TEST(VectorEngineCost, IntervalNeverExceedsDone) {
    const auto memset = make(Opcode::Memset, {tile(Role::Dst, kSbuf, kF32, 1)});
    const InstructionCost cost = vector_on("trn2", memset);
    EXPECT_EQ(cost.interval, cost.done);
    EXPECT_EQ(cost.read, cost.interval);
}

TEST(VectorEngineCost, StreamsItsElementsAndNotItsFixedPart) {
    const auto copy = unary(Opcode::TensorCopy, kPsum, kF32, kSbuf, kF32, 512);
    test::expect_near_measured(vector_on("trn2", copy).streaming, 512 / 0.96);
    const auto transpose = unary(Opcode::NcTranspose, kSbuf, kF32, kSbuf, kF32, 32);
    test::expect_near_measured(vector_on("trn2", transpose).streaming, 32 / 0.96);
    const auto one = unary(Opcode::RandSetState, kSbuf, kF32, kSbuf, kF32, 24);
    EXPECT_EQ(vector_on("trn2", one).streaming, Picoseconds{});
}

}  // namespace
}  // namespace trnsim::neuron_core
