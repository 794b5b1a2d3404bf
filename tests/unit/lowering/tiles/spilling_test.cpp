// SPDX-License-Identifier: Apache-2.0
// Spilling: what is saved, what is not, and what comes back.
#include "lowered_program.hpp"
#include "support/program_builder.hpp"
#include "trnsim/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace trnsim::lowering {
namespace {

using neuron_core::queue_of;
using neuron_core::queue_of_ring;
using test::affine;
using test::at;
using test::done_semaphore;
using test::waits_of;
using testing::ElementsAre;

/// One site of 1 KiB tiles in an SBUF that holds two of them.
struct Tiles {
    test::ProgramBuilder builder;
    std::uint32_t tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 256});
    std::uint32_t fill = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, tile)}, {.value = 1.0});
    std::uint32_t look =
        builder.add(Opcode::RegisterLoad, {Engine::Vector}, {builder.part(Role::Data, tile, 1, 1)});

    Tiles& alloc() {
        builder.alloc(tile);
        return *this;
    }
    Tiles& write(std::int64_t instance) {
        builder.run(fill, {at(affine(instance))});
        return *this;
    }
    Tiles& read(std::int64_t instance) {
        builder.run(look, {at(affine(instance))});
        return *this;
    }

    [[nodiscard]] test::LoweredProgram lower(std::int64_t sbuf_kib = 2) const {
        ChipSpec chip = test::chip_named("trainium2");
        chip.neuron_core.sbuf.usable_partition_kib = sbuf_kib;
        return test::LoweredProgram(builder.build(), {}, chip);
    }
};

TEST(SpillingTest, NothingMovesWhenLiveTilesFit) {
    Tiles p;
    p.alloc().write(0).alloc().write(1).read(0).read(1);
    EXPECT_THAT(p.lower().names(),
                ElementsAre("memset", "memset", "register_load", "register_load"));
}

TEST(SpillingTest, TheTileUnusedForLongestIsSavedAndReloadedAtItsNextUse) {
    Tiles p;
    p.alloc().write(0).alloc().write(1).alloc().write(2).read(1).read(2).read(0);
    EXPECT_THAT(p.lower().names(),
                ElementsAre("memset",
                            "memset",
                            "spill save",
                            "memset",
                            "register_load",
                            "register_load",
                            "spill reload",
                            "register_load"));
}

TEST(SpillingTest, ATileNotWrittenSinceItsReloadIsNotSavedAgain) {
    Tiles p;
    p.alloc().write(0).alloc().write(1).alloc().write(2);
    p.read(0).read(1).read(2).read(0).read(1).read(2);
    const auto names = p.lower().names();
    EXPECT_EQ(std::ranges::count(names, "spill save"), 3);
    EXPECT_EQ(std::ranges::count(names, "spill reload"), 5);
}

TEST(SpillingTest, ATileWrittenSinceItsReloadIsSavedAgain) {
    Tiles p;
    p.alloc().write(0).alloc().write(1).alloc().write(2);
    p.read(0).write(0).read(1).read(2).read(1).read(2).read(0);
    EXPECT_EQ(std::ranges::count(p.lower().names(), "spill save"), 4);
}

TEST(SpillingTest, ATileNeverWrittenIsNeitherSavedNorReloaded) {
    Tiles p;
    p.alloc().alloc().alloc().write(2).write(1).write(0).read(0);
    p.read(1).read(2);
    const auto names = p.lower(3).names();
    EXPECT_EQ(std::ranges::count(names, "spill save"), 0);
    const auto tight = p.lower(2).names();
    EXPECT_THAT(std::vector(tight.begin(), tight.begin() + 4),
                ElementsAre("memset", "memset", "spill save", "memset"))
        << "tiles are brought back that nothing was ever written to";
}

/// Tiles that are loaded from HBM; something else writes there if `is_changed`.
struct LoadedTiles : Tiles {
    explicit LoadedTiles(bool is_changed) {
        const auto source = builder.input("source", Dtype::Float32, {128, 256});
        const auto load = builder.copy(tile, source);
        if (is_changed) {
            builder.run(builder.copy(source, source));
        }
        for (std::int64_t instance = 0; instance < 3; ++instance) {
            builder.alloc(tile).run(load, {at(affine(instance)), at(affine(0))});
        }
    }
};

