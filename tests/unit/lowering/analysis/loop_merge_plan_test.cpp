// SPDX-License-Identifier: Apache-2.0
// Which instructions of which loops are merged, and how many iterations of them.
#include "merging_programs.hpp"
#include "support/program_builder.hpp"
#include "symbolic_values.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace trnsim::lowering {
namespace {

using test::affine;
using test::at;
using test::executed;
using test::kRows;
using test::Maxima;
using test::merged;
using test::ProgramBuilder;

constexpr std::int64_t kTrips = 8;

/// Instructions on tiles x and y of which every iteration has its own, and on a tensor.
struct Tiles {
    explicit Tiles(std::int64_t columns = 8,
                   std::optional<ProgramBuilder::FixedAddress> address = {})
        : width(columns), place(std::move(address)) {}

    std::int64_t width;
    std::optional<ProgramBuilder::FixedAddress> place;
    ProgramBuilder builder;
    std::uint32_t out = builder.output("out", Dtype::Float32, {4 * kTrips, kRows, width});
    std::uint32_t x = builder.tile("x", Space::Sbuf, Dtype::Float32, {kRows, width}, place);
    std::uint32_t y = builder.tile("y", Space::Sbuf, Dtype::Float32, {kRows, width});
    std::uint32_t fill = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, x)}, {.value = 1.0});
    std::uint32_t work = builder.unary(Opcode::TensorCopy, Engine::Vector, y, x);
    std::uint32_t store = builder.add(
        Opcode::DmaCopy, {Engine::Dma}, {rows(Role::Dst, out), builder.whole(Role::Src, y)});

    [[nodiscard]] Operand rows(Role role, std::uint32_t tensor) const {
        return test::tile_in(builder, role, tensor, kRows * width);
    }

    /// Fills x, copies it to y, stores y.
    void run(const program::Affine& of_x, const program::Affine& of_y, const program::Affine& row) {
        builder.run(fill, {at(of_x)})
            .run(work, {at(of_y), at(of_x)})
            .run(store, {row_at(row), at(of_y)});
    }

    [[nodiscard]] program::Position row_at(const program::Affine& row) const {
        return at({}, test::times(row, kRows * width));
    }

    /// All of it in one loop.
    program::Program loop() {
        builder.loop(kTrips).alloc(x).alloc(y);
        run(affine(0, {1}), affine(0, {1}), affine(0, {1}));
        builder.end();
        return builder.build();
    }
};

TEST(LoopMergePlanTest, ALoopOfOwnTilesIsMerged) {
    EXPECT_EQ(executed(merged(Tiles().loop())),
              (test::Counts{{"dma_copy 256", 1}, {"memset 64", 1}, {"tensor_copy 64", 1}}));
}

TEST(LoopMergePlanTest, OnlyAffineLoopsAreMerged) {
    for (const auto kind : {program::LoopKind::Sequential,
                            program::LoopKind::Static,
                            program::LoopKind::Python,
                            program::LoopKind::Runtime}) {
        program::Program program = Tiles().loop();
        program.loops.front().kind = kind;
        EXPECT_EQ(merged(program), program);
    }
}

TEST(LoopMergePlanTest, ALoopWithEdgesOfTheScheduleStaysAsItIs) {
    program::Program program = Tiles().loop();
    program.runs[0].producer = affine(0, {1});
    EXPECT_EQ(merged(program), program);
    program.runs[0].producer.reset();
    EXPECT_NE(merged(program), program);
    program.runs[1].depends_on = {affine(0)};
    EXPECT_EQ(merged(program), program);
}

TEST(LoopMergePlanTest, ATileWithAnAddressOfTheProgramsStaysWhereItIs) {
    const program::Program program = Tiles(8, ProgramBuilder::FixedAddress{0, 1024}).loop();
    EXPECT_EQ(merged(program), program);
}

TEST(LoopMergePlanTest, ATileThatIsAllocatedElsewhereTooKeepsItsInstances) {
    Tiles tiles;
    tiles.builder.loop(kTrips).alloc(tiles.x).end().loop(kTrips).alloc(tiles.x).alloc(tiles.y);
    tiles.run(affine(kTrips, {1}), affine(0, {1}), affine(0, {1}));
    tiles.builder.end();
    const program::Program program = tiles.builder.build();
    EXPECT_EQ(merged(program), program);
}

