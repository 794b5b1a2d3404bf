// SPDX-License-Identifier: Apache-2.0
// Rings are dealt out by destination, and say what for.
#include "trnsim/lowering/instructions/ring_plan.hpp"

#include "loads_and_stores.hpp"
#include "lowered_program.hpp"
#include "trnsim/neuron_core/queued_instruction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace trnsim::lowering {
namespace {

using test::LoadsAndStores;
using testing::ElementsAre;

/// As many rings as any policy asks for.
RingPlan plan(const program::Program& program, const Policies& policies) {
    ChipSpec chip;
    chip.dma.rings = 16;
    return plan_rings(program, chip, policies);
}

TEST(RingPlan, EveryDestinationSiteHasARingOfItsOwnAsLongAsThereAreSome) {
    const LoadsAndStores program(4);
    EXPECT_THAT(plan(program.builder.build(), {.dma_rings = 4}).ring,
                ElementsAre(0, 1, 2, 0, 3, 3, 3, 3));
    EXPECT_THAT(plan(program.builder.build(), {.dma_rings = 8}).ring,
                ElementsAre(0, 1, 2, 3, 6, 6, 6, 6));
}

TEST(RingPlan, RingsAreDealtOutInTheOrderOfFirstRunsWhateverTheNumbersOfTheTemplates) {
    test::ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128, 64});
    std::vector<std::uint32_t> loads;
    for (const char* name : {"a", "b", "never_loaded", "c"}) {
        const auto tile = builder.tile(name, Space::Sbuf, Dtype::Float32, {128, 64});
        builder.alloc(tile);
        loads.push_back(builder.copy(tile, in));
    }
    builder.run(loads[3]).run(loads[0]).run(loads[3]).run(loads[1]);
    const RingPlan found = plan(builder.build(), {.dma_rings = 16});
    EXPECT_THAT(found.ring, ElementsAre(1, 2, 0, 0));
    EXPECT_EQ(found.purposes[0], "load c");
    EXPECT_EQ(found.purposes[3], "") << "of what never runs";
}

TEST(RingPlan, EnginesThatTriggerTransfersToOneSiteHaveRingsOfTheirOwn) {
    test::ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128, 64});
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto load = [&](Attributes attributes) {
        attributes.dge = DgeMode::Hardware;
        return builder.add(Opcode::DmaCopy,
                           {Engine::Dma},
                           {builder.whole(Role::Dst, tile), builder.whole(Role::Src, in)},
                           attributes);
    };
    builder.alloc(tile);
    for (const auto& engine : {std::optional(Engine::Sync),
                               std::optional(Engine::Scalar),
                               std::optional<Engine>(),
                               std::optional(Engine::Sync)}) {
        builder.run(load({.trigger = engine}));
    }
    EXPECT_THAT(plan(builder.build(), {.dma_rings = 2}).ring, ElementsAre(2, 3, 0, 2));
    EXPECT_THAT(plan(builder.build(), {.dma_rings = 15}).ring, ElementsAre(0, 1, 2, 0))
        << "the last one is for exchanges; none are left";
    EXPECT_THAT(plan(builder.build(), {.ring_assignment = RingAssignment::Single}).ring,
                ElementsAre(0, 0, 0, 0));
}

TEST(RingPlan, ExchangesAreOnTheLastRingOfTheChip) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto other = builder.tile("other", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto in = builder.input("in", Dtype::Float32, {128, 64});
    builder.alloc(tile).alloc(other).run(builder.copy(tile, in));
    builder.run(builder.add(Opcode::Sendrecv,
                            {Engine::Dma},
                            {builder.whole(Role::Dst, other), builder.whole(Role::Src, tile)},
                            {.send_to = 1, .recv_from = 1}));
    const auto on = [&](int rings) {
        ChipSpec chip;
        chip.dma.rings = rings;
        return plan_rings(builder.build(), chip, {});
    };
    EXPECT_THAT(on(16).ring, ElementsAre(0, 15));
    EXPECT_THAT(on(8).ring, ElementsAre(0, 7));
    EXPECT_THAT(on(1).ring, ElementsAre(0, 0));
    EXPECT_EQ(on(1).purposes[0], "load tile, exchange");
}

