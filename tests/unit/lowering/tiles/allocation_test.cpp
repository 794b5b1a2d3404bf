// SPDX-License-Identifier: Apache-2.0
// Allocation: who gets how many slots where, and what gives when memory is short.
#include "trnsim/lowering/tiles/allocation.hpp"

#include "support/program_builder.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/lowering/analysis/liveness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace trnsim::lowering {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Sites with the lives given; no instructions are needed.
class Sites {
public:
    /// `bytes` per partition, alive from step `first` to `last`.
    std::uint32_t add(Space space,
                      std::int64_t bytes,
                      std::int64_t live,
                      std::int64_t instances,
                      std::int64_t first = 0,
                      std::int64_t last = 100) {
        const auto id = static_cast<std::uint32_t>(program_.buffers.size());
        program_.buffers.push_back({.name = "site" + std::to_string(id),
                                    .space = space,
                                    .dtype = Dtype::Uint8,
                                    .shape = {128, bytes},
                                    .source = {{.file = 0, .line = 10 + id}}});
        liveness_.push_back(
            {.instances = instances, .live_peak = live, .first_step = first, .last_step = last});
        return id;
    }

    /// Lets a DMA write the site's tiles.
    void load(std::uint32_t id) {
        program_.templates.push_back(
            {.op = Opcode::DmaCopy,
             .engines = {Engine::Dma},
             .operands = {{.role = Role::Dst, .access = Access::Write, .buffer = id}}});
    }

    /// A site whose tiles the program puts at a byte of its own choice.
    std::uint32_t add_fixed(Space space, std::int64_t bytes, std::int64_t byte) {
        const std::uint32_t id = add(space, bytes, 1, 1);
        program_.buffers[id].address.emplace(0, byte);
        return id;
    }

    [[nodiscard]] Allocation allocate(const Policies& policies = {},
                                      const std::vector<LoadPlan::Need>& loads = {}) const {
        return lowering::allocate(program_, liveness_, chip_, policies, loads);
    }

    [[nodiscard]] std::string error(const Policies& policies = {}) const {
        try {
            static_cast<void>(allocate(policies));
        } catch (const ProgramError& error) {
            return error.what();
        }
        return "no error";
    }

    [[nodiscard]] const program::Program& program() const { return program_; }
    [[nodiscard]] const std::vector<SiteLiveness>& liveness() const { return liveness_; }
    DmaSpec& dma() { return chip_.dma; }
    NeuronCoreSpec& core() { return chip_.neuron_core; }
    [[nodiscard]] const NeuronCoreSpec& core() const { return chip_.neuron_core; }

private:
    static ChipSpec small_chip() {
        ChipSpec chip;
        chip.neuron_core.sbuf.usable_partition_kib = 16;
        chip.neuron_core.psum.banks = 4;
        chip.neuron_core.psum.bank_bytes = 2048;
        return chip;
    }

    program::Program program_{.files = {"kernel.py"}};
    std::vector<SiteLiveness> liveness_;
    ChipSpec chip_ = small_chip();
};

TEST(AllocationTest, ASiteGetsAsManySlotsAsItHasLiveTiles) {
    Sites sites;
    const auto site = sites.add(Space::Sbuf, kKib, 3, 100);
    EXPECT_EQ(sites.allocate().sites[site].slots, 3);
}

TEST(AllocationTest, FactorAndExtraAddSlotsAndAreRoundedDown) {
    Sites sites;
    const auto site = sites.add(Space::Sbuf, kKib, 3, 100);
    EXPECT_EQ(sites.allocate({.buffer_factor = 1.25, .buffer_extra = 2}).sites[site].slots, 5);
    EXPECT_EQ(sites.allocate({.buffer_factor = 3.0}).sites[site].slots, 9);
}

TEST(AllocationTest, OneSlotAndWhatTheDmaEnginesFillInATimeAreEnoughForLoads) {
    std::int64_t engines = 16;
    const auto slots = [&engines](
                           std::int64_t tile_bytes, std::int64_t time, bool is_loaded = true) {
        Sites sites;
        sites.dma().engines = engines;
        sites.dma().engine_gb_per_s = GigabytesPerSecond{8.0};  // A byte of a partition each ns.
        const auto site = sites.add(Space::Sbuf, tile_bytes, 1, 100);
        if (is_loaded) {
            sites.load(site);
        }
        return sites.allocate({.buffer_factor = 4.0, .buffer_ns = time}).sites[site].slots;
    };
    EXPECT_EQ(slots(1024, 1024), 2);
    EXPECT_EQ(slots(1024, 1025), 3);
    EXPECT_EQ(slots(1024, 3072), 4);
    EXPECT_EQ(slots(1024, 9000), 4) << "no more than the factor asks for";
    EXPECT_EQ(slots(1024, 0), 4) << "no limit";
    EXPECT_EQ(slots(2048, 1024), 2);
    EXPECT_EQ(slots(2048, 1, false), 4) << "computed";
    engines = 32;
    EXPECT_EQ(slots(1024, 1024), 2) << "half of them serve no partitions";
}