TEST(LoopMergePlanTest, ATileOfAnEarlierIterationOfTheLoopAroundStaysItself) {
    Tiles tiles;
    tiles.builder.loop(2).loop(kTrips).alloc(tiles.x).alloc(tiles.y);
    tiles.run(affine(0, {kTrips / 2, 1}), affine(0, {kTrips, 1}), affine(0, {kTrips, 1}));
    tiles.builder.end().end();
    const program::Program program = tiles.builder.build();
    EXPECT_EQ(executed(merged(program))["memset 32"], 4);  // Halves, of which four are whole tiles.
    EXPECT_EQ(test::symbolic_values(merged(program)), test::symbolic_values(program));
}

/// Every iteration scales a tile by column `step` x iteration of the same tile of scalars.
program::Program scaled(std::int64_t step) {
    Tiles tiles;
    ProgramBuilder& builder = tiles.builder;
    const auto scalars = builder.tile("scalars", Space::Sbuf, Dtype::Float32, {kRows, kTrips});
    const auto scale = builder.add(Opcode::TensorScalar,
                                   {Engine::Vector},
                                   {builder.whole(Role::Dst, tiles.y),
                                    builder.whole(Role::Data, tiles.x),
                                    builder.part(Role::Operand0, scalars, 1)},
                                   {.op0 = "multiply"});
    const auto in = builder.input("in", Dtype::Float32, {kRows, kTrips});
    builder.alloc(scalars).run(builder.copy(scalars, in));
    builder.loop(kTrips).alloc(tiles.x).alloc(tiles.y);
    const auto tile = at(affine(0, {1}));
    builder.run(tiles.fill, {tile})
        .run(scale, {tile, tile, at({}, affine(0, {step}))})
        .run(tiles.store, {tiles.row_at(affine(0, {1})), tile})
        .end();
    return builder.build();
}

TEST(LoopMergePlanTest, InstructionsWithAScalarOfTheirOwnAreNotMerged) {
    EXPECT_EQ(executed(merged(scaled(0)))["tensor_scalar 64"], 1);
    EXPECT_EQ(executed(merged(scaled(1)))["tensor_scalar 8"], kTrips);
    EXPECT_EQ(test::symbolic_values(merged(scaled(1))), test::symbolic_values(scaled(1)));
}

TEST(LoopMergePlanTest, ALoopThatScattersByAnIndexStaysAsItIs) {
    Tiles tiles;
    ProgramBuilder& builder = tiles.builder;
    const auto rows = builder.tile("rows", Space::Sbuf, Dtype::Int32, {kRows, 1});
    Operand anywhere = tiles.rows(Role::Dst, tiles.out);
    anywhere.indirect = 2;
    const auto scatter = builder.add(
        Opcode::DmaCopy,
        {Engine::Dma},
        {anywhere, builder.whole(Role::Src, tiles.y), builder.whole(Role::Index, rows)});
    builder.alloc(rows).run(builder.copy(rows, builder.input("in", Dtype::Int32, {kRows, 1})));
    builder.loop(kTrips).alloc(tiles.x).alloc(tiles.y);
    const auto tile = at(affine(0, {1}));
    builder.run(tiles.fill, {tile})
        .run(tiles.work, {tile, tile})
        .run(scatter, {tiles.row_at(affine(0, {1})), tile, at()})
        .end();
    const program::Program program = builder.build();
    EXPECT_EQ(merged(program), program);
}

TEST(LoopMergePlanTest, IterationsOnOtherPartitionsAreNotMerged) {
    Tiles tiles;
    ProgramBuilder& builder = tiles.builder;
    const auto all = builder.tile("all", Space::Sbuf, Dtype::Float32, {128, 4 * tiles.width});
    const auto scatter = builder.add(Opcode::TensorCopy,
                                     {Engine::Vector},
                                     {builder.part(Role::Dst, all, tiles.width, 1),
                                      builder.part(Role::Data, tiles.x, tiles.width, 1)});
    builder.alloc(all).loop(4).alloc(tiles.x);
    builder.run(tiles.fill, {at(affine(0, {1}))})
        .run(scatter, {at({}, affine(0, {tiles.width}), affine(0, {32})), at(affine(0, {1}))})
        .end();
    test::Counts counts = executed(merged(builder.build()));
    EXPECT_EQ(counts["memset 32"], 1);
    EXPECT_EQ(counts["tensor_copy 8"], 4);
}