TEST(RingPlan, WhatGpsimdHasToDescribeIsOnARingOfIts) {
    test::ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Bfloat16, {128, 64});
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Bfloat16, {128, 64});
    const auto wide = builder.tile("wide", Space::Sbuf, Dtype::Float32, {128, 64});
    builder.alloc(tile).alloc(wide);
    builder.run(builder.copy(tile, in)).run(builder.copy(wide, in));
    const auto rings = [&](const std::string& chip, DgePolicy dge) {
        const Policies policies{.dma_rings = 2, .dge = dge};
        return plan_rings(builder.build(), test::chip_named(chip), policies).ring;
    };
    EXPECT_THAT(rings("trainium2", DgePolicy::Auto), ElementsAre(0, 2)) << "a cast";
    EXPECT_THAT(rings("trainium2", DgePolicy::Dynamic), ElementsAre(0, 0)) << "as all others";
    EXPECT_THAT(rings("trainium1", DgePolicy::Auto), ElementsAre(0, 0)) << "no hardware for others";
}

TEST(RingPlan, ScratchIsStoredAndLoadedOnRingsOfItsOwn) {
    test::ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128, 64});
    const auto scratch = builder.output("scratch", Dtype::Float32, {128, 64});
    const auto out = builder.output("out", Dtype::Float32, {128, 64});
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    builder.alloc(tile);
    for (const auto& [dst, src] : {std::pair(tile, in),
                                   std::pair(scratch, tile),
                                   std::pair(tile, scratch),
                                   std::pair(out, tile)}) {
        builder.run(builder.copy(dst, src));
    }
    EXPECT_THAT(plan(builder.build(), {.dma_rings = 2}).ring, ElementsAre(0, 2, 3, 1));
}