TEST(AllocationTest, EveryLiveTileThatIsLoadedHasThatManySlots) {
    Sites sites;
    const auto site = sites.add(Space::Sbuf, kKib, 3, 100);
    sites.load(site);
    EXPECT_EQ(sites.allocate({.buffer_factor = 4.0, .buffer_ns = 1}).sites[site].slots, 6);
}

// "Tensors allocated inside the loop body are allocated once and reused." [NKI-DYNAMIC-LOOPS]
TEST(AllocationTest, EveryIterationOfALoopOfTheRunTimeHasItsTilesAtTheSamePlaces) {
    const auto slots = [](program::LoopKind outer, program::LoopKind inner, double factor = 4.0) {
        test::ProgramBuilder builder;
        const auto once = builder.tile("once", Space::Sbuf, Dtype::Float32, {128, 16});
        const auto thrice = builder.tile("thrice", Space::Sbuf, Dtype::Float32, {128, 16});
        const auto copy = [&](std::uint32_t tile) {
            return builder.unary(Opcode::TensorCopy, Engine::Vector, tile, tile);
        };
        builder.loop(10).alloc(once).run(copy(once));
        builder.loop(3).alloc(thrice).run(copy(thrice)).end().end();
        program::Program program = builder.build();
        program.loops[0].kind = outer;
        program.loops[1].kind = inner;
        const Allocation result =
            allocate(program, analyse_liveness(program), ChipSpec{}, {.buffer_factor = factor});
        return std::pair{result.sites[once].slots, result.sites[thrice].slots};
    };
    using program::LoopKind;
    EXPECT_EQ(slots(LoopKind::Static, LoopKind::Static), std::pair(4L, 4L));
    EXPECT_EQ(slots(LoopKind::Runtime, LoopKind::Static), std::pair(1L, 3L));
    EXPECT_EQ(slots(LoopKind::Static, LoopKind::Runtime), std::pair(4L, 1L));
    EXPECT_EQ(slots(LoopKind::Runtime, LoopKind::Runtime), std::pair(1L, 1L));
    EXPECT_EQ(slots(LoopKind::Runtime, LoopKind::Static, 1.0), std::pair(1L, 3L));
    EXPECT_EQ(slots(LoopKind::Static, LoopKind::Static, 1.0), std::pair(1L, 1L));
}

/// A tile twice outside of loops, and one in a loop of ten in a loop of five; 3 slots for each live
/// tile.
Allocation allocated_in(program::LoopKind outer, program::LoopKind inner, bool unrolled_buffers) {
    test::ProgramBuilder builder;
    const auto before = builder.tile("before", Space::Sbuf, Dtype::Float32, {128, 16});
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 16});
    const auto copy = [&](std::uint32_t of) {
        return builder.unary(Opcode::TensorCopy, Engine::Vector, of, of);
    };
    builder.alloc(before).run(copy(before)).alloc(before).run(copy(before));
    builder.loop(5).loop(10).alloc(tile).run(copy(tile)).end().end();
    program::Program program = builder.build();
    program.loops[0].kind = outer;
    program.loops[1].kind = inner;
    return allocate(program,
                    analyse_liveness(program),
                    ChipSpec{},
                    {.buffer_factor = 3.0, .unrolled_buffers = unrolled_buffers});
}

TEST(AllocationTest, TilesInNoLoopButPythonsGetOnlyTheSlotsThatAreAliveIfThePolicySaysSo) {
    const auto slots = [](program::LoopKind outer, program::LoopKind inner, bool unrolled_buffers) {
        const Allocation result = allocated_in(outer, inner, unrolled_buffers);
        return std::pair{result.sites[0].slots, result.sites[1].slots};
    };
    using program::LoopKind;
    EXPECT_EQ(slots(LoopKind::Python, LoopKind::Static, true), std::pair(2L, 3L));
    EXPECT_EQ(slots(LoopKind::Python, LoopKind::Static, false), std::pair(1L, 1L));
    EXPECT_EQ(slots(LoopKind::Affine, LoopKind::Python, true), std::pair(2L, 3L));
    EXPECT_EQ(slots(LoopKind::Affine, LoopKind::Python, false), std::pair(1L, 30L));
    EXPECT_EQ(slots(LoopKind::Static, LoopKind::Sequential, false), std::pair(1L, 3L));
}

