// SPDX-License-Identifier: Apache-2.0
// Merged iterations: which are, which are not, and that nothing else changes.
#include "trnsim/lowering/analysis/iteration_merging.hpp"

#include "merging_programs.hpp"
#include "split_loops.hpp"
#include "support/program_builder.hpp"
#include "support/random_program.hpp"
#include "symbolic_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace trnsim::lowering {
namespace {

using test::affine;
using test::at;
using test::Counts;
using test::executed;
using test::kRows;
using test::Maxima;
using test::merged;
using test::ProgramBuilder;

/// Loads `width` columns per iteration, works on them, stores them.
struct Stream {
    explicit Stream(std::int64_t columns, std::int64_t iterations)
        : width(columns), trips(iterations) {}

    std::int64_t width;
    std::int64_t trips;
    ProgramBuilder builder;
    std::uint32_t in = builder.input("in", Dtype::Float32, {kRows, width* trips});
    std::uint32_t out = builder.output("out", Dtype::Float32, {kRows, width* trips});
    std::uint32_t x = builder.tile("x", Space::Sbuf, Dtype::Float32, {kRows, width});
    std::uint32_t y = builder.tile("y", Space::Sbuf, Dtype::Float32, {kRows, width});
    std::uint32_t load = builder.add(
        Opcode::DmaCopy, {Engine::Dma}, {builder.whole(Role::Dst, x), slice(Role::Src, in)});
    std::uint32_t work = builder.unary(Opcode::TensorCopy, Engine::Vector, y, x);
    std::uint32_t store = builder.add(
        Opcode::DmaCopy, {Engine::Dma}, {slice(Role::Dst, out), builder.whole(Role::Src, y)});

    /// Columns of every row of a tensor in HBM.
    [[nodiscard]] Operand slice(Role role, std::uint32_t buffer) const {
        return builder.rows(role, buffer, kRows, width);
    }

    program::Program build() {
        const auto tile = affine(0, {1});
        const auto columns = at({}, affine(0, {width}));
        builder.loop(trips)
            .alloc(x)
            .alloc(y)
            .run(load, {at(tile), columns})
            .run(work, {at(tile), at(tile)})
            .run(store, {columns, at(tile)})
            .end();
        return builder.build();
    }
};

TEST(IterationMergingTest, SmallTilesGrowToAPsumBank) {
    const program::Program program = Stream(128, 16).build();
    const program::Program after = merged(program);
    EXPECT_EQ(executed(after),
              (Counts{{"dma_copy 2048", 4}, {"dma_copy 512", 4}, {"tensor_copy 512", 4}}));
    EXPECT_EQ(test::symbolic_values(after), test::symbolic_values(program));
}

TEST(IterationMergingTest, TilesOfABankStayAsTheyAre) {
    const program::Program program = Stream(512, 16).build();
    EXPECT_EQ(merged(program), program);
}

TEST(IterationMergingTest, OnlyADivisorOfTheTripsIsMerged) {
    EXPECT_EQ(executed(merged(Stream(100, 7).build())), executed(Stream(100, 7).build()));
    EXPECT_EQ(executed(merged(Stream(100, 6).build()))["tensor_copy 300"], 2);
}

TEST(IterationMergingTest, NarrowInstructionsOfAllIterationsBecomeOne) {
    const program::Program program = Maxima(8).build();
    const program::Program after = merged(program);
    Counts counts = executed(after);
    EXPECT_EQ(counts["reciprocal 8"], 1);
    EXPECT_EQ(counts["tensor_reduce 1"], 8);
    EXPECT_EQ(counts["tensor_scalar 1024"], 8);
    EXPECT_EQ(test::symbolic_values(after), test::symbolic_values(program));
}

TEST(IterationMergingTest, OnlySoManyIterationsAreMergedAsTilesFitIntoHalfOfSbuf) {
    Counts counts = executed(merged(Maxima(64).build()));
    EXPECT_EQ(counts["reciprocal 8"], 8);  // 8 tiles x and y of 4 KiB; 16 would be 128 of 192 KiB.
}

TEST(IterationMergingTest, ALoopWhoseIterationsMeetStaysAsItIs) {
    ProgramBuilder builder;
    const auto sum = builder.tile("sum", Space::Sbuf, Dtype::Float32, {kRows, 1});
    const auto x = builder.tile("x", Space::Sbuf, Dtype::Float32, {kRows, 1});
    const auto fill = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, x)}, {.value = 1.0});
    const auto add = builder.add(Opcode::TensorTensor,
                                 {Engine::Vector},
                                 {builder.whole(Role::Dst, sum),
                                  builder.whole(Role::Data1, sum),
                                  builder.whole(Role::Data2, x)},
                                 {.op0 = "add"});
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, x, sum);
    builder.alloc(sum).loop(8).alloc(x);
    builder.run(fill, {at(affine(0, {1}))})
        .run(add, {at(), at(), at(affine(0, {1}))})
        .run(copy, {at(affine(0, {1})), at()})
        .end();
    const program::Program program = builder.build();
    EXPECT_EQ(merged(program), program);
}