TEST(SpillingTest, WhatHbmHoldsAlreadyIsReloadedWithoutASave) {
    LoadedTiles p(false);
    p.read(1).read(2).read(0);
    const auto names = p.lower().names();
    EXPECT_EQ(std::ranges::count(names, "spill save"), 0);
    EXPECT_EQ(std::ranges::count(names, "spill reload"), 1);
}

TEST(SpillingTest, WhatWasChangedSinceItsLoadIsSaved) {
    LoadedTiles p(false);
    p.read(1).write(2).read(0).read(1).read(2).read(0);
    EXPECT_EQ(std::ranges::count(p.lower().names(), "spill save"), 1);
}

TEST(SpillingTest, WhatWasLoadedFromATensorThatIsWrittenIsSaved) {
    LoadedTiles p(true);
    p.read(1).read(2).read(0);
    EXPECT_EQ(std::ranges::count(p.lower().names(), "spill save"), 1);
}

TEST(SpillingTest, ASaveWaitsForTheWriterAndTheNextWriterForTheSave) {
    Tiles p;
    p.alloc().write(0).alloc().write(1).alloc().write(2).read(1).read(2).read(0);
    const test::LoweredProgram lowered = p.lower();
    const auto& entries = lowered.entries();
    EXPECT_EQ(entries[2].queue, queue_of_ring(0));
    EXPECT_EQ(waits_of(entries[2].instruction),
              std::to_string(done_semaphore(queue_of(Engine::Vector))) + ">=1");
    EXPECT_EQ(waits_of(entries[3].instruction),
              std::to_string(done_semaphore(queue_of_ring(0))) + ">=1");
}

TEST(SpillingTest, AReloadWaitsForItsSaveAndTheReaderForTheReload) {
    Tiles p;
    p.alloc().write(0).alloc().write(1).alloc().write(2).read(1).read(2).read(0);
    const test::LoweredProgram lowered = p.lower();
    const auto& entries = lowered.entries();
    EXPECT_THAT(waits_of(entries[6].instruction),
                testing::HasSubstr(std::to_string(done_semaphore(queue_of_ring(0))) + ">=1"));
    EXPECT_EQ(waits_of(entries[7].instruction),
              std::to_string(done_semaphore(queue_of_ring(0))) + ">=2");
}

TEST(SpillingTest, GpsimdTriggersTheSpillsThatItDescribes) {
    Tiles p;
    p.alloc().write(0).alloc().write(1).alloc().write(2).read(1).read(2).read(0);
    ChipSpec chip = test::chip_named("trainium2");
    chip.neuron_core.sbuf.usable_partition_kib = 2;
    const test::LoweredProgram lowered(p.builder.build(), {.dge = DgePolicy::Software}, chip);
    EXPECT_TRUE(lowered.lowering().uses(queue_of(Engine::Gpsimd))) << "for nothing else";
    std::vector<std::string> triggers;
    for (const auto& trigger : lowered.of(queue_of(Engine::Gpsimd))) {
        triggers.push_back(trigger.what->name + " " + waits_of(trigger));
    }
    const std::string vector = std::to_string(done_semaphore(queue_of(Engine::Vector)));
    const std::string ring = std::to_string(done_semaphore(queue_of_ring(0)));
    EXPECT_THAT(triggers,
                ElementsAre("DMA_DIRECT2D " + vector + ">=1",
                            testing::AllOf(testing::StartsWith("DMA_DIRECT2D "),
                                           testing::HasSubstr(ring + ">=1"))))
        << "the save for the writer, the reload for the save";
    const std::string trigger = std::to_string(trigger_semaphore(queue_of(Engine::Gpsimd))) + ">=";
    std::vector<std::string> moves;
    for (const auto& move : lowered.of(queue_of_ring(0))) {
        moves.push_back(move.what->name + " " + waits_of(move));
    }
    EXPECT_THAT(moves, ElementsAre("spill save " + trigger + "1", "spill reload " + trigger + "2"));
}