/// Slots of all sites: in each of five iterations `times` tiles are used, one after the other, of
/// `sites` sites each.
std::int64_t slots_of_lines(std::int64_t sites, std::int64_t times) {
    test::ProgramBuilder builder;
    builder.loop(5);
    for (std::int64_t site = 0; site < sites; ++site) {
        const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 16});
        const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, tile, tile);
        for (std::int64_t time = 0; time < times; ++time) {
            builder.alloc(tile).run(copy);
        }
    }
    const program::Program program = builder.end().build();
    const Allocation result = allocate(program,
                                       analyse_liveness(program),
                                       ChipSpec{},
                                       {.buffer_factor = 2.0, .unrolled_buffers = false});
    std::int64_t slots = 0;
    for (const SitePlacement& site : result.sites) {
        slots += site.slots;
    }
    return slots;
}

TEST(AllocationTest, ItDoesNotMatterInHowManyLinesTensorsAreAllocated) {  // Decision 0044.
    EXPECT_EQ(slots_of_lines(3, 1), 6);
    EXPECT_EQ(slots_of_lines(1, 3), 6);
    EXPECT_EQ(slots_of_lines(2, 3), 12);
}

TEST(AllocationTest, TheLoopThatGoesOverALineMostOftenCounts) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 16});
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, tile, tile);
    builder.loop(5).alloc(tile).run(copy).alloc(tile).run(copy).alloc(tile).run(copy).end();
    builder.loop(5).alloc(tile).run(copy).end();
    const program::Program program = builder.build();
    const Policies policies{.buffer_factor = 2.0, .unrolled_buffers = false};
    EXPECT_EQ(allocate(program, analyse_liveness(program), ChipSpec{}, policies).sites[tile].slots,
              6);
}

TEST(AllocationTest, PythonLoopsWithoutEndGetNoMoreSlotsThanInstances) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 16});
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, tile, tile);
    builder.loop(2).loop(1).loop(1).alloc(tile).run(copy).end().end().end();
    program::Program program = builder.build();
    const std::vector<SiteLiveness> liveness = analyse_liveness(program);
    for (const std::size_t loop : {1U, 2U}) {
        program.loops[loop].kind = program::LoopKind::Python;
        program.loops[loop].count = std::numeric_limits<std::int64_t>::max();
    }
    const Policies policies{.buffer_factor = 4.0, .unrolled_buffers = false};
    EXPECT_EQ(allocate(program, liveness, ChipSpec{}, policies).sites[tile].slots, 2);
}

TEST(AllocationTest, ThatTilesOfPythonLoopsAreReusedAtOnceIsNoted) {
    using program::LoopKind;
    EXPECT_THAT(allocated_in(LoopKind::Python, LoopKind::Python, false).notes,
                ElementsAre("tiles of Python loops (tile) are taken to be reused at once; in "
                            "nl.affine_range iterations overlap, here with --policy "
                            "unrolled_buffers=true"));
    EXPECT_THAT(allocated_in(LoopKind::Python, LoopKind::Python, true).notes, IsEmpty());
    EXPECT_THAT(allocated_in(LoopKind::Affine, LoopKind::Python, false).notes, IsEmpty());
}

TEST(AllocationTest, OnlyTilesInSbufThatWaitForOneAnotherAreNamed) {
    test::ProgramBuilder builder;
    std::vector<std::uint32_t> tiles;
    for (const std::string name : {"a", "b", "c", "later"}) {
        tiles.push_back(builder.tile(name, Space::Sbuf, Dtype::Float32, {128, 16}));
    }
    tiles.push_back(builder.tile("sum", Space::Psum, Dtype::Float32, {128, 16}));
    const auto copy = [&](std::uint32_t of) {
        return builder.unary(Opcode::TensorCopy, Engine::Vector, of, of);
    };
    builder.loop(5);
    for (const std::uint32_t tile : tiles) {
        builder.alloc(tile).run(copy(tile));
    }
    builder.end();
    builder.loop(5).alloc(tiles[3]).run(copy(tiles[3])).end();
    const auto once = builder.tile("once", Space::Sbuf, Dtype::Float32, {128, 16});
    builder.loop(1).alloc(tiles[3]).run(copy(tiles[3])).alloc(once).run(copy(once)).end();
    program::Program program = builder.build();
    program.loops[0].kind = program::LoopKind::Python;
    program.loops[2].kind = program::LoopKind::Python;
    const Allocation result = allocate(program,
                                       analyse_liveness(program),
                                       ChipSpec{},
                                       {.buffer_factor = 3.0, .unrolled_buffers = false});
    EXPECT_EQ(result.sites[tiles[3]].slots, 3);  // One of its loops is not Python's.
    EXPECT_THAT(result.notes, ElementsAre(HasSubstr("(a and 2 more)")));
}