/// One tensor of which every iteration copies a row of `kRow` elements to `to` elements further on.
program::Program copies_in_place(std::int64_t to) {
    constexpr std::int64_t kRow = 8;
    ProgramBuilder builder;
    const auto all = builder.tile("all", Space::Sbuf, Dtype::Float32, {kRows, 16 * kRow});
    const auto out = builder.output("out", Dtype::Float32, {kRows, 16 * kRow});
    const auto copy =
        builder.add(Opcode::TensorCopy,
                    {Engine::Vector},
                    {builder.part(Role::Dst, all, kRow), builder.part(Role::Data, all, kRow)});
    builder.alloc(all).run(
        builder.copy(all, builder.input("in", Dtype::Float32, {kRows, 16 * kRow})));
    builder.loop(8)
        .run(copy, {at({}, affine(to, {kRow})), at({}, affine(0, {kRow}))})
        .end()
        .run(builder.copy(out, all));
    return builder.build();
}

TEST(IterationMergingTest, AnInstructionThatReadsWhatAnotherIterationWroteStaysAsItIs) {
    const program::Program shifted = copies_in_place(8);
    EXPECT_EQ(merged(shifted), shifted);
    const program::Program in_place = copies_in_place(0);
    EXPECT_EQ(executed(merged(in_place))["tensor_copy 64"], 1);
    EXPECT_EQ(test::symbolic_values(merged(in_place)), test::symbolic_values(in_place));
}

TEST(IterationMergingTest, ALoopInOrderStaysAsItIs) {
    ProgramBuilder builder;
    const auto x = builder.tile("x", Space::Sbuf, Dtype::Float32, {kRows, 1});
    const auto fill = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, x)}, {.value = 1.0});
    builder.loop(8, true).alloc(x).run(fill, {at(affine(0, {1}))}).end();
    const program::Program program = builder.build();
    EXPECT_EQ(merged(program), program);
}

/// Small fills in a loop, with a loop around it and another one in it.
program::Program fills_in_loops(bool is_outer_in_order, bool is_inner_in_order) {
    ProgramBuilder builder;
    const auto x = builder.tile("x", Space::Sbuf, Dtype::Float32, {kRows, 1});
    const auto y = builder.tile("y", Space::Sbuf, Dtype::Float32, {kRows, 1});
    const auto fill = [&](std::uint32_t tile) {
        return builder.add(
            Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, tile)}, {.value = 1.0});
    };
    const auto one = fill(x);
    const auto other = fill(y);
    builder.loop(2, is_outer_in_order).loop(8).alloc(x).run(one, {at(affine(0, {8, 1}))});
    builder.loop(3, is_inner_in_order).alloc(y).run(other, {at(affine(0, {24, 3, 1}))}).end();
    builder.end().end();
    return builder.build();
}

TEST(IterationMergingTest, ALoopAroundOrInsideOfOneInOrderStaysAsItIs) {
    EXPECT_NE(merged(fills_in_loops(false, false)), fills_in_loops(false, false));
    EXPECT_EQ(merged(fills_in_loops(true, false)), fills_in_loops(true, false));
    EXPECT_EQ(executed(merged(fills_in_loops(false, true))), executed(fills_in_loops(false, true)));
}

TEST(IterationMergingTest, BytesThatAreReadAsAnotherTypeAreNotTakenApart) {
    const auto program_with = [](Dtype read_as) {
        ProgramBuilder builder;
        const auto all = builder.tile("all", Space::Sbuf, Dtype::Float32, {kRows, 64});
        const auto out = builder.tile("out", Space::Sbuf, read_as, {kRows, 64});
        const auto column = [&](Role role, std::uint32_t buffer, Dtype dtype) {
            Operand operand = builder.part(role, buffer, 1);
            operand.dtype = dtype;
            return operand;
        };
        const auto fill = builder.add(Opcode::Memset,
                                      {Engine::Vector},
                                      {column(Role::Dst, all, Dtype::Float32)},
                                      {.value = 1.0});
        const auto copy =
            builder.add(Opcode::TensorCopy,
                        {Engine::Vector},
                        {column(Role::Dst, out, read_as), column(Role::Data, all, read_as)});
        const auto step = at({}, affine(0, {1}));
        builder.alloc(all).alloc(out).loop(64).run(fill, {step}).run(copy, {step, step}).end();
        return builder.build();
    };
    EXPECT_NE(merged(program_with(Dtype::Float32)), program_with(Dtype::Float32));
    EXPECT_EQ(merged(program_with(Dtype::Bfloat16)), program_with(Dtype::Bfloat16));
}

/// Loops over a chain of small instructions on tiles of their own, some of them in a loop inside.
class Chains {
public:
    explicit Chains(unsigned seed) : random_(seed) {}

