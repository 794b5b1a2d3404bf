// SPDX-License-Identifier: Apache-2.0
// LoadStationary is left out exactly when the array holds the tile already.
#include "trnsim/lowering/instructions/stationary.hpp"

#include "lowered_program.hpp"
#include "support/program_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace trnsim::lowering {
namespace {

using test::affine;
using test::at;

/// Matmuls over two tiles of one site, and what may come between them.
struct Matmuls {
    test::ProgramBuilder builder;
    std::uint32_t left = builder.tile("left", Space::Sbuf, Dtype::Bfloat16, {128, 256});
    std::uint32_t right = builder.tile("right", Space::Sbuf, Dtype::Bfloat16, {128, 512});
    std::uint32_t sum = builder.tile("sum", Space::Psum, Dtype::Float32, {128, 512});
    std::uint32_t fill = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.part(Role::Dst, left, 1)}, {.value = 1.0});
    std::uint32_t matmul = multiply(128);
    std::uint32_t narrow = multiply(64);

    std::uint32_t multiply(std::int32_t columns, const Attributes& attributes = {}) {
        return builder.add(Opcode::NcMatmul,
                           {Engine::Tensor},
                           {builder.part(Role::Dst, sum, 512, columns),
                            builder.part(Role::Stationary, left, columns),
                            builder.whole(Role::Moving, right)},
                           attributes);
    }
    /// On the tile of 128 x 32 PEs from a column of the array on.
    std::uint32_t multiply_on(std::int32_t column) {
        return multiply(32, {.tile_position = {{0, column}}, .tile_size = {{128, 32}}});
    }

    Matmuls() { builder.alloc(left).alloc(left).alloc(right).alloc(sum); }

    /// Multiplies with instance `tile`, from element `offset` on.
    void run(std::uint32_t which, std::int64_t tile = 0, std::int64_t offset = 0) {
        builder.run(which, {at(), at(affine(tile), affine(offset))});
    }

    [[nodiscard]] std::ptrdiff_t loads(const Policies& policies = {},
                                       std::int64_t sbuf_kib = 192) const {
        ChipSpec chip = test::chip_named("trainium2");
        chip.neuron_core.sbuf.usable_partition_kib = sbuf_kib;
        const test::LoweredProgram lowered(builder.build(), policies, chip);
        return std::ranges::count(lowered.names(), "LoadStationary");
    }
};

TEST(StationaryTest, TheSameTileIsLoadedOnce) {
    Matmuls p;
    p.run(p.matmul);
    p.run(p.matmul);
    p.run(p.matmul);
    EXPECT_EQ(p.loads(), 1);
}

TEST(StationaryTest, WithoutReuseEveryMatmulLoads) {
    Matmuls p;
    p.run(p.matmul);
    p.run(p.matmul);
    EXPECT_EQ(p.loads({.reuse_stationary = false}), 2);
}

TEST(StationaryTest, AnotherTileIsLoaded) {
    Matmuls p;
    p.run(p.matmul, 0);
    p.run(p.matmul, 1);
    p.run(p.matmul, 0);
    EXPECT_EQ(p.loads(), 3);
}

TEST(StationaryTest, AnotherPartOfTheTileIsLoaded) {
    Matmuls p;
    p.run(p.matmul, 0, 0);
    p.run(p.matmul, 0, 128);
    EXPECT_EQ(p.loads(), 2);
}

TEST(StationaryTest, AnotherShapeOfTheTileIsLoaded) {
    Matmuls p;
    p.run(p.matmul);
    p.run(p.narrow);
    EXPECT_EQ(p.loads(), 2);
}

TEST(StationaryTest, ATileWrittenSinceIsLoadedAgain) {
    Matmuls p;
    p.run(p.matmul);
    p.builder.run(p.fill);
    p.run(p.matmul);
    EXPECT_EQ(p.loads(), 2);
}

TEST(StationaryTest, ATileIsKeptUntilItIsInTheArrayOrByAPlanUntilItsMatmulIsOver) {
    const auto read = [](LoadTiming loads) {
        Matmuls matmuls;
        matmuls.run(matmuls.matmul);
        matmuls.builder.run(matmuls.fill);
        const test::LoweredProgram lowered(matmuls.builder.build(), {.loads = loads});
        const auto overwrites = lowered.of(neuron_core::queue_of(Engine::Vector));
        return overwrites.back().waits().front().at_least;
    };
    EXPECT_EQ(read(LoadTiming::AsSoonAsPossible), 1) << "LoadStationary";
    EXPECT_EQ(read(LoadTiming::JustInTime), 2) << "the matmul";
}

TEST(StationaryTest, AnotherTileWrittenSinceDoesNotMatter) {
    Matmuls p;
    p.run(p.matmul);
    p.builder.run(p.fill, {at(affine(1))});
    p.run(p.matmul);
    EXPECT_EQ(p.loads(), 1);
}