TEST(AllocationTest, ASiteNeverGetsMoreSlotsThanInstancesNorFewerThanLiveTiles) {
    Sites sites;
    const auto few = sites.add(Space::Sbuf, 64, 2, 3);
    EXPECT_EQ(sites.allocate({.buffer_factor = 10.0}).sites[few].slots, 3);
    EXPECT_EQ(sites.allocate({.buffer_factor = 0.0}).sites[few].slots, 2);
}

TEST(AllocationTest, SitesWhoseLoadsArePlannedGetTheSlotsThatThePlanWants) {
    Sites sites;
    const auto planned = sites.add(Space::Sbuf, kKib, 3, 100);
    const auto other = sites.add(Space::Sbuf, kKib, 1, 100);
    const Allocation result =
        sites.allocate({.buffer_extra = 2}, {{.least = 2, .wanted = 7}, {.least = 0, .wanted = 0}});
    EXPECT_EQ(result.sites[planned].slots, 7);
    EXPECT_TRUE(result.sites[planned].is_planned);
    EXPECT_EQ(result.sites[other].slots, 3);
    EXPECT_FALSE(result.sites[other].is_planned);
}

TEST(AllocationTest, APlanThatIsShortOfMemoryKeepsWhatItNeeds) {
    Sites sites;
    const auto planned = sites.add(Space::Sbuf, 4 * kKib, 1, 100);
    const auto other = sites.add(Space::Sbuf, 4 * kKib, 1, 100);
    const Allocation result = sites.allocate({}, {{.least = 2, .wanted = 9}, {}});
    EXPECT_EQ(result.sites[planned].slots, 3);  // 16 KiB in all.
    EXPECT_TRUE(result.sites[planned].is_planned);
    EXPECT_EQ(result.sites[other].slots, 1);
}

TEST(AllocationTest, NothingIsPlannedWhereSitesHaveToShareBytes) {
    Sites sites;
    const auto planned = sites.add(Space::Sbuf, 8 * kKib, 1, 100, 0, 9);
    const auto later = sites.add(Space::Sbuf, 8 * kKib, 1, 100, 10, 20);
    const Allocation result = sites.allocate({}, {{.least = 2, .wanted = 2}, {}});
    EXPECT_FALSE(result.sites[planned].is_planned);
    EXPECT_EQ(result.sites[planned].slots, 1);
    EXPECT_EQ(result.sites[later].slots, 1);
}

TEST(AllocationTest, SitesInHbmAndSitesNeverUsedGetNone) {
    Sites sites;
    const auto memory = sites.add(Space::Hbm, kKib, 1, 1);
    const auto unused = sites.add(Space::Sbuf, kKib, 0, 5, 0, -1);
    const Allocation result = sites.allocate();
    EXPECT_EQ(result.sites[memory].slots, 0);
    EXPECT_EQ(result.sites[unused].slots, 0);
    EXPECT_EQ(result.sbuf_bytes, 0);
}

TEST(AllocationTest, SitesLieAboveThoseWhoseAddressesTheProgramFixes) {
    Sites sites;
    const auto high = sites.add_fixed(Space::Sbuf, 100, kKib);
    const auto low = sites.add_fixed(Space::Sbuf, 100, 0);
    const auto bank = sites.add_fixed(Space::Psum, 1024, 2048);
    const auto tile = sites.add(Space::Sbuf, kKib, 1, 1);
    const auto product = sites.add(Space::Psum, 2048, 1, 1);
    const Allocation result = sites.allocate();
    EXPECT_EQ(result.sites[high].slots + result.sites[low].slots + result.sites[bank].slots, 0);
    EXPECT_EQ(result.sites[tile].address, kKib + 128);
    EXPECT_EQ(result.sites[product].address, 2 * 2048);
    EXPECT_EQ(result.sbuf_bytes, 2 * kKib + 128);
    EXPECT_EQ(result.psum_banks, 3);
    EXPECT_THAT(result.notes, IsEmpty());
}

TEST(AllocationTest, FixedAddressesAloneCountAsUsed) {
    Sites sites;
    sites.add_fixed(Space::Sbuf, 100, kKib);
    sites.add_fixed(Space::Psum, 2048, 2048);
    EXPECT_EQ(sites.allocate().sbuf_bytes, kKib + 100);
    EXPECT_EQ(sites.allocate().psum_banks, 2);
}

TEST(AllocationTest, FixedAddressesAloneMayEndBehindWhatACompilerMayUse) {
    Sites sites;
    sites.core().sbuf.partition_kib = 32;
    sites.core().sbuf.usable_partition_kib = 24;
    sites.add_fixed(Space::Sbuf, kKib, 31 * kKib);
    EXPECT_THAT(sites.allocate().notes, IsEmpty());
}

