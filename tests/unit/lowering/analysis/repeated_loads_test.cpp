// SPDX-License-Identifier: Apache-2.0
// What an iteration loads twice is loaded once, and nothing else changes.
#include "trnsim/lowering/analysis/repeated_loads.hpp"

#include "support/program_builder.hpp"
#include "symbolic_values.hpp"
#include "trnsim/lowering/policies.hpp"
#include "trnsim/program/cursor.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace trnsim::lowering {
namespace {

using program::Program;
using test::affine;
using test::at;

constexpr std::int64_t kBlockRows = 128;
constexpr std::int64_t kBlockColumns = 64;
constexpr std::int64_t kPartColumns = 16;
constexpr std::int64_t kBlockCount = 3;
constexpr std::int64_t kStart = 5;  ///< Where the first block is in the tensor.

/// In each of three iterations a block of rows is loaded into x, used, and again into y.
struct Blocks {
    test::ProgramBuilder builder;
    std::uint32_t in =
        builder.input("in", Dtype::Float32, {(kBlockCount + 1) * kBlockRows, kBlockColumns});
    std::uint32_t out =
        builder.output("out", Dtype::Float32, {kBlockCount * kBlockRows, kBlockColumns});
    std::uint32_t x = builder.tile("x", Space::Sbuf, Dtype::Float32, {kBlockRows, kBlockColumns});
    std::uint32_t y = builder.tile("y", Space::Sbuf, Dtype::Float32, {kBlockRows, kBlockColumns});
    std::uint32_t part =
        builder.tile("part", Space::Sbuf, Dtype::Float32, {kBlockRows, kPartColumns});
    std::uint32_t result =
        builder.tile("result", Space::Sbuf, Dtype::Float32, {kBlockRows, kPartColumns});

