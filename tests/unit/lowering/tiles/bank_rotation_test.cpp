// SPDX-License-Identifier: Apache-2.0
// Banks of PSUM go round the tiles in program order.
#include "trnsim/lowering/tiles/bank_rotation.hpp"

#include "lowered_program.hpp"
#include "support/program_builder.hpp"
#include "trnsim/program/cursor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trnsim::lowering {
namespace {

using neuron_core::queue_of;
using test::affine;
using test::at;
using test::LoweredProgram;
using test::ProgramBuilder;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr PsumSpec kPsum{};  // 8 banks of 2,048 bytes.

/// The addresses that the operands in PSUM have, in program order.
std::vector<std::int64_t> addresses(const program::Program& program, std::int64_t fixed_end = 0) {
    std::optional<BankRotation> rotation =
        BankRotation::plan(program, analyse_liveness(program), kPsum, fixed_end);
    std::vector<std::int64_t> found;
    program::Cursor cursor(program);
    for (const auto* step = cursor.next(); rotation && step != nullptr; step = cursor.next()) {
        if (step->is_alloc) {
            if (rotation->has(step->run)) {
                rotation->begin(step->run);
            }
            continue;
        }
        const auto instruction = program.runs[step->run].instruction;
        const auto& operands = program.templates[instruction].operands;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (rotation->has(operands[i].buffer)) {
                found.push_back(
                    rotation->use(operands[i].buffer, step->at[i].instance).value_or(-1));
            }
        }
        rotation->end_step();
    }
    return found;
}

/// Fills tiles of a site, one per iteration, and reads each at once.
struct Fills {
    explicit Fills(std::int64_t columns)
        : tile(builder.tile("tile", Space::Psum, Dtype::Float32, {128, columns})) {}

    ProgramBuilder builder;
    std::uint32_t tile;
    std::uint32_t write = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, tile)}, {.value = 0.0});
    std::uint32_t read = builder.unary(Opcode::TensorCopy, Engine::Vector, tile, tile);

    program::Program in_loop(std::int64_t trips) {
        const auto mine = at(affine(0, {1}));
        builder.loop(trips).alloc(tile).run(write, {mine}).run(read, {mine, mine}).end();
        return builder.build();
    }
};

std::vector<std::int64_t> firsts(const std::vector<std::int64_t>& all) {
    std::vector<std::int64_t> result;
    for (std::size_t i = 0; i < all.size(); i += 3) {  // Written, and twice in the copy.
        EXPECT_EQ(all[i], all[i + 1]);
        EXPECT_EQ(all[i], all[i + 2]);
        result.push_back(all[i]);
    }
    return result;
}

TEST(BankRotationTest, EveryTileTakesTheNextBankGoingRound) {
    EXPECT_THAT(firsts(addresses(Fills(128).in_loop(10))),
                ElementsAre(0, 2048, 4096, 6144, 8192, 10240, 12288, 14336, 0, 2048));
}

TEST(BankRotationTest, TilesOfSeveralBanksBeginWithOne) {
    EXPECT_THAT(firsts(addresses(Fills(1200).in_loop(4))), ElementsAre(0, 6144, 0, 6144));
}

TEST(BankRotationTest, ABankInUseIsPassedOver) {
    ProgramBuilder builder;
    const auto kept = builder.tile("kept", Space::Psum, Dtype::Float32, {128, 512});
    const auto tile = builder.tile("tile", Space::Psum, Dtype::Float32, {128, 512});
    const auto keep = builder.unary(Opcode::TensorCopy, Engine::Vector, kept, kept);
    const auto work = builder.unary(Opcode::TensorCopy, Engine::Vector, tile, tile);
    builder.alloc(kept).run(keep).loop(9).alloc(tile).run(work,
                                                          {at(affine(0, {1})), at(affine(0, {1}))});
    builder.end().run(keep);
    const std::vector<std::int64_t> found = addresses(builder.build());
    EXPECT_EQ(found.front(), 0);
    EXPECT_EQ(found[14], 14336);
    EXPECT_EQ(found[16], 2048) << "the first bank is taken";
    EXPECT_EQ(found.back(), 0);
}

/// Twice eight tiles of one site, all allocated before the first is used.
program::Program eight_at_once(std::int64_t columns) {
    ProgramBuilder builder;
    const auto many = builder.tile("many", Space::Psum, Dtype::Float32, {128, columns});
    const auto work = builder.unary(Opcode::TensorCopy, Engine::Vector, many, many);
    builder.loop(2);
    for (int i = 0; i < 8; ++i) {
        builder.alloc(many);
    }
    for (int i = 0; i < 8; ++i) {
        builder.run(work, {at(affine(i, {8})), at(affine(i, {8}))});
    }
    return builder.end().build();
}

TEST(BankRotationTest, SmallTilesShareBanksWhereWholeOnesLeaveNoneToRunAheadWith) {
    const program::Program program = eight_at_once(100);
    const auto rotation = BankRotation::plan(program, analyse_liveness(program), kPsum, 0);
    ASSERT_TRUE(rotation);
    EXPECT_TRUE(rotation->shares_banks());
    EXPECT_EQ(rotation->tile_bytes(0), 512);
    EXPECT_FALSE(
        BankRotation::plan(Fills(100).in_loop(4), {{.instances = 4, .live_peak = 1}}, kPsum, 0)
            ->shares_banks());
}