TEST(SpillingTest, TheReportSaysSo) {
    Tiles p;
    p.alloc().write(0).alloc().write(1).alloc().write(2).read(0).read(1).read(2);
    const test::LoweredProgram lowered = p.lower();
    const TileMemory& tiles = lowered.lowering().tiles();
    EXPECT_THAT(tiles.allocation().notes, ElementsAre(testing::StartsWith("SBUF may fill up")));
    EXPECT_EQ(tiles.sbuf_peak_bytes(), 2048);
    EXPECT_TRUE(lowered.lowering().uses(queue_of_ring(0)));
}

/// What the lowering of a program says that does not fit into 2 KiB.
std::string does_not_fit(const test::ProgramBuilder& builder) {
    ChipSpec chip = test::chip_named("trainium2");
    chip.neuron_core.sbuf.usable_partition_kib = 2;
    try {
        test::LoweredProgram(builder.build(), {}, chip);
    } catch (const ProgramError& error) {
        return error.what();
    }
    return "it fits";
}

/// A chain of copies, load to store, in an SBUF that holds two of its four tiles.
TEST(SpillingTest, StepsThatRunAheadSpillNothingThatFitsInProgramOrder) {
    test::ProgramBuilder builder;
    const auto source = builder.input("source", Dtype::Float32, {128, 256});
    const auto result = builder.input("result", Dtype::Float32, {128, 256});
    std::vector<std::uint32_t> tiles;
    for (const char* name : {"a", "b", "c", "d"}) {
        tiles.push_back(builder.tile(name, Space::Sbuf, Dtype::Float32, {128, 256}));
    }
    const auto load = builder.copy(tiles[0], source);
    const auto store = builder.copy(result, tiles[3]);
    std::vector<std::uint32_t> copies;
    for (std::size_t i = 0; i + 1 < tiles.size(); ++i) {
        const Engine engine = i % 2 == 0 ? Engine::Vector : Engine::Scalar;
        copies.push_back(builder.unary(Opcode::TensorCopy, engine, tiles[i + 1], tiles[i]));
    }
    builder.loop(16).alloc(tiles[0]).run(load, {at(affine(0, {1})), at(affine(0))});
    for (std::size_t i = 0; i < copies.size(); ++i) {
        builder.alloc(tiles[i + 1]).run(copies[i], {at(affine(0, {1})), at(affine(0, {1}))});
    }
    builder.run(store, {at(affine(0)), at(affine(0, {1}))}).end();
    ChipSpec chip = test::chip_named("trainium2");
    chip.neuron_core.sbuf.usable_partition_kib = 2;
    const test::LoweredProgram lowered(
        builder.build(), {.matmul_window = 64, .reorder_window = 64}, chip);
    const auto names = lowered.names();
    EXPECT_EQ(std::ranges::count(names, "spill save"), 0);
    EXPECT_EQ(std::ranges::count(names, "spill reload"), 0);
    EXPECT_EQ(std::ranges::count(names, "tensor_copy"), 48);
}

/// An iteration fills PSUM with eight products, copies them to SBUF, and makes one more product of
/// the copies, which is copied in its turn.
program::Program products_of_products() {
    test::ProgramBuilder builder;
    const auto left = builder.tile("left", Space::Sbuf, Dtype::Bfloat16, {128, 128});
    const auto right = builder.tile("right", Space::Sbuf, Dtype::Bfloat16, {128, 512});
    const auto sum = builder.tile("sum", Space::Psum, Dtype::Float32, {128, 512});
    const auto row = builder.tile("row", Space::Sbuf, Dtype::Bfloat16, {128, 512});
    const auto last = builder.tile("last", Space::Psum, Dtype::Float32, {128, 512});
    const auto out = builder.tile("out", Space::Sbuf, Dtype::Float32, {128, 512});
    const auto multiply = builder.matmul(sum, left, right, true);
    const auto evacuate = builder.unary(Opcode::TensorCopy, Engine::Vector, row, sum);
    const auto again = builder.add(Opcode::NcMatmul,
                                   {Engine::Tensor},
                                   {builder.whole(Role::Dst, last),
                                    builder.part(Role::Stationary, row, 128, 128),
                                    builder.whole(Role::Moving, right)},
                                   {.start = true});
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, out, last);
    for (const auto tile : {left, right}) {
        builder.alloc(tile).run(builder.add(
            Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, tile)}, {.value = 1.0}));
    }
    builder.loop(8).loop(8).alloc(sum).run(multiply, {at(affine(0, {8, 1}))}).end();
    builder.alloc(row).loop(8).run(evacuate, {at(affine(0, {1})), at(affine(0, {8, 1}))}).end();
    builder.alloc(last).run(again, {at(affine(0, {1})), at(affine(0, {1}))});
    builder.alloc(out).run(copy, {at(affine(0, {1})), at(affine(0, {1}))}).end();
    return builder.build();
}