TEST(AllocationTest, WhatDoesNotFitAboveFixedAddressesLiesAnywhereAndThatIsNoted) {
    Sites sites;
    sites.add_fixed(Space::Sbuf, kKib, 8 * kKib);
    sites.add_fixed(Space::Psum, 2048, 3L * 2048);
    const auto tile = sites.add(Space::Sbuf, 10 * kKib, 1, 1);
    const auto product = sites.add(Space::Psum, 2048, 1, 1);
    const Allocation result = sites.allocate();
    EXPECT_EQ(result.sites[tile].address, 0);
    EXPECT_EQ(result.sites[product].address, 0);
    EXPECT_EQ(result.sbuf_bytes, 10 * kKib);
    EXPECT_THAT(
        result.notes,
        ElementsAre("SBUF: tiles without an address do not fit above byte 9216, where "
                    "those with one end, and lie anywhere, as if those were not there",
                    HasSubstr("PSUM: tiles without an address do not fit above byte 8192")));
}

TEST(AllocationTest, AnAddressBeyondTheMemoryIsNamedWithItsLine) {
    Sites sites;
    sites.core().sbuf.partition_kib = 24;
    const auto site = sites.add_fixed(Space::Sbuf, 100, 24 * kKib - 99);
    EXPECT_EQ(sites.error(),
              "kernel.py:10: SBUF: site0 lies at bytes 24477 to 24576 of its partitions, but SBUF "
              "has 24576 in each; choose a lower address");
    EXPECT_EQ(site, 0U);
    Sites products;
    products.add_fixed(Space::Psum, 2048, 4L * 2048);
    EXPECT_THAT(products.error(), HasSubstr("PSUM has 8192 in each"));
}

TEST(AllocationTest, SbufSlotsBeginAtMultiplesOf64Bytes) {
    Sites sites;
    const auto small = sites.add(Space::Sbuf, 4, 3, 3);
    const auto next = sites.add(Space::Sbuf, 100, 1, 1);
    const Allocation result = sites.allocate();
    EXPECT_EQ(result.sites[small].slot_bytes, 64);
    EXPECT_EQ(result.sites[next].slot_bytes, 128);
    EXPECT_EQ(result.sites[next].address, 192);
    EXPECT_EQ(result.sbuf_bytes, 320);
}

TEST(AllocationTest, SitesLieApartWhileThereIsRoomEvenIfTheirLivesDoNotMeet) {
    Sites sites;
    const auto first = sites.add(Space::Sbuf, 8 * kKib, 1, 1, 0, 10);
    const auto second = sites.add(Space::Sbuf, 8 * kKib, 1, 1, 11, 20);
    const Allocation result = sites.allocate();
    EXPECT_EQ(result.sites[first].address, 0);
    EXPECT_EQ(result.sites[second].address, 8 * kKib);
    EXPECT_THAT(result.sites[second].overlaid, IsEmpty());
}

TEST(AllocationTest, SitesWhoseLivesDoNotMeetShareBytesWhenSpaceIsShort) {
    Sites sites;
    const auto first = sites.add(Space::Sbuf, 9 * kKib, 1, 1, 0, 10);
    const auto second = sites.add(Space::Sbuf, 9 * kKib, 1, 1, 11, 20);
    const auto third = sites.add(Space::Sbuf, 4 * kKib, 1, 1, 5, 15);
    const Allocation result = sites.allocate();
    EXPECT_EQ(result.sites[first].address, result.sites[second].address);
    EXPECT_THAT(result.sites[second].overlaid, ElementsAre(first));
    EXPECT_THAT(result.sites[first].overlaid, IsEmpty());
    EXPECT_THAT(result.sites[third].overlaid, IsEmpty());
    EXPECT_EQ(result.sbuf_bytes, 13 * kKib);
}

TEST(AllocationTest, ASiteThatFollowsTwoOthersTakesOverFromBoth) {
    Sites sites;
    const auto a = sites.add(Space::Sbuf, 6 * kKib, 1, 1, 0, 10);
    const auto b = sites.add(Space::Sbuf, 6 * kKib, 1, 1, 0, 10);
    const auto c = sites.add(Space::Sbuf, 12 * kKib, 1, 1, 11, 20);
    EXPECT_THAT(sites.allocate().sites[c].overlaid, ElementsAre(a, b));
}

TEST(AllocationTest, SitesLoseSlotsEvenlyTheLargerTilesFirst) {
    Sites sites;
    const auto large = sites.add(Space::Sbuf, 3 * kKib, 1, 100);
    const auto small = sites.add(Space::Sbuf, 2 * kKib, 1, 100);
    const Allocation result = sites.allocate({.buffer_factor = 5.0});
    EXPECT_EQ(result.sites[small].slots, 3);
    EXPECT_EQ(result.sites[large].slots, 3);
    EXPECT_FALSE(result.sites[large].is_pooled);
    EXPECT_THAT(result.notes, IsEmpty());
}