TEST(StationaryTest, AnotherPartOfTheTileWrittenSinceDoesNotMatter) {
    Matmuls p;
    p.run(p.matmul);
    p.builder.run(p.fill, {at(affine(0), affine(200))});
    p.run(p.matmul);
    EXPECT_EQ(p.loads(), 1);
}

TEST(StationaryTest, ThePartOfTheArrayThatWasLoadedHoldsThatRegionAndNoOther) {
    const auto shape = [](Dtype dtype, std::int32_t partitions) {
        return RegionShape({.dtype = dtype, .partitions = partitions, .pattern = {{1, 32}}});
    };
    const RegionShape loaded = shape(Dtype::Bfloat16, 64);
    const RegionShape wider = shape(Dtype::Float32, 64);
    const RegionShape shorter = shape(Dtype::Bfloat16, 32);
    const StationaryReuse::Tile tile{.buffer = 1, .instance = 2};
    StationaryReuse array;
    const auto load = [](const StationaryReuse::Tile& from, const Region& region) {
        StationaryReuse::Load result;
        result.add(from, region, 0);
        return result;
    };
    array.load(0x00FF, load(tile, Region(loaded)));
    EXPECT_TRUE(array.holds(0x00FF, load(tile, Region(loaded))));
    EXPECT_FALSE(array.holds(0x000F, load(tile, Region(loaded))));
    EXPECT_FALSE(array.holds(neuron_core::kWholeArray, load(tile, Region(loaded))));
    EXPECT_FALSE(array.holds(0x00FF, load({.buffer = 1, .instance = 3}, Region(loaded))));
    EXPECT_FALSE(array.holds(0x00FF, load(tile, Region(wider))));
    EXPECT_FALSE(array.holds(0x00FF, load(tile, Region(shorter))));
    EXPECT_FALSE(array.holds(0x00FF, load(tile, Region(loaded, 64))));
    EXPECT_FALSE(array.holds(0x00FF, load(tile, Region(loaded, 0, 64))));
}

/// Sparse products of one stationary tile, with one of two tiles of tags.
struct SparseMatmuls : Matmuls {
    std::uint32_t tags = builder.tile("tags", Space::Sbuf, Dtype::Uint16, {128, 32});
    std::uint32_t sparse = builder.add(Opcode::NcMatmulSparse,
                                       {Engine::Tensor},
                                       {builder.part(Role::Dst, sum, 128, 128),
                                        builder.part(Role::Stationary, left, 128),
                                        builder.whole(Role::Moving, right),
                                        builder.whole(Role::Tags, tags)},
                                       {.compress_ratio = 4});
    std::uint32_t fill_tags = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, tags)}, {.value = 1.0});

    SparseMatmuls() { builder.alloc(tags).alloc(tags); }

    void run_with(std::int64_t instance) {
        builder.run(sparse, {at(), at(), at(), at(affine(instance))});
    }
};

TEST(StationaryTest, OtherTagsOfTheSameTileAreLoaded) {
    SparseMatmuls p;
    p.run_with(0);
    p.run_with(0);
    EXPECT_EQ(p.loads(), 1);
    p.run_with(1);
    EXPECT_EQ(p.loads(), 2);
    p.run(p.matmul);  // Without tags.
    EXPECT_EQ(p.loads(), 3);
}

TEST(StationaryTest, TagsThatWereWrittenAreLoadedAgain) {
    SparseMatmuls p;
    p.run_with(0);
    p.builder.run(p.fill_tags, {at(affine(1))});
    p.run_with(0);
    EXPECT_EQ(p.loads(), 1);
    p.builder.run(p.fill_tags, {at(affine(0))});
    p.run_with(0);
    EXPECT_EQ(p.loads(), 2);
}

/// Products whose stationary tile and moving tile go by indices, each by one of two tiles of them.
struct IndexedMatmuls : Matmuls {
    std::uint32_t rows = builder.tile("rows", Space::Sbuf, Dtype::Uint16, {128, 8});
    std::uint32_t indexed = multiply_by(128);
    std::uint32_t fewer = multiply_by(64);
    std::uint32_t fill_rows = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, rows)}, {.value = 1.0});

    IndexedMatmuls() { builder.alloc(rows).alloc(rows); }

    std::uint32_t multiply_by(std::int32_t columns) {
        Operand stationary = builder.part(Role::Stationary, left, columns);
        Operand moving = builder.whole(Role::Moving, right);
        stationary.indirect = 3;
        moving.indirect = 4;
        return builder.add(Opcode::NcMatmul,
                           {Engine::Tensor},
                           {builder.part(Role::Dst, sum, 512, columns),
                            stationary,
                            moving,
                            builder.whole(Role::Index, rows),
                            builder.whole(Role::Index, rows)});
    }

    void run_by(std::uint32_t which, std::int64_t first, std::int64_t second) {
        builder.run(which, {at(), at(), at(), at(affine(first)), at(affine(second))});
    }
};