    [[nodiscard]] Operand rows_of(Role role, std::uint32_t buffer, std::int64_t columns) const {
        return builder.rows(role, buffer, kBlockRows, columns);
    }
    std::uint32_t load(std::uint32_t tile, std::int64_t columns) {
        return builder.add(Opcode::DmaCopy,
                           {Engine::Dma},
                           {builder.whole(Role::Dst, tile), rows_of(Role::Src, in, columns)});
    }
    std::uint32_t first(std::uint32_t tile) {
        return builder.unary(Opcode::Reciprocal, Engine::Vector, tile, tile);
    }
    /// The first columns of a tile, as the result.
    std::uint32_t take(std::uint32_t tile) {
        return builder.add(
            Opcode::TensorCopy,
            {Engine::Vector},
            {builder.whole(Role::Dst, result), builder.part(Role::Data, tile, kPartColumns)});
    }
    std::uint32_t store() {
        return builder.add(
            Opcode::DmaCopy,
            {Engine::Dma},
            {rows_of(Role::Dst, out, kPartColumns), builder.whole(Role::Src, result)});
    }
};

/// Block by block; `each` is put behind the first load of an iteration.
template <typename F>
Program of_blocks(F each) {
    Blocks blocks;
    const auto load = blocks.load(blocks.x, kBlockColumns);
    blocks.builder.alloc(blocks.result).loop(kBlockCount).alloc(blocks.x);
    blocks.builder.run(load,
                       {at(affine(0, {1})), at({}, affine(kStart, {kBlockRows * kBlockColumns}))});
    each(blocks);
    Program program = blocks.builder.end().build();
    for (InstructionTemplate& instruction : program.templates) {
        if (instruction.op ==
            Opcode::DmaCopy) {  // Formulas tell instructions apart by their lines.
            instruction.source = {{.file = 0, .line = 7}};
        }
    }
    return program;
}

/// Loads the block again, from a column on, and stores some of it.
void load_again(Blocks& blocks, std::int64_t column = 0) {
    const auto load = blocks.load(blocks.y, kBlockColumns);
    const auto take = blocks.take(blocks.y);
    const auto store = blocks.store();
    blocks.builder.alloc(blocks.y)
        .run(load,
             {at(affine(0, {1})), at({}, affine(kStart + column, {kBlockRows * kBlockColumns}))})
        .run(take, {at(), at(affine(0, {1}), affine(8))})
        .run(store, {at({}, affine(0, {kBlockRows * kBlockColumns})), at()});
}

/// Loads parts of the block again, one with each iteration of an inner loop, from a column on.
void load_parts(Blocks& blocks, std::int64_t column = 0) {
    const auto load = blocks.load(blocks.part, kPartColumns);
    const auto take = blocks.take(blocks.part);
    const auto store = blocks.store();
    const program::Affine number = affine(0, {3, 1});
    blocks.builder.loop(3)
        .alloc(blocks.part)
        .run(load,
             {at(number),
              at({}, affine(kStart + column, {kBlockRows * kBlockColumns, kPartColumns}))})
        .run(take, {at(), at(number)})
        .run(store, {at({}, affine(0, {kBlockRows * kBlockColumns, kPartColumns})), at()})
        .end();
}

std::int64_t loads(const Program& program, std::uint32_t from) {
    std::int64_t count = 0;
    program::Cursor cursor(program);
    while (const program::Step* step = cursor.next()) {
        if (!step->is_alloc) {
            const auto& operands = program.templates[program.runs[step->run].instruction].operands;
            count += operands.size() == 2 && operands[1].buffer == from ? 1 : 0;
        }
    }
    return count;
}

void expect_one_load_per_block(const Program& program, std::int64_t dropped) {
    const Program after = drop_repeated_loads(program);
    EXPECT_EQ(loads(program, 0), kBlockCount + dropped);
    EXPECT_EQ(loads(after, 0), kBlockCount);
    EXPECT_EQ(after.instruction_count, program.instruction_count - dropped);
    EXPECT_EQ(test::symbolic_values(after), test::symbolic_values(program));
    EXPECT_EQ(drop_repeated_loads(after), after);
}

TEST(RepeatedLoadsTest, ABlockIsLoadedOnceHoweverOftenAnIterationAsksForIt) {
    expect_one_load_per_block(of_blocks([](Blocks& blocks) { load_again(blocks); }), kBlockCount);
}

TEST(RepeatedLoadsTest, OnlyTheOldCompilersMiddleEndLeavesThemOut) {
    EXPECT_TRUE(default_policies("neuronxcc.nki").drop_repeated_loads);
    EXPECT_FALSE(default_policies("neuronxcc.nki.as_written").drop_repeated_loads);
    EXPECT_FALSE(default_policies("nki").drop_repeated_loads);
}

TEST(RepeatedLoadsTest, PartsOfABlockAreReadWhereTheyAreInIt) {
    expect_one_load_per_block(of_blocks([](Blocks& blocks) { load_parts(blocks); }),
                              3 * kBlockCount);
    expect_one_load_per_block(of_blocks([](Blocks& blocks) { load_parts(blocks, kPartColumns); }),
                              3 * kBlockCount);
}

TEST(RepeatedLoadsTest, WhatTheFirstLoadDoesNotBringIsLoaded) {
    for (const std::int64_t column : {kPartColumns + 1, -1L}) {
        const Program parts = of_blocks([&](Blocks& blocks) { load_parts(blocks, column); });
        EXPECT_EQ(drop_repeated_loads(parts), parts) << column;
    }
    const Program shifted = of_blocks([](Blocks& blocks) { load_again(blocks, 1); });
    EXPECT_EQ(drop_repeated_loads(shifted), shifted);
}

TEST(RepeatedLoadsTest, WhatAnotherIterationHasLoadedIsLoadedAgain) {
    const Program program = of_blocks([](Blocks& blocks) {
        const auto load = blocks.load(blocks.y, kBlockColumns);
        blocks.builder.alloc(blocks.y).run(load, {at(affine(0, {1})), at()});
        blocks.builder.run(blocks.take(blocks.y), {at(), at(affine(0, {1}))});
    });
    EXPECT_EQ(drop_repeated_loads(program), program) << "always the first block";
}

TEST(RepeatedLoadsTest, TilesThatAreWrittenAreTilesOfTheirOwn) {
    for (const bool is_second : {false, true}) {
        const Program program = of_blocks([&](Blocks& blocks) {
            if (!is_second) {
                blocks.builder.run(blocks.first(blocks.x),
                                   {at(affine(0, {1})), at(affine(0, {1}))});
            }
            load_again(blocks);
            if (is_second) {
                blocks.builder.run(blocks.first(blocks.y),
                                   {at(affine(0, {1})), at(affine(0, {1}))});
            }
        });
        EXPECT_EQ(drop_repeated_loads(program), program);
    }
}

TEST(RepeatedLoadsTest, WhatTheProgramWritesIsLoadedAgain) {
    const Program program = of_blocks([](Blocks& blocks) {
        blocks.builder.run(blocks.builder.add(Opcode::DmaCopy,
                                              {Engine::Dma},
                                              {blocks.rows_of(Role::Dst, blocks.in, kPartColumns),
                                               blocks.builder.whole(Role::Src, blocks.result)}));
        load_again(blocks);
    });
    EXPECT_EQ(drop_repeated_loads(program), program);
}

TEST(RepeatedLoadsTest, WhatOtherCoresMayWriteIsLoadedAgain) {
    Program program = of_blocks([](Blocks& blocks) { load_again(blocks); });
    program.buffers[0].kind = program::BufferKind::Internal;
    EXPECT_EQ(drop_repeated_loads(program), program);
}

TEST(RepeatedLoadsTest, TilesThatOutliveTheirIterationAreLoaded) {
    Blocks blocks;
    const auto again = blocks.load(blocks.y, kBlockColumns);
    blocks.builder.alloc(blocks.result).loop(kBlockCount).alloc(blocks.x);
    blocks.builder.run(blocks.load(blocks.x, kBlockColumns),
                       {at(affine(0, {1})), at({}, affine(0, {kBlockRows * kBlockColumns}))});
    blocks.builder.alloc(blocks.y).run(
        again, {at(affine(0, {1})), at({}, affine(0, {kBlockRows * kBlockColumns}))});
    blocks.builder.end().loop(kBlockCount).run(blocks.take(blocks.y), {at(), at(affine(0, {1}))});
    const Program program = blocks.builder.end().build();
    EXPECT_EQ(drop_repeated_loads(program), program);
}

}  // namespace
}  // namespace trnsim::lowering
