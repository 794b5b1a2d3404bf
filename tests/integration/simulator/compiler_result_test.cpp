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

constexpr std::int64_t kBlock = 6;  ///< Tiles that every row of outputs reads.
constexpr std::int64_t kRows = 4;
constexpr std::int64_t kTileColumns = 8192;  ///< 32 KiB; 208 are usable, six and a result are 224.

/// Loads six tiles before the loop that reads all of them in each of four iterations.
program::Program block_before_a_loop() {
    test::ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128 * kBlock, kTileColumns});
    const auto out = builder.output("out", Dtype::Float32, {128 * kRows * kBlock, kTileColumns});
    const auto block = builder.tile("block", Space::Sbuf, Dtype::Float32, {128, kTileColumns});
    const auto row = builder.tile("row", Space::Sbuf, Dtype::Float32, {128, kTileColumns});
    const auto tile_of = [&](Role role, std::uint32_t tensor) {
        Operand operand = builder.whole(role, tensor);
        operand.pattern = {{kTileColumns, 128}, {1, kTileColumns}};
        return operand;
    };
    const auto load = builder.add(
        Opcode::DmaCopy, {Engine::Dma}, {builder.whole(Role::Dst, block), tile_of(Role::Src, in)});
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, row, block);
    const auto store = builder.add(
        Opcode::DmaCopy, {Engine::Dma}, {tile_of(Role::Dst, out), builder.whole(Role::Src, row)});
    const std::int64_t tile = 128 * kTileColumns;
    builder.loop(kBlock).alloc(block).run(load, {at(affine(0, {1})), at({}, affine(0, {tile}))});
    builder.end().loop(kRows).loop(kBlock).alloc(row);
    builder.run(copy, {at(affine(0, {kBlock, 1})), at(affine(0, {0, 1}))});
    builder.run(store, {at({}, affine(0, {kBlock * tile, tile})), at(affine(0, {kBlock, 1}))});
    builder.end().end();
    return builder.build();
}

TEST(CompilerResultTest, LoadsThatMoveIntoALoopAreNamedAndCounted) {
    const program::Program program = block_before_a_loop();
    const auto run = [&](bool sinks) {
        return test::run(program, test::chip("trn2"), lowering::Policies{.sink_loads = sinks});
    };
    const RunResult asked = run(false);
    const RunResult sunk = run(true);
    ASSERT_TRUE(asked.compiler && sunk.compiler);
    EXPECT_EQ(asked.compiler->repeated_loads, 0);
    EXPECT_EQ(sunk.compiler->repeated_loads, (kRows - 1) * kBlock);
    for (const CompilerResult::Site& site : sunk.compiler->sites) {
        EXPECT_EQ(site.is_sunk, site.name == "block") << site.name;
    }
    EXPECT_TRUE(asked.advice.empty());
    ASSERT_EQ(sunk.advice.size(), 1U);
    EXPECT_EQ(sunk.advice.front().text,
              "each tile is loaded 4 times for want of room in SBUF; keep fewer of them at once");
    EXPECT_GT(sunk.advice.front().time, Picoseconds{});
}

}  // namespace
}  // namespace trnsim
