// SPDX-License-Identifier: Apache-2.0
// What a result says of the compiler's part: the kernel's calls and what became of them.
#include "support/program_builder.hpp"
#include "support/simulation.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace trnsim {
namespace {

using test::affine;
using test::at;

constexpr std::int64_t kTrips = 16;
constexpr std::int64_t kColumns = 128;

/// Loads, copies and stores a tile per iteration.
program::Program small_tiles() {
    test::ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128, kColumns * kTrips});
    const auto out = builder.output("out", Dtype::Float32, {128, kColumns * kTrips});
    const auto x = builder.tile("x", Space::Sbuf, Dtype::Float32, {128, kColumns});
    const auto y = builder.tile("y", Space::Sbuf, Dtype::Float32, {128, kColumns});
    const auto columns_of = [&](Role role, std::uint32_t tensor) {
        Operand operand = builder.whole(role, tensor);
        operand.pattern = {{kColumns * kTrips, 128}, {1, kColumns}};
        return operand;
    };
    const auto load = builder.add(
        Opcode::DmaCopy, {Engine::Dma}, {builder.whole(Role::Dst, x), columns_of(Role::Src, in)});
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, y, x);
    const auto store = builder.add(
        Opcode::DmaCopy, {Engine::Dma}, {columns_of(Role::Dst, out), builder.whole(Role::Src, y)});
    const auto tile = at(affine(0, {1}));
    const auto columns = at({}, affine(0, {kColumns}));
    builder.loop(kTrips).alloc(x).alloc(y);
    builder.run(load, {tile, columns}).run(copy, {tile, tile}).run(store, {columns, tile}).end();
    return builder.build();
}

TEST(CompilerResultTest, MergedIterationsAreStillTheKernelsCalls) {
    const program::Program program = small_tiles();
    const RunResult apart = test::run(program, test::chip("trn2"));
    const RunResult merged =
        test::run(program, test::chip("trn2"), lowering::Policies{.merge_iterations = true});
    for (const RunResult& result : {apart, merged}) {
        EXPECT_EQ(result.nisa_calls, 3 * kTrips);
        ASSERT_TRUE(result.compiler.has_value());
        EXPECT_EQ(result.compiler->counts.calls, 3 * kTrips);
        EXPECT_EQ(result.memory.hbm_read_bytes, 128 * kColumns * kTrips * 4);
    }
    EXPECT_EQ(apart.compiler->counts.instructions, 3 * kTrips);
    EXPECT_EQ(merged.compiler->counts.instructions, 3 * kTrips / 4);  // 512 columns each.
}

}  // namespace
}  // namespace trnsim