TEST(StationaryTest, TheSameTileByOtherIndicesIsLoaded) {
    IndexedMatmuls p;
    p.run_by(p.indexed, 0, 0);
    p.run_by(p.indexed, 0, 1);
    EXPECT_EQ(p.loads(), 1);
    p.run_by(p.indexed, 1, 1);
    EXPECT_EQ(p.loads(), 2);
    p.run_by(p.fewer, 1, 1);
    EXPECT_EQ(p.loads(), 3);
    p.run(p.matmul);  // Without indices.
    EXPECT_EQ(p.loads(), 4);
}

TEST(StationaryTest, ATileByIndicesThatWereWrittenIsLoadedAgain) {
    IndexedMatmuls p;
    p.run_by(p.indexed, 0, 1);
    p.builder.run(p.fill_rows, {at(affine(1))});
    p.run_by(p.indexed, 0, 1);
    EXPECT_EQ(p.loads(), 1);
    p.builder.run(p.fill_rows, {at(affine(0))});
    p.run_by(p.indexed, 0, 1);
    EXPECT_EQ(p.loads(), 2);
}

TEST(StationaryTest, IndicesAreReadWithTheOperandsThatGoByThem) {
    InstructionTemplate matmul;
    matmul.op = Opcode::NcMatmul;
    matmul.operands = {{.role = Role::Dst},
                       {.role = Role::Stationary, .indirect = 3},
                       {.role = Role::Moving, .indirect = 4},
                       {.role = Role::Index},
                       {.role = Role::Index}};
    const auto loaded = [&matmul](std::size_t i) { return is_loaded(matmul, matmul.operands[i]); };
    const auto streamed = [&matmul](std::size_t i) {
        return is_streamed(matmul, matmul.operands[i]);
    };
    EXPECT_TRUE(loaded(3) && !streamed(3));
    EXPECT_TRUE(streamed(4) && !loaded(4));
    matmul.operands[2].indirect = 3;
    EXPECT_TRUE(loaded(3) && streamed(3));
    EXPECT_TRUE(loaded(1) && !streamed(1));
    EXPECT_TRUE(streamed(2) && !loaded(2));
}

TEST(StationaryTest, EveryTileOfTheArrayHoldsOneOfItsOwn) {
    Matmuls p;
    const std::uint32_t first = p.multiply_on(0);
    const std::uint32_t second = p.multiply_on(32);
    for (int i = 0; i < 3; ++i) {
        p.run(first, 0);
        p.run(second, 1);
    }
    EXPECT_EQ(p.loads(), 2);
    p.run(second, 0);  // Its bytes are in the other tile of the array.
    EXPECT_EQ(p.loads(), 3);
    p.run(p.matmul);  // The whole array.
    p.run(first, 0);
    EXPECT_EQ(p.loads(), 5);
}

TEST(StationaryTest, ATileInTheSlotOfAnotherIsLoaded) {
    Matmuls p;
    p.run(p.matmul, 0);
    p.builder.alloc(p.left);
    p.builder.run(p.fill, {at(affine(2))});
    p.run(p.matmul, 2);
    EXPECT_EQ(p.loads(), 2);
}

TEST(StationaryTest, ATileThatWasSpilledMeanwhileIsStillInTheArray) {
    // 2 KiB hold the moving tile and two of the three others.
    Matmuls p;
    p.builder.alloc(p.left);
    for (std::int64_t tile = 0; tile < 3; ++tile) {
        p.builder.run(p.fill, {at(affine(tile))});
    }
    p.run(p.matmul, 2);
    p.builder.run(p.fill, {at(affine(0))});
    p.builder.run(p.fill, {at(affine(1))});
    p.run(p.matmul, 2);
    EXPECT_EQ(p.loads({}, 2), 1);
}

TEST(StationaryReuseTest, ALoadTakesTheBlocksOfAllThatItMeets) {
    const RegionShape shape({.dtype = Dtype::Bfloat16, .partitions = 128, .pattern = {{1, 64}}});
    const auto load = [&shape](std::int64_t instance) {
        StationaryReuse::Load result;
        result.add({.buffer = 1, .instance = instance}, Region(shape), 64);
        return result;
    };
    StationaryReuse array;
    array.load(0x000F, load(0));
    array.load(0x00F0, load(1));
    array.load(0x0F00, load(2));
    array.load(0x00FF, load(3));
    EXPECT_TRUE(array.holds(0x00FF, load(3)));
    EXPECT_FALSE(array.holds(0x000F, load(0)));
    EXPECT_FALSE(array.holds(0x00F0, load(1)));
    EXPECT_TRUE(array.holds(0x0F00, load(2))) << "none of its blocks was loaded";
}

}  // namespace
}  // namespace trnsim::lowering