TEST(BankRotationTest, ThereIsNoneWhereTilesThatLiveTogetherDoNotFit) {
    ProgramBuilder builder;
    const auto many = builder.tile("many", Space::Psum, Dtype::Float32, {128, 512});
    const auto work = builder.unary(Opcode::TensorCopy, Engine::Vector, many, many);
    for (int i = 0; i < 9; ++i) {
        builder.alloc(many).run(work, {at(affine(i)), at(affine(i))});
    }
    for (int i = 0; i < 9; ++i) {
        builder.run(work, {at(affine(i)), at(affine(i))});
    }
    EXPECT_THAT(addresses(builder.build()), IsEmpty());
}

TEST(BankRotationTest, WhatTheProgramPlacesLiesBelow) {
    EXPECT_THAT(firsts(addresses(Fills(128).in_loop(4), 12288)),
                ElementsAre(12288, 14336, 12288, 14336));
    EXPECT_THAT(addresses(Fills(2000).in_loop(2), 12288), IsEmpty()) << "four banks of two";
}

TEST(BankRotationTest, TilesOfALoopOfTheRunTimeReturnToTheirPlaces) {
    ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Psum, Dtype::Float32, {128, 512});
    const auto work = builder.unary(Opcode::TensorCopy, Engine::Vector, tile, tile);
    builder.loop(4).alloc(tile).run(work, {at(affine(0, {2})), at(affine(0, {2}))});
    builder.alloc(tile).run(work, {at(affine(1, {2})), at(affine(1, {2}))}).end();
    program::Program program = builder.build();
    EXPECT_THAT(addresses(program),
                ElementsAre(0,
                            0,
                            2048,
                            2048,
                            4096,
                            4096,
                            6144,
                            6144,
                            8192,
                            8192,
                            10240,
                            10240,
                            12288,
                            12288,
                            14336,
                            14336));
    program.loops.front().kind = program::LoopKind::Runtime;
    EXPECT_THAT(
        addresses(program),
        ElementsAre(0, 0, 2048, 2048, 0, 0, 2048, 2048, 0, 0, 2048, 2048, 0, 0, 2048, 2048));
}

TEST(BankRotationTest, WhatFillsItsBanksSharesNone) {
    const program::Program program = eight_at_once(512);
    const auto rotation = BankRotation::plan(program, analyse_liveness(program), kPsum, 0);
    ASSERT_TRUE(rotation);
    EXPECT_FALSE(rotation->shares_banks());
}

TEST(BankRotationTest, TilesWithoutAnAddressLieAnywhereIfTheyDoNotFitAboveThoseWithOne) {
    ProgramBuilder builder;
    const auto fixed = builder.tile("fixed", Space::Psum, Dtype::Float32, {128, 512}, {{0, 14336}});
    const auto tile = builder.tile("tile", Space::Psum, Dtype::Float32, {128, 512});
    const auto keep = builder.unary(Opcode::TensorCopy, Engine::Vector, fixed, fixed);
    const auto work = builder.unary(Opcode::TensorCopy, Engine::Vector, tile, tile);
    builder.alloc(fixed).alloc(tile).run(keep).run(work);
    const LoweredProgram lowered(builder.build(), {.psum_buffers = PsumBuffers::InTurn});
    const TileMemory& tiles = lowered.lowering().tiles();
    EXPECT_TRUE(tiles.is_in_turn(tile));
    EXPECT_EQ(tiles.psum_banks(), 8);
    EXPECT_THAT(
        tiles.allocation().notes,
        ElementsAre(testing::StartsWith("PSUM: tiles without an address do not fit above")));
}

TEST(BankRotationTest, ATileThatDoesNotLiveHasNoPlace) {
    const program::Program program = Fills(128).in_loop(1);
    auto rotation = BankRotation::plan(program, analyse_liveness(program), kPsum, 0);
    ASSERT_TRUE(rotation);
    EXPECT_EQ(rotation->use(0, 0), std::nullopt) << "not begun";
    rotation->begin(0);
    EXPECT_EQ(rotation->use(0, 0), 0);
    EXPECT_EQ(rotation->use(0, 1), std::nullopt) << "another one";
    EXPECT_EQ(rotation->banks(), 1);
}

TEST(BankRotationTest, AMatmulComesAfterWhoHadItsBankAndNoOtherTile) {
    // Nine products, each copied by an engine that is slower: the ninth has the bank of the first.
    ProgramBuilder builder;
    const auto left = builder.tile("left", Space::Sbuf, Dtype::Bfloat16, {128, 128});
    const auto right = builder.tile("right", Space::Sbuf, Dtype::Bfloat16, {128, 512});
    const auto sum = builder.tile("sum", Space::Psum, Dtype::Float32, {128, 512});
    const auto out = builder.tile("out", Space::Sbuf, Dtype::Float32, {128, 512});
    const auto product = builder.matmul(sum, left, right);
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, out, sum);
    const auto mine = at(affine(0, {1}));
    builder.alloc(left).alloc(right).loop(9).alloc(sum).alloc(out);
    builder.run(product, {mine}).run(copy, {mine, mine}).end();
    const LoweredProgram lowered(builder.build(), {.psum_buffers = PsumBuffers::InTurn});
    const auto& on_tensor = lowered.of(queue_of(Engine::Tensor));
    ASSERT_EQ(on_tensor.size(), 10U) << "one LoadStationary, nine products";
    for (std::size_t i = 1; i < 9; ++i) {
        EXPECT_EQ(test::waits_of(on_tensor[i]), "") << "product " << i;
        EXPECT_EQ(on_tensor[i].psum_banks, 1U << (i - 1));
    }
    EXPECT_EQ(on_tensor[9].psum_banks, 1U);
    EXPECT_EQ(test::waits_of(on_tensor[9]),
              std::to_string(test::done_semaphore(queue_of(Engine::Vector))) + ">=1");
}

}  // namespace
}  // namespace trnsim::lowering