    program::Program make() {
        trips_ = 2 + roll(7);
        const std::int64_t chunks = 1 + roll(3);
        width_ = chunks * (1 + roll(3)) * (one_in(2) ? 1 : 64);
        const std::int64_t chunk = width_ / chunks;
        const auto in = builder_.input("in", Dtype::Float32, {kRows, width_ * trips_});
        const auto out = builder_.output("out", Dtype::Float32, {kRows, width_ * trips_});
        std::vector<std::uint32_t> tiles;
        const std::int64_t links = 2 + roll(5);
        for (std::int64_t i = 0; i <= links; ++i) {
            tiles.push_back(builder_.tile(
                "t" + std::to_string(i), Space::Sbuf, Dtype::Float32, {kRows, width_}));
        }
        const Operand from = builder_.rows(Role::Src, in, kRows, width_);
        const Operand to = builder_.rows(Role::Dst, out, kRows, width_);
        const auto load = builder_.add(
            Opcode::DmaCopy, {Engine::Dma}, {builder_.whole(Role::Dst, tiles.front()), from});
        const auto store = builder_.add(
            Opcode::DmaCopy, {Engine::Dma}, {to, builder_.whole(Role::Src, tiles.back())});

        const bool is_nested = one_in(2);  // In a loop around.
        if (is_nested) {
            builder_.loop(2);
        }
        builder_.loop(trips_);
        const auto tile = is_nested ? affine(0, {trips_, 1}) : affine(0, {1});
        const auto columns = is_nested ? affine(0, {0, width_}) : affine(0, {width_});
        for (const std::uint32_t site : tiles) {
            builder_.alloc(site);
        }
        builder_.run(load, {at(tile), at({}, columns)});
        for (std::size_t i = 0; i + 1 < tiles.size(); ++i) {
            link(tiles[i], tiles[i + 1], tile, chunk, is_nested);
        }
        builder_.run(store, {at({}, columns), at(tile)}).end();
        if (is_nested) {
            builder_.end();
        }
        return builder_.build();
    }

private:
    std::int64_t roll(std::int64_t sides) {
        return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(sides));
    }
    bool one_in(std::int64_t sides) { return roll(sides) == 0; }

    void link(std::uint32_t from,
              std::uint32_t to,
              const program::Affine& tile,
              std::int64_t chunk,
              bool is_nested) {
        if (one_in(3)) {  // Chunk by chunk.
            const auto part = builder_.add(
                Opcode::Activation,
                {Engine::Scalar},
                {builder_.part(Role::Dst, to, chunk), builder_.part(Role::Data, from, chunk)},
                {.function = "exp"});
            const auto offset = is_nested ? affine(0, {0, 0, chunk}) : affine(0, {0, chunk});
            builder_.loop(width_ / chunk).run(part, {at(tile, offset), at(tile, offset)}).end();
        } else if (one_in(4)) {
            const auto shuffle =
                builder_.add(Opcode::NcStreamShuffle,
                             {Engine::Vector},
                             {builder_.whole(Role::Dst, to), builder_.whole(Role::Data, from)},
                             {.mask = std::vector<std::int32_t>(32)});
            builder_.run(shuffle, {at(tile), at(tile)});
        } else {
            const auto copy = builder_.unary(Opcode::TensorCopy, Engine::Vector, to, from);
            builder_.run(copy, {at(tile), at(tile)});
        }
    }

    std::mt19937_64 random_;
    ProgramBuilder builder_;
    std::int64_t trips_ = 1;
    std::int64_t width_ = 1;
};

class RandomMergingTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomMergingTest, ComputesTheSameFromTheSame) {
    const program::Program program = Chains(GetParam()).make();
    const program::Program after = merged(program);
    EXPECT_EQ(test::symbolic_values(after), test::symbolic_values(program));
    EXPECT_LE(after.instruction_count, program.instruction_count);
}

TEST_P(RandomMergingTest, DoesTheSameToLoopsThatAreSplitInTwo) {
    const program::Program program = Chains(GetParam()).make();
    const program::Program split = test::with_split_loops(program);
    ASSERT_EQ(test::symbolic_values(split), test::symbolic_values(program));
    EXPECT_EQ(executed(merged(split)), executed(merged(program)));
    EXPECT_EQ(test::symbolic_values(merged(split)), test::symbolic_values(program));
}

TEST_P(RandomMergingTest, ComputesTheSameForAnyProgram) {
    const program::Program program = test::random_program(
        GetParam(), {.sbuf_elements = 128, .items = 16, .old_tile_one_in = 100});
    EXPECT_EQ(test::symbolic_values(merged(program)), test::symbolic_values(program));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMergingTest, ::testing::Range(0U, 40U));

TEST(IterationMergingTest, ManyRandomLoopsAreMerged) {
    int count = 0;
    for (unsigned seed = 0; seed < 40; ++seed) {
        const program::Program program = Chains(seed).make();
        count += merged(program).instruction_count < program.instruction_count ? 1 : 0;
    }
    EXPECT_GE(count, 20);
}

}  // namespace
}  // namespace trnsim::lowering
