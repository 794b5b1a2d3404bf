// SPDX-License-Identifier: Apache-2.0
// The Tensor Engine's costs against measured intervals, and at their edges.
#include "trnsim/neuron_core/tensor_engine_timing.hpp"

#include "instructions.hpp"

#include <algorithm>

namespace trnsim::neuron_core {
namespace {

using test::chip;
using test::expect_near_measured;
using test::matmul;
using test::transpose;

const TensorEngineSpec& array(const std::string& name) {
    return chip(name).neuron_core.tensor_engine;
}

InstructionCost on_trn2(const InstructionTemplate& instruction, double rate = 1.0) {
    return multiply_moving_cost(array("trn2"), instruction, rate);
}

// Intervals and durations in profiles of real kernels. [TRACES-TRN2]
TEST(TensorEngineTrace, Bf16MatmulOf512ColumnsStartsEvery217nsAndTakes379ns) {
    const InstructionCost cost = on_trn2(matmul(Dtype::Bfloat16, 512));
    EXPECT_EQ(multiply_moving_interval(array("trn2"), matmul(Dtype::Bfloat16, 512)), Cycles{520});
    expect_near_measured(cost.interval, 216.5, 1.0);
    expect_near_measured(cost.done, 379, 1.0);
}

TEST(TensorEngineTrace, Bf16MatmulOf512ColumnsAtTheDividedClockStartsEvery426ns) {
    const InstructionCost cost = on_trn2(matmul(Dtype::Bfloat16, 512), 0.5);
    expect_near_measured(cost.interval, 426, 2.0);
    expect_near_measured(cost.done, 630, 2.0);
}

TEST(TensorEngineTrace, Bf16TransposeStartsEvery56nsAndTakes219ns) {
    const InstructionCost cost = on_trn2(transpose(Dtype::Bfloat16, 128));
    expect_near_measured(cost.interval, 56);
    expect_near_measured(cost.done, 219);
    const InstructionCost cold = on_trn2(transpose(Dtype::Bfloat16, 128), 0.5);
    expect_near_measured(cold.interval, 107);
    expect_near_measured(cold.done, 310);
}

TEST(TensorEngineTrace, Fp32MatmulOf512ColumnsStartsEvery429nsPerPass) {
    const InstructionTemplate fp32 = matmul(Dtype::Float32, 512);
    EXPECT_EQ(passes(array("trn2"), fp32), 2);
    EXPECT_EQ(multiply_moving_interval(array("trn2"), fp32), Cycles{2L * 1032});
    expect_near_measured(on_trn2(fp32).interval, 2 * 429, 1.0);
    expect_near_measured(on_trn2(fp32, 0.5).interval, 2 * 853, 1.0);
}

TEST(TensorEngineTrace, Fp32TransposeStartsEvery112nsAndTakes274ns) {
    const InstructionTemplate fp32 = transpose(Dtype::Float32, 128);
    EXPECT_EQ(passes(array("trn2"), fp32), 1);
    expect_near_measured(on_trn2(fp32).interval, 112);
    expect_near_measured(on_trn2(fp32).done, 274);
    expect_near_measured(on_trn2(fp32, 0.5).interval, 213);
    expect_near_measured(on_trn2(fp32, 0.5).done, 420);
}

TEST(TensorEngineTrace, LoadStationaryStartsEvery15nsForBf16And57nsForFp32Transposes) {
    const auto time = [](const InstructionTemplate& instruction) {
        return to_picoseconds(load_stationary_interval(array("trn2"), instruction),
                              array("trn2").clock_ghz);
    };
    expect_near_measured(time(transpose(Dtype::Bfloat16, 128)), 15);
    expect_near_measured(time(transpose(Dtype::Float32, 128)), 57);
}

// Printed in AWS's documentation. [FIGURES-TRN2]
TEST(TensorEngineFigure, Fp32MatmulOfTheTutorialTakes864ns) {
    expect_near_measured(on_trn2(matmul(Dtype::Float32, 512)).interval, 863.7, 1.0);
}

TEST(TensorEngineFigure, StreamOf2048Bf16MatmulsReaches98PercentOfPeak) {
    const Picoseconds stream = 2048 * on_trn2(matmul(Dtype::Bfloat16, 512)).interval;
    expect_near_measured(stream, 2048 * 217.3, 1.0);
    const double flops = 2048 * 2.0 * static_cast<double>(macs(matmul(Dtype::Bfloat16, 512)));
    EXPECT_NEAR(flops / stream.seconds() / peak_bf16_flops(array("trn2")), 0.98, 0.01);
}

TEST(TensorEngineFigure, Bf16MatmulOf128ColumnsOnTrn1Takes219ns) {
    expect_near_measured(multiply_moving_cost(array("trn1"), matmul(Dtype::Bfloat16, 128)).done,
                         219);
}

TEST(TensorEngineFigure, ShortProductsOnTrn1FollowEvery64Cycles) {  // [NKI-PERF]
    for (const std::int64_t n : {1, 8, 32}) {
        EXPECT_EQ(multiply_moving_interval(array("trn1"), matmul(Dtype::Bfloat16, n)), Cycles{64})
            << n;
    }
}

TEST(TensorEngineFigure, LongProductsOnTrn1Sustain86PercentOfThePeak) {  // [M-TRN1]
    const auto interval = multiply_moving_interval(array("trn1"), matmul(Dtype::Bfloat16, 512));
    EXPECT_NEAR(512.0 / static_cast<double>(interval.value), 0.86, 0.002);
}

TEST(TensorEngineFigure, PassesOfFp32OnTrn1TakeTheirColumnsAndAFixedPart) {  // [ACCURACY-STUDY]
    EXPECT_EQ(multiply_moving_interval(array("trn1"), matmul(Dtype::Float32, 512)),
              Cycles{4 * 512 + 600});
}

TEST(TensorEngineTiming, PassesShareAnIntervalEvenly) {
    EXPECT_EQ(pass_time(Picoseconds{216'666}, 1), Picoseconds{216'666});
    EXPECT_EQ(pass_time(Picoseconds{216'666}, 2), Picoseconds{108'333});
}

// Laws of isolated instructions, which meet a cold array. [M-VOYAGER]
TEST(TensorEngineLaw, IsolatedBf16MatmulIsReproducedWithinFivePercent) {
    for (const std::int64_t n : {128, 512}) {
        expect_near_measured(on_trn2(matmul(Dtype::Bfloat16, n), 0.5).done,
                             203 + 1.99 / 2.4 * static_cast<double>(n));
    }
}

TEST(TensorEngineLaw, Fp32StreamIntervalIsReproducedWithinFivePercent) {
    for (const std::int64_t n : {128, 256, 512}) {
        const InstructionTemplate fp32 = matmul(Dtype::Float32, n);
        const Cycles pair = std::max(multiply_moving_interval(array("trn2"), fp32),
                                     load_stationary_interval(array("trn2"), fp32));
        expect_near_measured(to_picoseconds(pair, array("trn2").clock_ghz),
                             (std::max(4.0 * static_cast<double>(n), 4.0 * 128) + 24) / 2.4);
    }
}

TEST(TensorEngineCost, MovingTilesShorterThan64CostAs64) {
    EXPECT_EQ(on_trn2(matmul(Dtype::Bfloat16, 1)), on_trn2(matmul(Dtype::Bfloat16, 64)));
    EXPECT_LT(on_trn2(matmul(Dtype::Bfloat16, 64)).interval,
              on_trn2(matmul(Dtype::Bfloat16, 65)).interval);
}

TEST(TensorEngineCost, IsIndependentOfRowsAndStationaryColumns) {
    EXPECT_EQ(on_trn2(matmul(Dtype::Bfloat16, 512, 1, 1)), on_trn2(matmul(Dtype::Bfloat16, 512)));
}

TEST(TensorEngineCost, OnezeroHalvesFp32) {
    InstructionTemplate hinted = matmul(Dtype::Float32, 512);
    hinted.attributes.onezero = OneZero::Moving;
    EXPECT_EQ(2 * on_trn2(hinted).interval, on_trn2(matmul(Dtype::Float32, 512)).interval);
    EXPECT_EQ(passes(array("trn1"), hinted), 2);
}

TEST(TensorEngineCost, Tf32RunsAtTheBf16Rate) {
    EXPECT_EQ(on_trn2(matmul(Dtype::Tfloat32, 512)), on_trn2(matmul(Dtype::Bfloat16, 512)));
}

TEST(TensorEngineCost, OneFp32OperandTakesFp32Passes) {
    auto mixed = matmul(Dtype::Tfloat32, 512);
    mixed.operands.back() = tile(Role::Moving, kSbuf, kF32, 512);
    EXPECT_EQ(on_trn2(mixed), on_trn2(matmul(kF32, 512)));
}

TEST(TensorEngineCost, DoubleRowDoublesTheWorkOfTheSameTime) {
    InstructionTemplate pair = matmul(Dtype::Float8E4m3, 1024, 256);
    pair.attributes.perf_mode = MatmulPerfMode::DoubleRow;
    EXPECT_EQ(on_trn2(pair), on_trn2(matmul(Dtype::Bfloat16, 512)));
    EXPECT_EQ(macs(pair), 2 * macs(matmul(Dtype::Bfloat16, 512)));
}

TEST(TensorEngineCost, MxQuadruplesTheWorkOfTheSameTime) {
    InstructionTemplate mx = matmul(Dtype::Float8E4m3fnX4, 512);
    mx.op = Opcode::NcMatmulMx;
    const TensorEngineSpec& trn3 = array("trn3");
    EXPECT_EQ(multiply_moving_interval(trn3, mx),
              multiply_moving_interval(trn3, matmul(Dtype::Bfloat16, 512)));
    EXPECT_EQ(macs(mx), std::int64_t{512} * 128 * 512);
    EXPECT_DOUBLE_EQ(flops_weight(trn3, mx), 0.25);
}

/// A product with a sparse stationary tile of 128 x 128 and a moving tile of `ratio` x 128 x 512.
InstructionTemplate sparse_matmul(std::int64_t ratio) {
    InstructionTemplate sparse = matmul(Dtype::Bfloat16, 512 * ratio);
    sparse.op = Opcode::NcMatmulSparse;
    sparse.attributes.compress_ratio = ratio;
    sparse.operands.push_back(test::tile(Role::Tags, Space::Sbuf, Dtype::Uint16, 32));
    return sparse;
}

TEST(TensorEngineCost, SparsityMultipliesTheWorkOfTheSameTime) {
    const InstructionTemplate dense = matmul(Dtype::Bfloat16, 512);
    for (const std::int64_t ratio : {2, 3, 4}) {
        const InstructionTemplate sparse = sparse_matmul(ratio);
        EXPECT_EQ(on_trn2(sparse), on_trn2(dense));
        EXPECT_EQ(macs(sparse), ratio * macs(dense));
        EXPECT_DOUBLE_EQ(flops_weight(array("trn2"), sparse), 1.0 / static_cast<double>(ratio));
        EXPECT_EQ(multiply_moving_busy_columns(array("trn2"), sparse),
                  multiply_moving_busy_columns(array("trn2"), dense));
    }
}

TEST(TensorEngineCost, TagsOfASparseTileAreLoadedAsColumns) {
    EXPECT_EQ(load_stationary_interval(array("trn2"), sparse_matmul(4)), Cycles{32 + 8 + 4});
}

// "up to 316 TFLOPS" and "up to 315 TFLOPS". [NEURON-CORE-V3] [NEURON-CORE-V4]
TEST(TensorEngineFigure, SparsePeakIsThePublishedOne) {
    for (const auto& [chip, published] : {std::pair{"trn2", 316e12}, {"trn3", 315e12}}) {
        const TensorEngineSpec& spec = array(chip);
        EXPECT_NEAR(
            peak_bf16_flops(spec) * static_cast<double>(spec.sparse_rows_per_pe) / published,
            1.0,
            0.01);
    }
    EXPECT_EQ(array("trn1").sparse_rows_per_pe, 0);
}

/// A matmul whose moving tile has elements that far apart.
InstructionTemplate strided_matmul(Dtype dtype, std::int64_t stride) {
    InstructionTemplate instruction = matmul(dtype, 512);
    instruction.operands.back() = test::tile(Role::Moving, Space::Sbuf, dtype, 512, 128, stride);
    return instruction;
}

TEST(TensorEngineCost, LongMovingStridesHalveTheRate) {
    const auto strided = [](Dtype dtype, std::int64_t stride) {
        return multiply_moving_interval(array("trn2"), strided_matmul(dtype, stride));
    };
    EXPECT_EQ(strided(Dtype::Bfloat16, 4), Cycles{520});
    EXPECT_EQ(strided(Dtype::Bfloat16, 5), Cycles{1032});
    EXPECT_EQ(strided(Dtype::Float32, 2), Cycles{2064});
    EXPECT_EQ(strided(Dtype::Float32, 3), Cycles{4112});
}

TEST(TensorEngineCost, StationaryLoadsFourColumnsACycle) {
    EXPECT_EQ(load_stationary_interval(array("trn2"), matmul(Dtype::Bfloat16, 512, 128)),
              Cycles{32 + 4});
    EXPECT_EQ(load_stationary_interval(array("trn2"), matmul(Dtype::Bfloat16, 512, 1)),
              Cycles{1 + 4});
    EXPECT_EQ(load_stationary_interval(array("trn2"), matmul(Dtype::Float32, 512, 128)),
              Cycles{2L * (256 + 4)});
}

TEST(TensorEngineCost, TransposeStreamsOneColumnPerPartition) {
    const MatmulShape shape = matmul_shape(transpose(Dtype::Bfloat16, 96, 64));
    EXPECT_EQ(shape.rows, 64);
    EXPECT_EQ(shape.stationary_columns, 96);
    EXPECT_EQ(shape.moving_columns, 64);
    EXPECT_TRUE(shape.is_transpose);
}

TEST(TensorEngineCost, MatmulMarkedAsTransposeCostsAsOne) {
    InstructionTemplate marked = matmul(Dtype::Float32, 128);
    marked.attributes.is_transpose = true;
    EXPECT_EQ(on_trn2(marked), on_trn2(transpose(Dtype::Float32, 128)));
    EXPECT_EQ(passes(array("trn1"), marked), array("trn1").fp32_passes);
}

TEST(TensorEngineCost, TransposesOverlapOnTrn3) {
    const InstructionTemplate bf16 = transpose(Dtype::Bfloat16, 128);
    EXPECT_EQ(multiply_moving_interval(array("trn3"), bf16), Cycles{64 + 4});
    EXPECT_EQ(multiply_moving_interval(array("trn2"), bf16), Cycles{128 + 4});
}

TEST(TensorEngineCost, BusyColumnsExcludeOverheadAndPadding) {
    EXPECT_EQ(multiply_moving_busy_columns(array("trn2"), matmul(Dtype::Bfloat16, 512)), 512);
    EXPECT_EQ(multiply_moving_busy_columns(array("trn2"), matmul(Dtype::Bfloat16, 8)), 8);
    EXPECT_EQ(multiply_moving_busy_columns(array("trn2"), matmul(Dtype::Float32, 512)), 2048);
    EXPECT_EQ(multiply_moving_busy_columns(array("trn2"), transpose(Dtype::Float32, 128)), 256);
}

TEST(TensorEngineCost, StreamsOfLongStridesKeepTheArrayAsBusyAsOthers) {  // [M-VOYAGER]
    for (const auto& [dtype, stride] : {std::pair{Dtype::Float32, 3}, {Dtype::Bfloat16, 5}}) {
        EXPECT_EQ(multiply_moving_busy_columns(array("trn2"), strided_matmul(dtype, stride)),
                  2 * multiply_moving_busy_columns(array("trn2"), strided_matmul(dtype, 1)));
    }
}

TEST(TensorEngineCost, FlopsWeighAsNeuronExplorerWeighsThem) {
    EXPECT_DOUBLE_EQ(flops_weight(array("trn2"), matmul(Dtype::Bfloat16, 512)), 1.0);
    EXPECT_DOUBLE_EQ(flops_weight(array("trn2"), matmul(Dtype::Float32, 512)), 4.0);
    EXPECT_DOUBLE_EQ(flops_weight(array("trn1"), matmul(Dtype::Float32, 512)), 4.0);
    EXPECT_DOUBLE_EQ(flops_weight(array("trn1"), matmul(Dtype::Float8E4m3, 512)), 1.0);
    EXPECT_DOUBLE_EQ(flops_weight(array("trn2"), matmul(Dtype::Float8E4m3, 512)), 0.5);
}

TEST(TensorEngineCost, PeakIsGeometryTimesClock) {
    EXPECT_NEAR(peak_bf16_flops(array("trn1")), 91.75e12, 0.01e12);
    EXPECT_NEAR(peak_bf16_flops(array("trn2")), 78.64e12, 0.01e12);
    EXPECT_NEAR(peak_bf16_flops(array("trn3")), 78.64e12, 0.01e12);
}

TEST(TensorEngineCost, SustainedBf16RateOfTrn1Is86PercentOfPeak) {
    const Cycles interval = multiply_moving_interval(array("trn1"), matmul(Dtype::Bfloat16, 512));
    EXPECT_NEAR(512.0 / static_cast<double>(interval.value), 0.86, 0.005);
}

InstructionTemplate on_tile(std::int32_t row,
                            std::int32_t column,
                            std::int32_t rows,
                            std::int32_t columns) {
    InstructionTemplate instruction = matmul(Dtype::Bfloat16, 512);
    instruction.attributes.tile_position = {{row, column}};
    instruction.attributes.tile_size = {{rows, columns}};
    return instruction;
}

TEST(PeTiles, CoverTheirBlocksOfTheArray) {
    const TensorEngineSpec& spec = array("trn2");
    EXPECT_EQ(pe_blocks(spec, matmul(Dtype::Bfloat16, 512)), kWholeArray);
    EXPECT_EQ(pe_blocks(spec, on_tile(0, 0, 128, 128)), kWholeArray);
    EXPECT_EQ(pe_blocks(spec, on_tile(0, 0, 32, 128)), 0x000F);
    EXPECT_EQ(pe_blocks(spec, on_tile(64, 0, 64, 128)), 0xFF00);
    EXPECT_EQ(pe_blocks(spec, on_tile(0, 96, 128, 32)), 0x8888);
    EXPECT_EQ(pe_blocks(spec, on_tile(32, 64, 32, 64)), 0x00C0);
}

TEST(PeTiles, AreIssuedAtTheLeastIntervalAndStreamAsLongAsEver) {
    const TensorEngineSpec& spec = array("trn2");
    EXPECT_EQ(multiply_issue_interval(spec, on_tile(0, 0, 32, 128)), Cycles{64});
    EXPECT_EQ(multiply_moving_interval(spec, on_tile(0, 0, 32, 128)), Cycles{520});
    EXPECT_EQ(multiply_issue_interval(spec, matmul(Dtype::Float32, 512)), Cycles{2L * 64});
}

TEST(PeTiles, WarmTheArrayByTheirShareOfIt) {
    const TensorEngineSpec& spec = array("trn2");
    EXPECT_EQ(multiply_moving_busy_columns(spec, on_tile(0, 0, 32, 128)), 128);
    EXPECT_EQ(multiply_moving_busy_columns(spec, on_tile(0, 0, 32, 32)), 32);
}

TEST(PeTiles, HoldWeightsInAShareOfTheirOwnRows) {
    const TensorEngineSpec& spec = array("trn2");
    InstructionTemplate instruction = matmul(Dtype::Bfloat16, 512, 32, 16);
    EXPECT_EQ(row_share(spec, instruction), 0.125);
    instruction.attributes.tile_position = {{0, 0}};
    instruction.attributes.tile_size = {{32, 64}};
    EXPECT_EQ(row_share(spec, instruction), 0.5);
}

TEST(RowShare, OfALargerArrayIsNoSmallerForTheSameWork) {
    TensorEngineSpec spec = array("trn2");
    spec.pe_rows = 256;
    EXPECT_EQ(row_share(spec, matmul(Dtype::Bfloat16, 512, 128, 32)), 0.25);
    EXPECT_EQ(row_share(spec, matmul(Dtype::Bfloat16, 512, 128, 128)), 1.0);
    EXPECT_EQ(row_share(spec, matmul(Dtype::Bfloat16, 512, 128, 256)), 1.0);
    spec.pe_rows = 64;
    EXPECT_EQ(row_share(spec, matmul(Dtype::Bfloat16, 512, 128, 32)), 0.5)
        << "a smaller one is full";
}

}  // namespace
}  // namespace trnsim::neuron_core
