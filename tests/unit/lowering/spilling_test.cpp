// SPDX-License-Identifier: Apache-2.0
// Spilling: what is saved, what is not, and what comes back.
#include "lowered_program.hpp"
#include "support/program_builder.hpp"

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

TEST(SpillingTest, ASaveWaitsForTheWriterAndTheNextWriterForTheSave) {
    Tiles p;
    p.alloc().write(0).alloc().write(1).alloc().write(2).read(1).read(2).read(0);
    const test::LoweredProgram lowered = p.lower();
    const auto& entries = lowered.entries();
    EXPECT_EQ(entries[2].queue, queue_of_ring(0));
    EXPECT_EQ(waits_of(entries[2].instruction),
              std::to_string(done_semaphore(queue_of(Engine::Vector))) + ">=1");
    EXPECT_EQ(waits_of(entries[3].instruction),
              std::to_string(test::read_semaphore(queue_of_ring(0))) + ">=1");
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

TEST(SpillingTest, TheReportNamesTheSite) {
    Tiles p;
    p.alloc().write(0).alloc().write(1).alloc().write(2).read(0).read(1).read(2);
    const test::LoweredProgram lowered = p.lower();
    const Lowering& lowering = lowered.lowering();
    EXPECT_THAT(lowering.allocation().notes, ElementsAre("tile spills: 2 of 3 live tiles fit"));
    EXPECT_TRUE(lowering.uses(queue_of_ring(0)));
}

}  // namespace
}  // namespace trnsim::lowering
