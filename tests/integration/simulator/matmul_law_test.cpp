// SPDX-License-Identifier: Apache-2.0
// Streams of matmuls take the time that was measured on Trainium2.
#include "support/program_builder.hpp"
#include "support/recorded_timeline.hpp"
#include "support/simulation.hpp"

#include <gtest/gtest.h>

namespace trnsim {
namespace {

using test::affine;
using test::at;

/// Matmuls that alternate between two stationary tiles and all add up into one bank.
program::Program stream(Dtype dtype, std::int64_t moving, std::int64_t matmuls) {
    test::ProgramBuilder builder;
    const auto left = builder.tile("left", Space::Sbuf, dtype, {128, 128});
    const auto right = builder.tile("right", Space::Sbuf, dtype, {128, moving});
    const auto sum = builder.tile("sum", Space::Psum, Dtype::Float32, {128, moving});
    const auto product = builder.matmul(sum, left, right, false);
    builder.alloc(left).alloc(left).alloc(right).alloc(sum);
    builder.loop(matmuls / 2);
    builder.run(product).run(product, {at(), at(affine(1))});
    builder.end();
    return builder.build();
}

/// Nanoseconds of one matmul in the long run: what another `matmuls` of them add.
double steady_ns(Dtype dtype, std::int64_t moving, std::int64_t matmuls, const ChipSpec& chip) {
    const RunResult once = test::run(stream(dtype, moving, matmuls), chip);
    const RunResult twice = test::run(stream(dtype, moving, 2 * matmuls), chip);
    return (twice.total - once.total).nanoseconds() / static_cast<double>(matmuls);
}

TEST(MatmulLaw, WarmBf16MatmulsOf512ColumnsFollowEvery217Ns) {
    // [TRACES-TRN2] 2,048 in 445.0 us.
    EXPECT_NEAR(steady_ns(Dtype::Bfloat16, 512, 2048, test::chip("trn2")), 217.3, 0.01 * 217.3);
}

TEST(MatmulLaw, ColdBf16MatmulsTakeTwiceAsLong) {
    // [FIGURES-TRN2] Every 418 ns until the clock gate opens, at the end of its first window.
    const RunResult few = test::run(stream(Dtype::Bfloat16, 512, 2), test::chip("trn2"));
    const RunResult more = test::run(stream(Dtype::Bfloat16, 512, 6), test::chip("trn2"));
    const double each = (more.total - few.total).nanoseconds() / 4.0;
    EXPECT_NEAR(each, 418.0, 0.05 * 418.0);
    EXPECT_GT(more.tensor.cold, Picoseconds{});
}

TEST(MatmulLaw, TheClockGateCostsALongStreamOneWindow) {
    ChipSpec gated = test::chip("trn2");
    ChipSpec free = gated;
    free.neuron_core.tensor_engine.clock_gate.enabled = false;
    const program::Program program = stream(Dtype::Bfloat16, 512, 2048);
    const Picoseconds lost = test::run(program, gated).total - test::run(program, free).total;
    const double window_ns = 8192 / 2.4;
    EXPECT_GT(lost.nanoseconds(), 0.0);
    EXPECT_LE(lost.nanoseconds(), 1.01 * window_ns);
}

TEST(MatmulLaw, TheFp32TutorialsMatmulsTake28Milliseconds) {
    // [FIGURES-TRN2] 65,536 MATMUL instructions, two for each nc_matmul, in 28.30 ms: 863.7 ns
    // each.
    constexpr std::int64_t kMatmuls = 65'536 / 2;
    const RunResult result = test::run(stream(Dtype::Float32, 512, kMatmuls), test::chip("trn2"));
    const Picoseconds busy = result.total - result.kernel_start - result.kernel_end;
    EXPECT_NEAR(busy.seconds() * 1e3, 28.30, 0.01 * 28.30);
    EXPECT_NEAR(busy.nanoseconds() / static_cast<double>(kMatmuls), 863.7, 0.01 * 863.7);
}

/// A lone product of 128 x 128 by 128 x `moving`.
program::Program alone(Dtype dtype, std::int64_t moving) {
    test::ProgramBuilder builder;
    const auto left = builder.tile("left", Space::Sbuf, dtype, {128, 128});
    const auto right = builder.tile("right", Space::Sbuf, dtype, {128, moving});
    const auto sum = builder.tile("sum", Space::Psum, Dtype::Float32, {128, moving});
    const auto product = builder.matmul(sum, left, right);
    return builder.alloc(left).alloc(right).alloc(sum).run(product).build();
}

/// When its result is visible, from its start.
double isolated_ns(Dtype dtype, std::int64_t moving) {
    const auto matmuls = test::executions(alone(dtype, moving), test::chip("trn2"), "nc_matmul");
    return matmuls.at(0).duration.nanoseconds();
}

TEST(MatmulLaw, ALoneFp32ProductHasTheWeightsOfOnePassInView) {
    // [TRACES-TRN2] From its first LDWEIGHTS 2,074 and 2,077 ns, with a cold array.
    const ChipSpec trn2 = test::chip("trn2");
    const program::Program program = alone(Dtype::Float32, 512);
    const auto load = test::executions(program, trn2, "LoadStationary").at(0);
    const auto product = test::executions(program, trn2, "nc_matmul").at(0);
    const double visible_ns = (product.start + product.duration - load.start).nanoseconds();
    EXPECT_NEAR(visible_ns, 2075.0, 0.05 * 2075.0);
    EXPECT_LT(product.start, load.start + load.duration);
}

TEST(MatmulLaw, ALoneMatmulRunsAtTheColdClock) {
    // [M-VOYAGER] FP32 of few columns is not met: D-20.
    for (const std::int64_t moving : {128, 512}) {
        const double expected = 203.0 + 1.99 / 2.4 * static_cast<double>(moving);
        EXPECT_NEAR(isolated_ns(Dtype::Bfloat16, moving), expected, 0.05 * expected) << moving;
    }
}

TEST(MatmulLaw, WarmFp32MatmulsFollowAtTheLongerOfStreamingAndLoading) {
    // [M-VOYAGER] (max(4 M, 4 x 128) + 24) cycles at 2.4 GHz.
    for (const std::int64_t moving : {128, 256, 512}) {
        const double expected = (4.0 * static_cast<double>(moving) + 24.0) / 2.4;
        EXPECT_NEAR(
            steady_ns(Dtype::Float32, moving, 2048, test::chip("trn2")), expected, 0.05 * expected)
            << moving << " columns";
    }
}

TEST(MatmulLaw, Fp32TransposesFollowEvery109Ns) {
    // [TRACES-TRN2] 261 cycles; M-VOYAGER's probes took 168 ns: D-20.
    const auto program = [](std::int64_t count) {
        test::ProgramBuilder builder;
        const auto data = builder.tile("data", Space::Sbuf, Dtype::Float32, {128, 128});
        const auto dst = builder.tile("dst", Space::Psum, Dtype::Float32, {128, 128});
        const auto transpose = builder.unary(Opcode::NcTranspose, Engine::Tensor, dst, data);
        builder.alloc(data).alloc(data).alloc(dst).alloc(dst).loop(count / 2);
        builder.run(transpose).run(transpose, {at(affine(1)), at(affine(1))}).end();
        return builder.build();
    };
    const ChipSpec trn2 = test::chip("trn2");
    constexpr std::int64_t kCount = 4096;
    const Picoseconds extra =
        test::run(program(2 * kCount), trn2).total - test::run(program(kCount), trn2).total;
    EXPECT_NEAR(extra.nanoseconds() / static_cast<double>(kCount), 109.0, 0.05 * 109.0);
}

TEST(MatmulLaw, FourToSixteenSparsityContractsFourTimesTheRowsInTheSameTime) {
    // [NEURON-CORE-V3] "up to 316 TFLOPS": four times the dense peak.
    const auto program = [](std::int64_t count) {
        test::ProgramBuilder builder;
        const auto left = builder.tile("left", Space::Sbuf, Dtype::Bfloat16, {128, 128});
        const auto tags = builder.tile("tags", Space::Sbuf, Dtype::Uint16, {128, 32});
        const auto right = builder.tile("right", Space::Sbuf, Dtype::Bfloat16, {128, 2048});
        const auto sum = builder.tile("sum", Space::Psum, Dtype::Float32, {128, 512});
        auto dst = builder.whole(Role::Dst, sum);
        dst.access = Access::Accumulate;
        const auto product = builder.add(Opcode::NcMatmulSparse,
                                         {Engine::Tensor},
                                         {dst,
                                          builder.whole(Role::Stationary, left),
                                          builder.whole(Role::Moving, right),
                                          builder.whole(Role::Tags, tags)},
                                         {.start = false, .compress_ratio = 4});
        builder.alloc(left).alloc(left).alloc(tags).alloc(right).alloc(sum).loop(count / 2);
        builder.run(product).run(product, {at(), at(affine(1))}).end();
        return builder.build();
    };
    constexpr std::int64_t kCount = 2048;
    const ChipSpec trn2 = test::chip("trn2");
    const RunResult once = test::run(program(kCount), trn2);
    const RunResult twice = test::run(program(2 * kCount), trn2);
    EXPECT_EQ(once.tensor.macs, kCount * 4 * 128 * 128 * 512);
    EXPECT_NEAR((twice.total - once.total).nanoseconds() / static_cast<double>(kCount),
                steady_ns(Dtype::Bfloat16, 512, kCount, trn2),
                0.1);
}

TEST(MatmulLaw, CountsEveryMac) {
    const RunResult result = test::run(stream(Dtype::Bfloat16, 512, 100), test::chip("trn2"));
    EXPECT_EQ(result.tensor.macs, std::int64_t{100} * 128 * 128 * 512);
    EXPECT_EQ(result.tensor.peak_weighted_macs, result.tensor.macs);
    const RunResult fp32 = test::run(stream(Dtype::Float32, 512, 100), test::chip("trn2"));
    EXPECT_EQ(fp32.tensor.peak_weighted_macs, 4 * result.tensor.macs);
}

}  // namespace
}  // namespace trnsim