TEST(RingPlan, OneRingTakesAllTransfersIfThePolicySaysSo) {
    const LoadsAndStores program(3);
    EXPECT_THAT(plan(program.builder.build(), {.ring_assignment = RingAssignment::Single}).ring,
                ElementsAre(0, 0, 0, 0, 0, 0));
    EXPECT_THAT(plan(program.builder.build(), {.dma_rings = 1}).ring,
                ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(RingPlan, PlannedLoadsShareARingWithStoresAndOtherLoadsHaveTheRest) {
    LoadsAndStores program(4);
    program.builder.run(0);  // The stores have a load behind them.
    const program::Program built = program.builder.build();
    ChipSpec chip;
    chip.dma.rings = 16;
    std::vector<bool> planned(built.buffers.size());
    planned[program.tiles[1]] = planned[program.tiles[3]] = true;
    const auto rings = [&](std::int64_t count) {
        return plan_rings(built, chip, {.dma_rings = count}, planned).ring;
    };
    EXPECT_THAT(rings(2), ElementsAre(1, 0, 1, 0, 0, 0, 0, 0));
    EXPECT_THAT(rings(3), ElementsAre(1, 0, 2, 0, 0, 0, 0, 0));
    EXPECT_THAT(rings(1), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
}

/// A tile whose load is planned, with a tensor to store it to.
struct PlannedTile {
    test::ProgramBuilder builder;
    std::uint32_t in = builder.input("in", Dtype::Float32, {128, 64});
    std::uint32_t out = builder.output("out", Dtype::Float32, {128, 64});
    std::uint32_t tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    std::uint32_t load = 0;

    PlannedTile() {
        builder.alloc(tile);
        load = builder.copy(tile, in);
    }

    /// Where there are two rings.
    [[nodiscard]] std::vector<int> rings(const program::Program& program) const {
        std::vector<bool> planned(program.buffers.size());
        planned[tile] = true;
        ChipSpec chip;
        chip.dma.rings = 16;
        return plan_rings(program, chip, {.dma_rings = 2}, planned).ring;
    }
};

/// The rings of a load that is planned and of a store, two in all; `run` says where they run.
template <typename Run>
std::pair<int, int> rings_beside_a_planned_load(
    Run&& run, program::LoopKind kind = program::LoopKind::Affine) {
    PlannedTile of;
    const auto store = of.builder.copy(of.out, of.tile);
    run(of.builder, of.load, store);
    program::Program program = of.builder.build();
    for (program::Loop& loop : program.loops) {
        loop.kind = kind;
    }
    const std::vector<int> ring = of.rings(program);
    return {ring[of.load], ring[store]};
}

TEST(RingPlan, StoresThatNoLoadComesAfterDoNotWaitForThoseBeforeThem) {  // Decision 0045.
    using Builder = test::ProgramBuilder;
    using Template = std::uint32_t;
    const auto behind = [](Builder& builder, Template load, Template store) {
        builder.loop(4).run(load).end().loop(4).run(store).end();
    };
    EXPECT_EQ(rings_beside_a_planned_load(behind), std::pair(0, 1));
    const auto once = [](Builder& builder, Template load, Template store) {
        builder.loop(1).loop(4).run(load).end().run(store).end();
    };
    EXPECT_EQ(rings_beside_a_planned_load(once), std::pair(0, 1));
    EXPECT_EQ(rings_beside_a_planned_load(once, program::LoopKind::Runtime), std::pair(0, 0));
}

TEST(RingPlan, StoresToOneTensorAreApartIfALoadComesAfterSomeOfThemOnly) {
    PlannedTile of;
    const auto store = [&of] { return of.builder.copy(of.out, of.tile); };
    of.builder.run(of.load).run(store()).run(of.load).run(store());
    EXPECT_THAT(of.rings(of.builder.build()), ElementsAre(0, 0, 1));
}

TEST(RingPlan, StoresThatALoadComesAfterKeepThePlansOrder) {
    using Builder = test::ProgramBuilder;
    using Template = std::uint32_t;
    const auto again = [](Builder& builder, Template load, Template store) {
        builder.loop(2).loop(4).run(load).end().run(store).end();
    };
    EXPECT_EQ(rings_beside_a_planned_load(again), std::pair(0, 0));
    const auto before = [](Builder& builder, Template load, Template store) {
        builder.run(load).loop(4).run(store).end().loop(1).run(load).end();
    };
    EXPECT_EQ(rings_beside_a_planned_load(before), std::pair(0, 0));
    const auto sometimes = [](Builder& builder, Template load, Template store) {
        builder.run(load).run(store).run(load).run(store);
    };
    EXPECT_EQ(rings_beside_a_planned_load(sometimes), std::pair(0, 0));
    const auto inside = [](Builder& builder, Template load, Template store) {
        builder.run(load).loop(2).run(store).loop(1).run(load).end().end();
    };
    EXPECT_EQ(rings_beside_a_planned_load(inside), std::pair(0, 0));
}

TEST(RingPlan, AChipWithFewerRingsThanThePolicyWantsUsesAllOfThem) {
    const LoadsAndStores program(4);
    ChipSpec chip;
    chip.dma.rings = 2;
    EXPECT_THAT(plan_rings(program.builder.build(), chip, {.dma_rings = 8}).ring,
                ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

TEST(RingPlan, ARingTellsItsPurpose) {
    const LoadsAndStores program(4);
    const RingPlan found = plan(program.builder.build(), {.dma_rings = 4});
    ASSERT_EQ(found.purposes.size(), static_cast<std::size_t>(neuron_core::kDmaRings));
    EXPECT_EQ(found.purposes[0], "load tile0, load tile3");
    EXPECT_EQ(found.purposes[3], "store out");
    EXPECT_EQ(found.purposes[9], "");
}

}  // namespace
}  // namespace trnsim::lowering
