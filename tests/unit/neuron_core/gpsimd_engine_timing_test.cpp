// SPDX-License-Identifier: Apache-2.0
// The GpSimd Engine's costs against a measured law and the published formulas.
#include "trnsim/neuron_core/gpsimd_engine_timing.hpp"

#include "instructions.hpp"

namespace trnsim::neuron_core {
namespace {

using test::chip;
using test::kF32;
using test::kSbuf;
using test::make;
using test::tile;
using test::unary;

InstructionCost gpsimd_on_trn2(const InstructionTemplate& instruction) {
    return gpsimd_engine_cost(chip("trn2").neuron_core.gpsimd_engine, instruction);
}

Picoseconds gpsimd_cycles(std::int64_t count) {
    return to_picoseconds(Cycles{count}, chip("trn2").neuron_core.gpsimd_engine.clock_ghz);
}

InstructionTemplate gather(Dtype dtype, std::int64_t per_index, std::int64_t indices) {
    Attributes attributes;
    attributes.elements_per_index = per_index;
    attributes.indices = indices;
    return make(Opcode::LocalGather,
                {tile(Role::Dst, kSbuf, dtype, per_index * indices),
                 tile(Role::Data, kSbuf, dtype, 4096),
                 tile(Role::Index, kSbuf, Dtype::Uint16, indices / 16)},
                attributes);
}

TEST(GpsimdEngineLaw, AffineSelectIsReproducedWithinFivePercent) {  // [M-VOYAGER]
    test::expect_law(
        {"AffineSelect",
         177,
         0.846,
         {64, 256, 1024},
         [](auto n) { return unary(Opcode::AffineSelect, kSbuf, kF32, kSbuf, kF32, n); }},
        gpsimd_on_trn2);
}

TEST(GpsimdEngineCost, IotaTakes150PlusN) {
    EXPECT_EQ(
        gpsimd_on_trn2(make(Opcode::Iota, {tile(Role::Dst, kSbuf, Dtype::Int32, 512)})).interval,
        gpsimd_cycles(150 + 512));
}

TEST(GpsimdEngineCost, LocalGatherTakes8CyclesForSingleFp32And1Point22In32s) {
    EXPECT_EQ(gpsimd_on_trn2(gather(kF32, 1, 512)).interval, gpsimd_cycles(150 + 512 * 8));
    EXPECT_EQ(gpsimd_on_trn2(gather(kF32, 32, 16)).interval, gpsimd_cycles(150 + 624));
}

TEST(GpsimdEngineCost, LocalGatherOf16BitPairsPacksTwoInACycle) {
    EXPECT_EQ(gpsimd_on_trn2(gather(Dtype::Bfloat16, 2, 256)).interval,
              gpsimd_cycles(150 + 512 * 9 / 4));
    EXPECT_EQ(gpsimd_on_trn2(gather(Dtype::Bfloat16, 1, 512)).interval,
              gpsimd_cycles(150 + 512 * 8));
}

TEST(GpsimdEngineCost, NGatherWorksInGroupsOf512) {
    const auto n_gather = [](std::int64_t outputs) {
        return make(Opcode::NcNGather,
                    {tile(Role::Dst, kSbuf, kF32, outputs),
                     tile(Role::Data, kSbuf, kF32, 2048),
                     tile(Role::Index, kSbuf, Dtype::Uint32, outputs)});
    };
    EXPECT_EQ(gpsimd_on_trn2(n_gather(512)).interval, gpsimd_cycles(150 + 1024));
    EXPECT_EQ(gpsimd_on_trn2(n_gather(513)).interval, gpsimd_cycles(2L * (150 + 1024)));
}

TEST(GpsimdEngineCost, TopkTakes4CyclesPerElementOfItsSnakeAndOnePerResult) {
    Attributes attributes;
    attributes.k = 64;
    auto topk =
        unary(Opcode::Topk, kSbuf, Dtype::Bfloat16, kSbuf, Dtype::Bfloat16, 100, attributes);
    EXPECT_EQ(gpsimd_on_trn2(topk).interval, gpsimd_cycles(150 + 4 * 1600 + 64));
    topk.attributes.n = 42;
    EXPECT_EQ(gpsimd_on_trn2(topk).interval, gpsimd_cycles(150 + 4 * 42 + 64));
}

TEST(GpsimdEngineCost, SearchesTakeThreeCyclesPerElement) {
    for (const Opcode op : {Opcode::SequenceBounds, Opcode::NonzeroWithCount}) {
        EXPECT_EQ(gpsimd_on_trn2(unary(op, kSbuf, kF32, kSbuf, kF32, 200)).interval,
                  gpsimd_cycles(150 + 3 * 200));
    }
}

TEST(GpsimdEngineCost, RandomNumbersTake8CyclesEach) {  // [NKI-LIBRARY-RNG]
    EXPECT_EQ(
        gpsimd_on_trn2(make(Opcode::Rng, {tile(Role::Dst, kSbuf, Dtype::Int32, 416)})).interval,
        gpsimd_cycles(150 + 8 * 416));
}

TEST(GpsimdEngineCost, AReductionOverPartitionsTakes16CyclesPerElement) {
    EXPECT_EQ(gpsimd_on_trn2(unary(Opcode::TensorPartitionReduce, kSbuf, kF32, kSbuf, kF32, 200))
                  .interval,
              gpsimd_cycles(150 + 16 * 200));
}

TEST(GpsimdEngineCost, AStateOfRandomNumbersStreamsNothing) {
    for (const Opcode op : {Opcode::RandGetState, Opcode::RandSetState}) {
        EXPECT_EQ(gpsimd_on_trn2(unary(op, kSbuf, kF32, kSbuf, kF32, 6)).streaming, Picoseconds{});
    }
}

TEST(GpsimdEngineCost, RsqrtTakesFourTimesAsLongAsACopy) {
    const Picoseconds start = gpsimd_cycles(150);
    const auto time = [&](Opcode op) {
        return gpsimd_on_trn2(unary(op, kSbuf, kF32, kSbuf, kF32, 1200)).interval - start;
    };
    EXPECT_EQ(time(Opcode::TensorScalar), 4 * time(Opcode::TensorCopy));
}

}  // namespace
}  // namespace trnsim::neuron_core