TEST(AllocationTest, RoomThatIsLeftGoesBackToTheSmallestTiles) {
    Sites sites;
    const auto large = sites.add(Space::Sbuf, 5 * kKib, 1, 100);
    const auto small = sites.add(Space::Sbuf, 64, 1, 100);
    const auto medium = sites.add(Space::Sbuf, 300, 1, 100);
    const Allocation result = sites.allocate({.buffer_factor = 4.0});
    EXPECT_EQ(result.sites[large].slots, 2);
    EXPECT_EQ(result.sites[small].slots, 4);
    EXPECT_EQ(result.sites[medium].slots, 4);
    EXPECT_LE(result.sbuf_bytes, 16 * kKib);
}

TEST(AllocationTest, RoomThatIsTooLittleForAllGoesBackToTheSmallerTiles) {
    Sites sites;
    const auto large = sites.add(Space::Sbuf, kKib, 2, 100);
    const auto small = sites.add(Space::Sbuf, kKib / 2, 2, 100);
    const Allocation result = sites.allocate({.buffer_factor = 7.0});
    EXPECT_EQ(result.sites[large].slots, 9);
    EXPECT_EQ(result.sites[small].slots, 14);
}

TEST(AllocationTest, ThousandsOfSitesAreDealtOutAtOnce) {  // It took minutes once.
    constexpr std::int64_t kSites = 3000;
    Sites sites;
    sites.core().sbuf.usable_partition_kib = 200;
    for (std::int64_t i = 0; i < kSites; ++i) {
        sites.add(Space::Sbuf, 64, 1, 100, i % 10, 100 + i % 7);
    }
    const Allocation allocation = sites.allocate({.buffer_factor = 4.0});
    std::int64_t slots = 0;
    for (const SitePlacement& site : allocation.sites) {
        EXPECT_GE(site.slots, 1);
        slots += site.slots;
    }
    EXPECT_EQ(slots, 200 * kKib / 64);
}

TEST(AllocationTest, SitesKeepSlotsInProportionToTheirLiveTiles) {
    Sites sites;
    const auto few = sites.add(Space::Sbuf, kKib, 1, 100);
    const auto many = sites.add(Space::Sbuf, kKib / 2, 3, 100);
    const Allocation result = sites.allocate({.buffer_factor = 8.0});
    EXPECT_EQ(result.sites[few].slots, 7);
    EXPECT_EQ(result.sites[many].slots, 18);
}

TEST(AllocationTest, OfSitesThatCouldSpareAsMuchTheOneWithLargerTilesLosesASlot) {
    Sites sites;
    const auto small = sites.add(Space::Sbuf, 3 * kKib / 2, 1, 100);
    const auto large = sites.add(Space::Sbuf, 2 * kKib, 1, 100);
    const Allocation result = sites.allocate({.buffer_factor = 5.0});
    EXPECT_EQ(result.sites[small].slots, 5);
    EXPECT_EQ(result.sites[large].slots, 4);
}

TEST(AllocationTest, ASiteGetsBackWhatFitsAndNoMoreThanItWanted) {
    Sites sites;
    const auto large = sites.add(Space::Sbuf, 6 * kKib, 2, 100);
    const auto small = sites.add(Space::Sbuf, kKib, 1, 100);
    const Policies policies{.buffer_factor = 8.0};
    EXPECT_EQ(sites.allocate(policies).sites[small].slots, 4);
    EXPECT_EQ(sites.allocate(policies).sites[large].slots, 2);
    EXPECT_EQ(sites.allocate({.buffer_factor = 3.0}).sites[small].slots, 3);
}

TEST(AllocationTest, ASecondBufferOfAFewTilesIsWorthMoreThanASpareOneOfMany) {
    Sites sites;
    const auto block = sites.add(Space::Sbuf, 4 * kKib, 1, 100);
    const auto results = sites.add(Space::Sbuf, kKib, 8, 100);
    const Allocation result = sites.allocate({.buffer_factor = 1.25, .buffer_extra = 1});
    EXPECT_EQ(result.sites[block].slots, 2);
    EXPECT_EQ(result.sites[results].slots, 8);
}

