// SPDX-License-Identifier: Apache-2.0
// A memory that all sites share: whose bytes count, and until when.
#include "trnsim/lowering/order/tile_memory.hpp"

#include "lowered_program.hpp"
#include "support/program_builder.hpp"
#include "trnsim/lowering/order/planned_step.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace trnsim::lowering {
namespace {

using test::affine;
using test::at;

class NoMover : public TileMemory::Mover {
public:
    void save(Tile& /*tile*/) override {}
    void reload(Tile& /*tile*/) override {}
};

/// Tiles of 1 KiB per partition in 2 KiB of SBUF: the first is used twice at once, the others once
/// each and then twice more.
class TileMemoryTest : public testing::Test {
protected:
    explicit TileMemoryTest(Space space = Space::Sbuf,
                            std::int64_t count = 4,
                            const Policies& policies = {})
        : program_(uses(space, count)),
          memory_(program_, analyse_liveness(program_), chip(), policies, mover_) {
        for (std::int64_t tile = 0; tile < count; ++tile) {
            memory_.begin(0);
        }
    }

    [[nodiscard]] Tile& tile(std::int64_t instance) { return *memory_.find(0, instance); }

    /// The next step of the program, which uses an instance.
    PlannedStep step(std::int64_t instance) {
        PlannedStep step;
        step.order = steps_++;
        step.operands.push_back({.tile = &tile(instance)});
        memory_.admit(step);
        return step;
    }

    [[nodiscard]] bool may_take(const PlannedStep& step) const {
        return !memory_.obstacle_ahead(step).stands();
    }

    NoMover mover_;
    program::Program program_;
    TileMemory memory_;

private:
    static ChipSpec chip() {
        ChipSpec chip = test::chip_named("trainium2");
        chip.neuron_core.sbuf.usable_partition_kib = 2;
        return chip;
    }

    static program::Program uses(Space space, std::int64_t count) {
        test::ProgramBuilder builder;
        const auto tile = builder.tile("tile", space, Dtype::Float32, {128, 256});
        const auto fill = builder.add(
            Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, tile)}, {.value = 1.0});
        builder.alloc(tile).run(fill, {at(affine(0))}).run(fill, {at(affine(0))});
        for (std::int64_t i = 1; i < count; ++i) {
            builder.alloc(tile).run(fill, {at(affine(i))});
        }
        for (std::int64_t i = 1; i < count; ++i) {
            builder.run(fill, {at(affine(i))}).run(fill, {at(affine(i))});
        }
        return builder.build();
    }

    std::uint64_t steps_ = 0;
};

TEST_F(TileMemoryTest, WhoseTilesHaveBytesMayAlwaysGoAhead) {
    const PlannedStep first = step(1);
    const PlannedStep second = step(2);
    const PlannedStep third = step(1);
    EXPECT_FALSE(may_take(third)) << "the first two fill the memory";
    memory_.give_bytes(tile(1), first, 1);
    EXPECT_TRUE(may_take(third));
}

TEST_F(TileMemoryTest, WhatComesBackWasCountedAtItsFirstUse) {
    const PlannedStep first = step(1);
    const PlannedStep second = step(2);
    const PlannedStep third = step(1);
    tile(1).is_spilled = true;
    EXPECT_TRUE(may_take(third));
}

TEST_F(TileMemoryTest, WhatComesBackTakesNothingAheadOfItsTurn) {
    const PlannedStep first = step(1);
    const PlannedStep second = step(1);
    const PlannedStep third = step(2);
    tile(1).is_spilled = true;
    memory_.give_bytes(tile(1), second, 1);
    EXPECT_TRUE(may_take(third)) << "1 and 2 fit, and 1 is counted from the first step on";
}

TEST_F(TileMemoryTest, BytesTakenAheadOfItsTurnCountForThoseThatArePassed) {
    const PlannedStep first = step(0);
    const PlannedStep second = step(0);  // Its last use.
    const PlannedStep third = step(1);
    const PlannedStep fourth = step(2);
    EXPECT_TRUE(may_take(fourth));
    memory_.give_bytes(tile(0), first, 1);
    memory_.give_bytes(tile(1), third, 2);
    EXPECT_FALSE(may_take(fourth)) << "0 and 1 fill the memory at the second step";
}

TEST_F(TileMemoryTest, ARefusedStepMayAskAgainWhenAnotherOneTakesTheBytesOfItsTile) {
    for (const std::int64_t earlier : {1, 2, 1, 1}) {
        step(earlier);
    }
    PlannedStep refused = step(0);
    const PlannedStep later = step(0);
    refused.lack = memory_.obstacle(refused);
    ASSERT_TRUE(refused.lack.stands()) << "1 and 2 fill the memory until 1 has had its last use";
    tile(0).pending.add(refused, refused.order, {}, Access::Read);
    memory_.give_bytes(tile(0), later, 1);
    EXPECT_FALSE(refused.lack.stands());
    EXPECT_FALSE(memory_.obstacle(refused).stands());
}

TEST_F(TileMemoryTest, AStepThatIsOverMayLetOthersTakeBytes) {
    const PlannedStep first = step(0);
    EXPECT_TRUE(memory_.retire(first));
}

/// Sixteen of these fill PSUM.
class TileMemoryOfPsum : public TileMemoryTest {
protected:
    explicit TileMemoryOfPsum(const Policies& policies = {})
        : TileMemoryTest(Space::Psum, 24, policies) {}
};

TEST_F(TileMemoryOfPsum, HoldsBackWhereEnginesKeepTheirOrder) {
    const PlannedStep first = step(1);
    for (std::int64_t tile = 2; tile <= 16; ++tile) {
        EXPECT_TRUE(may_take(step(tile)));
    }
    EXPECT_FALSE(may_take(step(1)));
    EXPECT_TRUE(memory_.retire(first));
}

class TileMemoryOfPsumInAnyOrder : public TileMemoryOfPsum {
protected:
    TileMemoryOfPsumInAnyOrder() : TileMemoryOfPsum({.reorder_window = 16}) {}
};

TEST_F(TileMemoryOfPsumInAnyOrder, HoldsNobodyBack) {
    const PlannedStep first = step(1);
    for (std::int64_t tile = 2; tile < 23; ++tile) {
        EXPECT_TRUE(may_take(step(tile)));
    }
    EXPECT_TRUE(may_take(step(1)));
    EXPECT_FALSE(memory_.retire(first));
    EXPECT_TRUE(memory_.can_spill());
}

}  // namespace
}  // namespace trnsim::lowering
