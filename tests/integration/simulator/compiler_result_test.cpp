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
        return builder.rows(role, tensor, 128, kColumns);
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

/// Loads what every iteration reads twice.
program::Program loaded_twice() {
    test::ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128 * kTrips, kColumns});
    const auto out = builder.output("out", Dtype::Float32, {128, kColumns});
    const auto load = [&](std::uint32_t tile) {
        return builder.add(
            Opcode::DmaCopy,
            {Engine::Dma},
            {builder.whole(Role::Dst, tile), builder.rows(Role::Src, in, 128, kColumns)});
    };
    const auto rows = at({}, affine(0, {128 * kColumns}));
    const auto tile = at(affine(0, {1}));
    builder.loop(kTrips);
    for (const char* name : {"first", "second"}) {
        const auto loaded = builder.tile(name, Space::Sbuf, Dtype::Float32, {128, kColumns});
        builder.alloc(loaded).run(load(loaded), {tile, rows});
        builder.run(builder.copy(out, loaded), {at(), tile});
    }
    return builder.end().build();
}

TEST(CompilerResultTest, LoadsThatAreLeftOutAreCounted) {
    const auto dropped = [](bool drops) {
        return test::run(loaded_twice(),
                         test::chip("trn2"),
                         lowering::Policies{.drop_repeated_loads = drops})
            .compiler->dropped_loads;
    };
    EXPECT_EQ(dropped(false), 0);
    EXPECT_EQ(dropped(true), kTrips);
}

constexpr std::int64_t kBlock = 6;           ///< Tiles that every row of outputs reads.
constexpr std::int64_t kTileColumns = 8192;  ///< 32 KiB; 208 are usable, six and a result are 224.

/// Loads six tiles before the loop that reads all of them in each of so many iterations.
program::Program block_before_a_loop(std::int64_t rows) {
    test::ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128 * kBlock, kTileColumns});
    const auto out = builder.output("out", Dtype::Float32, {128 * rows * kBlock, kTileColumns});
    const auto block = builder.tile("block", Space::Sbuf, Dtype::Float32, {128, kTileColumns});
    const auto row = builder.tile("row", Space::Sbuf, Dtype::Float32, {128, kTileColumns});
    const auto tile_of = [&](Role role, std::uint32_t tensor) {
        return builder.rows(role, tensor, 128, kTileColumns);
    };
    const auto load = builder.add(
        Opcode::DmaCopy, {Engine::Dma}, {builder.whole(Role::Dst, block), tile_of(Role::Src, in)});
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, row, block);
    const auto store = builder.add(
        Opcode::DmaCopy, {Engine::Dma}, {tile_of(Role::Dst, out), builder.whole(Role::Src, row)});
    const std::int64_t tile = 128 * kTileColumns;
    builder.loop(kBlock).alloc(block).run(load, {at(affine(0, {1})), at({}, affine(0, {tile}))});
    builder.end().loop(rows).loop(kBlock).alloc(row);
    builder.run(copy, {at(affine(0, {kBlock, 1})), at(affine(0, {0, 1}))});
    builder.run(store, {at({}, affine(0, {kBlock * tile, tile})), at(affine(0, {kBlock, 1}))});
    builder.end().end();
    return builder.build();
}

TEST(CompilerResultTest, LoadsThatMoveIntoALoopAreNamedAndCounted) {
    const auto run = [](bool sinks, std::int64_t rows) {
        return test::run(
            block_before_a_loop(rows), test::chip("trn2"), lowering::Policies{.sink_loads = sinks});
    };
    const RunResult asked = run(false, 4);
    const RunResult sunk = run(true, 4);
    ASSERT_TRUE(asked.compiler && sunk.compiler);
    EXPECT_EQ(asked.compiler->repeated_loads, 0);
    EXPECT_EQ(sunk.compiler->repeated_loads, 3 * kBlock);
    for (const CompilerResult::Site& site : sunk.compiler->sites) {
        EXPECT_EQ(site.is_sunk, site.name == "block") << site.name;
    }
    EXPECT_TRUE(asked.advice.empty());
    ASSERT_EQ(sunk.advice.size(), 1U);
    EXPECT_EQ(sunk.advice.front().text,
              "each tile is loaded 4 times for want of room in SBUF; keep fewer of them at once");
    const Picoseconds of_once_more = run(true, 2).advice.front().time;
    EXPECT_GT(of_once_more, Picoseconds{});
    EXPECT_EQ(sunk.advice.front().time, 3 * of_once_more) << "the first time is the program's";
}

}  // namespace
}  // namespace trnsim