TEST(SpillingTest, MatmulsAheadOfEnginesThatKeepTheirOrderLeaveThemPsum) {
    const test::LoweredProgram lowered(products_of_products(), {.matmul_window = 64});
    const auto names = lowered.names();
    EXPECT_EQ(std::ranges::count(names, "spill save"), 0);
    EXPECT_EQ(std::ranges::count(names, "tensor_copy"), 72);
}

TEST(SpillingTest, ATileLargerThanItsMemoryIsNamed) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 513});
    const auto fill = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, tile)}, {.value = 1.0});
    builder.alloc(tile).run(fill);
    EXPECT_EQ(does_not_fit(builder),
              "SBUF: a tile of tile (kernel.py:1) takes 2112 bytes per partition, but 2048 are "
              "usable; make it smaller");
}

TEST(SpillingTest, TilesThatFitAloneButNotBesideEachOtherAreNamed) {
    test::ProgramBuilder builder;
    const auto from = builder.tile("from", Space::Sbuf, Dtype::Float32, {128, 300});
    const auto to = builder.tile("to", Space::Sbuf, Dtype::Float32, {128, 300});
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, to, from);
    builder.alloc(from).alloc(to).run(copy);
    EXPECT_EQ(does_not_fit(builder),
              "SBUF: a tile of from (kernel.py:1) takes 1216 bytes per partition beside 1216 of to "
              "(kernel.py:2), but 2048 are usable and one instruction needs them all; make them "
              "smaller");
}

TEST(SpillingTest, AccumulatorsBeyondPsumAreSavedAndGoOnWhereTheyWere) {
    test::ProgramBuilder builder;
    const auto left = builder.tile("left", Space::Sbuf, Dtype::Bfloat16, {128, 128});
    const auto right = builder.tile("right", Space::Sbuf, Dtype::Bfloat16, {128, 512});
    const auto sum = builder.tile("sum", Space::Psum, Dtype::Float32, {128, 512});
    const auto out = builder.tile("out", Space::Sbuf, Dtype::Float32, {128, 512});
    const auto fill = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, left)}, {.value = 1.0});
    const auto fill_right = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, right)}, {.value = 1.0});
    const auto begin = builder.matmul(sum, left, right, true);
    const auto add = builder.matmul(sum, left, right, false);
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, out, sum);
    builder.alloc(left).alloc(right).run(fill).run(fill_right);
    builder.loop(9).alloc(sum).run(begin, {at(affine(0, {1}))}).end();
    builder.loop(9).run(add, {at(affine(0, {1}))}).end();
    builder.loop(9).alloc(out).run(copy, {at(affine(0, {1})), at(affine(0, {1}))}).end();
    const test::LoweredProgram lowered(builder.build());
    const auto names = lowered.names();
    // Nine accumulators in eight banks: the ninth begins where the first was; each that goes on
    // takes the place of the next one; the first copy does so once more, and then a bank is free.
    EXPECT_EQ(std::ranges::count(names, "spill save"), 1 + 9 + 1);
    EXPECT_EQ(std::ranges::count(names, "spill reload"), 9 + 2);
    EXPECT_EQ(lowered.lowering().tiles().allocation().psum_banks, 8);
}

}  // namespace
}  // namespace trnsim::lowering