TEST(AllocationTest, OfEqualSitesTheOneThatIsLoadedKeepsItsSecondBuffer) {
    for (const std::uint32_t loaded : {0U, 1U}) {
        Sites sites;
        sites.add(Space::Sbuf, 5 * kKib, 1, 100);
        sites.add(Space::Sbuf, 5 * kKib, 1, 100);
        sites.load(loaded);
        const Allocation result = sites.allocate({.buffer_factor = 2.0});
        EXPECT_EQ(result.sites[loaded].slots, 2);
        EXPECT_EQ(result.sites[1 - loaded].slots, 1);
    }
}

TEST(AllocationTest, SitesShareAPoolOnlyWhenNoneHasASpareSlotLeft) {
    Sites sites;
    const auto needy = sites.add(Space::Sbuf, kKib, 15, 100);
    const auto rich = sites.add(Space::Sbuf, kKib, 1, 100);
    const Policies policies{.buffer_factor = 4.0};
    EXPECT_FALSE(sites.allocate(policies).sites[needy].is_pooled);
    const auto third = sites.add(Space::Sbuf, 64, 1, 1);
    const Allocation result = sites.allocate(policies);
    for (const auto site : {needy, rich, third}) {
        EXPECT_TRUE(result.sites[site].is_pooled) << "site " << site;
    }
    EXPECT_EQ(result.sites[needy].slots, 15);
    EXPECT_EQ(result.sites[needy].most, 15) << "one in 16 of the memory is large";
    EXPECT_EQ(result.sites[rich].most, 1);
    EXPECT_EQ(result.sites[third].most, kNoLimit) << "starving small ones makes no room";
    EXPECT_THAT(result.notes,
                ElementsAre("SBUF may fill up: all tiles share one pool of 16384 bytes per "
                            "partition, and where it is full some are spilled to HBM"));
}

TEST(AllocationTest, WithoutSpillingLiveTilesThatDoNotFitAreAnErrorThatNamesTheLargest) {
    Sites sites;
    sites.add(Space::Sbuf, kKib, 2, 100);
    sites.add(Space::Sbuf, 8 * kKib, 3, 100);
    EXPECT_EQ(
        sites.error({.spilling = Spilling::Off}),
        "SBUF: live tiles need 26624 bytes per partition, but 16384 are usable; make tiles "
        "smaller, shorten their lives, or allow spilling=farthest_use. Largest: site1 "
        "(kernel.py:11): 3 live tiles of 8192 bytes per partition, site0 (kernel.py:10): 2 live "
        "tiles of 1024 bytes per partition");
}

TEST(AllocationTest, OnlyTilesOfASixteenthOfAFullSbufHaveNoBuffers) {
    Sites sites;
    const auto large = sites.add(Space::Sbuf, kKib, 16, 100);
    const auto below = sites.add(Space::Sbuf, kKib - 64, 1, 100);
    const Allocation result = sites.allocate();
    EXPECT_EQ(result.sites[large].most, 16);
    EXPECT_EQ(result.sites[below].most, kNoLimit);
}

TEST(AllocationTest, EveryPsumTileGetsBanksOfItsOwnWhileThereAreEnough) {
    Sites sites;
    const auto small = sites.add(Space::Psum, 4, 2, 100);
    const auto large = sites.add(Space::Psum, 2049, 1, 100);
    const Allocation result = sites.allocate();
    EXPECT_EQ(result.sites[small].slot_bytes, 2048);
    EXPECT_EQ(result.sites[large].slot_bytes, 4096);
    EXPECT_EQ(result.psum_banks, 4);
    EXPECT_THAT(result.notes, IsEmpty());
}

TEST(AllocationTest, SmallPsumTilesShareBanksWhenBanksAreShort) {
    Sites sites;
    const auto a = sites.add(Space::Psum, 600, 5, 100);
    const auto b = sites.add(Space::Psum, 2048, 1, 100);
    const Allocation result = sites.allocate();
    EXPECT_EQ(result.sites[a].slot_bytes, 1024);
    EXPECT_EQ(result.sites[b].slot_bytes, 2048);
    EXPECT_THAT(result.notes, ElementsAre("PSUM tiles smaller than a bank share banks"));
}

TEST(AllocationTest, PsumTilesThatDoNotFitShareAPoolAndSbufKeepsItsSlots) {
    Sites sites;
    const auto sum = sites.add(Space::Psum, 600, 20, 100);
    const auto tile = sites.add(Space::Sbuf, kKib, 1, 1);
    const Allocation result = sites.allocate();
    EXPECT_TRUE(result.sites[sum].is_pooled);
    EXPECT_EQ(result.sites[sum].most, kNoLimit);
    EXPECT_EQ(result.sites[sum].slot_bytes, 1024);
    EXPECT_FALSE(result.sites[tile].is_pooled);
    EXPECT_EQ(result.psum_banks, 4);
    EXPECT_THAT(result.notes, ElementsAre(HasSubstr("PSUM may fill up")));
}