TEST(LoopMergePlanTest, ATransferWhoseRowsAreNotThoseOfTheTileIsNotMerged) {
    Tiles tiles(6);
    Operand target = tiles.rows(Role::Dst, tiles.out);
    target.pattern = {{8, 3}, {1, 8}};  // Three rows for four partitions.
    const auto store = tiles.builder.add(
        Opcode::DmaCopy, {Engine::Dma}, {target, tiles.builder.whole(Role::Src, tiles.y)});
    tiles.builder.loop(kTrips).alloc(tiles.x).alloc(tiles.y);
    const auto tile = at(affine(0, {1}));
    tiles.builder.run(tiles.fill, {tile})
        .run(tiles.work, {tile, tile})
        .run(store, {tiles.row_at(affine(0, {1})), tile})
        .end();
    test::Counts counts = executed(merged(tiles.builder.build()));
    EXPECT_EQ(counts["tensor_copy 48"], 1);
    EXPECT_EQ(counts["dma_copy 24"], kTrips);
}

/// A tile filled in a loop inside, and copied beside it.
program::Program around_a_loop(std::int64_t width) {
    Tiles tiles(width);
    ProgramBuilder& builder = tiles.builder;
    const auto half = builder.add(Opcode::Memset,
                                  {Engine::Vector},
                                  {builder.part(Role::Dst, tiles.x, width / 2)},
                                  {.value = 2.0});
    const auto tile = affine(0, {1});
    builder.loop(kTrips).alloc(tiles.x).alloc(tiles.y);
    builder.loop(2).run(half, {at(tile, affine(0, {0, width / 2}))}).end();
    builder.run(tiles.work, {at(tile), at(tile)})
        .run(tiles.store, {tiles.row_at(affine(0, {1})), at(tile)})
        .end();
    return builder.build();
}

TEST(LoopMergePlanTest, AroundALoopOnlyInstructionsOfSixteenElementsAreMerged) {
    EXPECT_EQ(executed(merged(around_a_loop(16)))["tensor_copy 128"], 1);
    EXPECT_EQ(executed(merged(around_a_loop(18)))["tensor_copy 18"], kTrips);
}

/// How many fills of a few elements of a PSUM tile of that size are left of eight.
int fills_of_psum_tiles(std::int64_t elements) {
    Tiles tiles;
    ProgramBuilder& builder = tiles.builder;
    const auto bank = builder.tile("bank", Space::Psum, Dtype::Float32, {kRows, elements});
    const auto fill = builder.add(Opcode::Memset,
                                  {Engine::Vector},
                                  {builder.part(Role::Dst, bank, tiles.width)},
                                  {.value = 1.0});
    const auto copy = builder.add(
        Opcode::TensorCopy,
        {Engine::Vector},
        {builder.whole(Role::Dst, tiles.y), builder.part(Role::Data, bank, tiles.width)});
    const auto tile = at(affine(0, {1}));
    builder.loop(kTrips).alloc(bank).alloc(tiles.y);
    builder.run(fill, {tile})
        .run(copy, {tile, tile})
        .run(tiles.store, {tiles.row_at(affine(0, {1})), tile})
        .end();
    const program::Program program = builder.build();
    EXPECT_EQ(test::symbolic_values(merged(program)), test::symbolic_values(program));
    int fills = 0;
    for (const auto& [what, count] : executed(merged(program))) {
        fills += what.starts_with("memset") ? count : 0;
    }
    return fills;
}

TEST(LoopMergePlanTest, TilesOfMergedInstructionsInPsumLieInOneBank) {
    EXPECT_EQ(fills_of_psum_tiles(64), 1);
    EXPECT_EQ(fills_of_psum_tiles(128), 2);
    EXPECT_EQ(fills_of_psum_tiles(256), 4);
    EXPECT_EQ(fills_of_psum_tiles(512), kTrips);
}

TEST(LoopMergePlanTest, TransfersAreMergedUpToHalfAMebibyte) {
    EXPECT_EQ(executed(merged(Maxima(8, {.rows = 64}).build()))["dma_copy 2048"], 4);
    EXPECT_EQ(executed(merged(Maxima(8, {.rows = 128}).build()))["dma_copy 1024"], 8);
}

TEST(LoopMergePlanTest, TilesThatLiveBetweenThePartsOfALoopHaveABankOfPsumEach) {
    EXPECT_EQ(
        executed(merged(Maxima(16, {.wide = 512, .space = Space::Psum}).build()))["reciprocal 8"],
        2);
}

}  // namespace
}  // namespace trnsim::lowering
