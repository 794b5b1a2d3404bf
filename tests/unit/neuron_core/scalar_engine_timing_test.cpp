// SPDX-License-Identifier: Apache-2.0
// The Scalar Engine's costs against measured laws, and at their edges.
#include "trnsim/neuron_core/scalar_engine_timing.hpp"

#include "instructions.hpp"

namespace trnsim::neuron_core {
namespace {

using test::chip;
using test::expect_near_measured;
using test::kBf16;
using test::kF32;
using test::kPsum;
using test::kSbuf;
using test::unary;
using test::vector_of;

InstructionCost scalar_on(const std::string& name, const InstructionTemplate& instruction) {
    const NeuronCoreSpec& core = chip(name).neuron_core;
    return scalar_engine_cost(core.scalar_engine, core.sbuf, instruction);
}

InstructionTemplate activation(const std::string& function,
                               Space from,
                               std::int64_t n,
                               Dtype source = kF32,
                               Dtype result = kF32) {
    Attributes attributes;
    attributes.function = function;
    return unary(Opcode::Activation, from, source, kSbuf, result, n, attributes);
}

InstructionTemplate with(InstructionTemplate instruction, Role vector) {
    instruction.operands.push_back(vector_of(vector));
    return instruction;
}

class ScalarEngineLaw : public testing::TestWithParam<test::Law> {};

TEST_P(ScalarEngineLaw, IsReproducedWithinFivePercent) {
    test::expect_law(GetParam(),
                     [](const auto& instruction) { return scalar_on("trn2", instruction); });
}

const std::vector<test::Law> kScalarLaws{
    {"ActivationCopy",
     202,
     0.833,
     {64, 512, 8192},
     [](auto n) { return activation("copy", kSbuf, n); }},
    {"ActivationCopyBf16",
     218,
     0.833,
     {512, 2048, 8192},
     [](auto n) { return activation("copy", kSbuf, n, kBf16, kBf16); }},
    {"ActivationCopyScaled",
     293,
     0.833,
     {64, 512, 8192},
     [](auto n) { return with(activation("copy", kSbuf, n), Role::Scale); }},
    {"ActivationCopyBiased",
     280,
     0.833,
     {64, 512, 8192},
     [](auto n) { return with(activation("copy", kSbuf, n), Role::Bias); }},
    {"Exp", 293.4, 0.8333, {1, 512, 8192}, [](auto n) { return activation("exp", kSbuf, n); }},
    {"Log", 286, 0.841, {1, 512, 8192}, [](auto n) { return activation("log", kSbuf, n); }},
    {"ExpBf16",
     296,
     0.833,
     {1, 512, 4096},
     [](auto n) { return activation("exp", kSbuf, n, kBf16, kBf16); }},
    {"ExpFp32ToBf16",
     276,
     0.842,
     {64, 512, 4096},
     [](auto n) { return activation("exp", kSbuf, n, kF32, kBf16); }},
    {"ActivationCopyFromPsum",
     162,
     0.87,
     {64, 256, 512},
     [](auto n) { return activation("copy", kPsum, n); }},
    {"ExpFromPsum", 259, 0.833, {1, 256, 512}, [](auto n) { return activation("exp", kPsum, n); }},
    {"TensorCopy",
     191,
     0.833,
     {1, 512, 8192},
     [](auto n) { return unary(Opcode::TensorCopy, kSbuf, kF32, kSbuf, kF32, n); }},
    {"TensorCopyFromPsum",
     166,
     0.857,
     {64, 256, 512},
     [](auto n) { return unary(Opcode::TensorCopy, kPsum, kF32, kSbuf, kF32, n); }},
};

INSTANTIATE_TEST_SUITE_P(Trn2, ScalarEngineLaw, testing::ValuesIn(kScalarLaws), test::name_of_law);

// Durations and steady intervals of instructions in profiles of real kernels. [TRACES-TRN2]
TEST(ScalarEngineTrace, ExpOf512FromSbufStartsEvery612nsAndTakes707ns) {
    const InstructionCost cost = scalar_on("trn2", activation("exp", kSbuf, 512));
    expect_near_measured(cost.interval, 612, 1.0);
    expect_near_measured(cost.done, 707, 1.0);
}

TEST(ScalarEngineTrace, ExpOf512FromPsumStartsEvery570nsAndTakes686ns) {
    const InstructionCost cost = scalar_on("trn2", activation("exp", kPsum, 512));
    expect_near_measured(cost.interval, 570, 1.0);
    expect_near_measured(cost.done, 686, 1.0);
}

TEST(ScalarEngineTrace, CopyOf512FromPsumStartsEvery477nsAndTakes585ns) {
    const InstructionCost cost =
        scalar_on("trn2", unary(Opcode::TensorCopy, kPsum, kF32, kSbuf, kF32, 512));
    expect_near_measured(cost.interval, 477, 1.0);
    expect_near_measured(cost.done, 585, 1.0);
}

TEST(ScalarEngineTrace, CastOf128FromPsumStartsEvery157nsAndTakes265ns) {
    const InstructionCost cost =
        scalar_on("trn2", unary(Opcode::TensorCopy, kPsum, kBf16, kSbuf, kF32, 128));
    expect_near_measured(cost.interval, 157, 1.0);
    expect_near_measured(cost.done, 265, 1.0);
}

TEST(ScalarEngineTrace, CopyOf128FromSbufStartsEvery199ns) {
    expect_near_measured(
        scalar_on("trn2", unary(Opcode::TensorCopy, kSbuf, kF32, kSbuf, kF32, 128)).interval, 199);
}

// Read off figures of AWS's documentation. [FIGURES-TRN2] [FIGURES-TRN1]
TEST(ScalarEngineFigure, ActivationsOf128And4096Take400And3710ns) {
    expect_near_measured(scalar_on("trn2", activation("exp", kSbuf, 128)).done, 400);
    expect_near_measured(scalar_on("trn2", activation("exp", kSbuf, 4096)).done, 3710);
}

TEST(ScalarEngineFigure, ActivationOfOneElementOnTrn1Takes159ns) {
    expect_near_measured(scalar_on("trn1", activation("exp", kSbuf, 1)).done, 159);
}

TEST(ScalarEngineCost, ReadAccumulatorTakes279nsAndStartsEvery185ns) {
    const InstructionCost cost = read_accumulator_cost(chip("trn2").neuron_core.scalar_engine);
    expect_near_measured(cost.interval, 185);
    expect_near_measured(cost.done, 279);
}

TEST(ScalarEngineCost, WithAReduceResultLastsUntilTheAccumulatorMayBeRead) {
    const InstructionCost plain = scalar_on("trn2", activation("exp", kSbuf, 512));
    const InstructionCost reduced =
        scalar_on("trn2", with(activation("exp", kSbuf, 512), Role::ReduceResult));
    expect_near_measured(reduced.interval, 512 / 1.2 + 201);
    EXPECT_GT(reduced.interval, plain.interval);
    EXPECT_EQ(reduced.read, plain.read);
    EXPECT_EQ(reduced.done, plain.done) << "the accumulator does not keep the other result back";
}

TEST(ScalarEngineCost, IsDoneNoEarlierThanItsAccumulatorMayBeRead) {
    ScalarEngineSpec spec = chip("trn2").neuron_core.scalar_engine;
    spec.accumulator_ready_cycles = Cycles{12'000};
    const auto reduced = with(activation("exp", kSbuf, 512), Role::ReduceResult);
    const InstructionCost cost = scalar_engine_cost(spec, chip("trn2").neuron_core.sbuf, reduced);
    EXPECT_EQ(cost.done, cost.interval);
}

TEST(ScalarEngineCost, StreamsItsElementsAndNotItsFixedPart) {
    const InstructionCost cost = scalar_on("trn2", activation("exp", kSbuf, 512));
    expect_near_measured(cost.streaming, 512 / 1.2);
    EXPECT_LT(cost.streaming, cost.interval);
    EXPECT_EQ(read_accumulator_cost(chip("trn2").neuron_core.scalar_engine).streaming,
              Picoseconds{});
}

TEST(ScalarEngineCost, AGivenBiasReplacesTheImplicitOne) {
    EXPECT_EQ(scalar_on("trn2", with(activation("exp", kSbuf, 512), Role::Bias)),
              scalar_on("trn2", activation("exp", kSbuf, 512)));
    EXPECT_LT(scalar_on("trn2", activation("exp", kSbuf, 512)).interval,
              scalar_on("trn2", with(activation("exp", kSbuf, 512), Role::Scale)).interval);
}

TEST(ScalarEngineFigure, ScaleAndBiasCostNothingOnTrn1) {  // [NKI-ARCH-V2]
    const auto plain = activation("exp", kSbuf, 512);
    EXPECT_EQ(scalar_on("trn1", with(with(plain, Role::Bias), Role::Scale)),
              scalar_on("trn1", plain));
}

TEST(ScalarEngineCost, Activate2ReadsNoBiasOfItsOwn) {  // [NKI-ARCH-V4]
    InstructionTemplate instruction = activation("exp", kSbuf, 512);
    const Picoseconds with_bias = scalar_on("trn3", instruction).interval;
    instruction.op = Opcode::Activate2;
    expect_near_measured(with_bias - scalar_on("trn3", instruction).interval, 109 / 1.2);
}

TEST(ScalarEngineCost, CopiesOf16BitDoubleOnTrn3) {
    const auto copy = unary(Opcode::TensorCopy, kSbuf, kBf16, kSbuf, kBf16, 1024);
    const auto fp32 = unary(Opcode::TensorCopy, kSbuf, kF32, kSbuf, kF32, 1024);
    const Picoseconds saved = scalar_on("trn3", fp32).interval - scalar_on("trn3", copy).interval;
    expect_near_measured(saved, 512 / 1.2, 0.1);
    EXPECT_EQ(scalar_on("trn2", copy), scalar_on("trn2", fp32));
    EXPECT_EQ(scalar_on("trn3", activation("exp", kSbuf, 1024, kBf16, kBf16)),
              scalar_on("trn3", activation("exp", kSbuf, 1024)));
}

TEST(ActivationTable, IsNotNeededForWhatEverySetHas) {
    for (const char* function : {"copy", "identity", "square", "none", ""}) {
        EXPECT_TRUE(activation_table(function).empty()) << function;
    }
}

TEST(ActivationTable, DiffersBetweenFunctionsThatReload) {
    EXPECT_NE(activation_table("exp"), activation_table("sigmoid"));
    EXPECT_EQ(activation_table("exp"), activation_table("exp"));
}

TEST(ScalarEngineCost, TheParameterOfReluIsAVectorLikeOthers) {
    InstructionTemplate plain = activation("prelu", kSbuf, 512);
    plain.op = Opcode::Activate2;
    const InstructionCost parameter = scalar_on("trn3", with(plain, Role::ReluParam));
    EXPECT_EQ(parameter, scalar_on("trn3", with(plain, Role::Operand0)));
    EXPECT_GT(parameter.interval, scalar_on("trn3", plain).interval);
}

}  // namespace
}  // namespace trnsim::neuron_core