TEST(AllocationTest, WithoutSpillingPsumTilesThatDoNotFitAreAnErrorThatNamesTheLargest) {
    Sites sites;
    sites.add(Space::Psum, 2048, 5, 100);
    EXPECT_EQ(sites.error({.spilling = Spilling::Off}),
              "PSUM: live tiles need 10240 bytes per partition, but 8192 are usable; make tiles "
              "smaller, shorten their lives, or allow spilling=farthest_use. Largest: site0 "
              "(kernel.py:10): 5 live tiles of 2048 bytes per partition");
}

// Laws of any allocation.

std::int64_t end_of(const SitePlacement& site) {
    return site.address + site.slots * site.slot_bytes;
}

bool lives_meet(const SiteLiveness& a, const SiteLiveness& b) {
    return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

/// Whether a site waits for an earlier one that had its bytes, or for one that does.
bool follows(const Allocation& result, std::uint32_t site, std::uint32_t earlier) {
    return std::ranges::any_of(result.sites[site].overlaid, [&](std::uint32_t former) {
        return former == earlier || follows(result, former, earlier);
    });
}

void expect_lawful(const Sites& sites, const Allocation& result) {
    const auto& buffers = sites.program().buffers;
    const PsumSpec& psum = sites.core().psum;
    for (std::uint32_t i = 0; i < buffers.size(); ++i) {
        const SitePlacement& site = result.sites[i];
        const SiteLiveness& life = sites.liveness()[i];
        const bool is_psum = buffers[i].space == Space::Psum;
        const std::int64_t capacity =
            is_psum ? psum.banks * psum.bank_bytes : sites.core().sbuf.usable_partition_kib * kKib;
        ASSERT_GE(site.slot_bytes, buffers[i].free_bytes());
        ASSERT_GE(site.slots, life.live_peak);
        ASSERT_LE(site.slots, life.instances);
        if (site.is_pooled) {
            continue;
        }
        ASSERT_LE(end_of(site), capacity) << "site " << i;
        if (is_psum && buffers[i].free_bytes() <= psum.bank_bytes) {
            for (std::int64_t slot = 0; slot < site.slots; ++slot) {
                const std::int64_t begin = site.address + slot * site.slot_bytes;
                ASSERT_EQ(begin / psum.bank_bytes,
                          (begin + buffers[i].free_bytes() - 1) / psum.bank_bytes)
                    << "slot " << slot << " of site " << i << " crosses a bank";
            }
        }
        for (std::uint32_t j = 0; j < i; ++j) {
            const SitePlacement& other = result.sites[j];
            if (buffers[i].space != buffers[j].space || other.is_pooled ||
                other.address >= end_of(site) || site.address >= end_of(other)) {
                continue;
            }
            const SiteLiveness& life_of_other = sites.liveness()[j];
            ASSERT_FALSE(lives_meet(life, life_of_other)) << "sites " << i << " and " << j;
            const bool is_later = life.first_step > life_of_other.first_step;
            ASSERT_TRUE(follows(result, is_later ? i : j, is_later ? j : i))
                << "sites " << i << " and " << j << " share bytes and do not know";
        }
    }
}

class AllocationOfRandomSites : public testing::TestWithParam<unsigned> {};

TEST_P(AllocationOfRandomSites, NeverOverlapsLivingTilesNorExceedsTheMemory) {
    std::mt19937 random(GetParam());
    const auto roll = [&random](std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(random() % static_cast<unsigned>(high - low + 1));
    };
    int fitted = 0;
    for (int round = 0; round < 300; ++round) {
        Sites sites;
        const std::int64_t count = roll(1, 12);
        for (std::int64_t i = 0; i < count; ++i) {
            const bool is_psum = roll(0, 3) == 0;
            const std::int64_t live = roll(1, is_psum ? 2 : 6);
            const std::int64_t first = roll(0, 100);
            sites.add(is_psum ? Space::Psum : Space::Sbuf,
                      roll(1, is_psum ? 2048 : 3000),
                      live,
                      live + roll(0, 20),
                      first,
                      first + roll(0, 60));
        }
        const Policies policies{.buffer_factor = static_cast<double>(roll(4, 16)) / 4.0,
                                .buffer_extra = roll(0, 3)};
        const Allocation result = sites.allocate(policies);
        expect_lawful(sites, result);
        fitted += result.notes.empty() ? 1 : 0;
    }
    EXPECT_GT(fitted, 50) << "the dice make programs that hardly ever fit";
    EXPECT_LT(fitted, 250) << "the dice make programs that nearly always fit";
}

INSTANTIATE_TEST_SUITE_P(Seeds, AllocationOfRandomSites, testing::Range(1U, 5U));

}  // namespace
}  // namespace trnsim::lowering
