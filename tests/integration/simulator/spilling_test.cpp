// SPDX-License-Identifier: Apache-2.0
// A spilled tile is moved once out and once back for each time it must go, and costs that time.
#include "support/program_builder.hpp"
#include "support/simulation.hpp"

#include <gtest/gtest.h>

namespace trnsim {
namespace {

using test::affine;
using test::at;

constexpr std::int64_t kTileBytes = std::int64_t{128} * 1024 * 4;

/// Writes `tiles` tiles of 4 KiB per partition, then reads them in the same order.
program::Program write_then_read(std::int64_t tiles) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 1024});
    const auto out = builder.output("out", Dtype::Float32, {128, 1024});
    const auto fill = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, tile)}, {.value = 1.0});
    const auto store = builder.copy(out, tile);
    builder.loop(tiles).alloc(tile).run(fill, {at(affine(0, {1}))}).end();
    builder.loop(tiles).run(store, {at(), at(affine(0, {1}))}).end();
    return builder.build();
}

RunResult run(std::int64_t tiles, std::int64_t sbuf_kib) {
    ChipSpec chip = test::chip("trn2");
    chip.neuron_core.sbuf.usable_partition_kib = sbuf_kib;
    return test::run(write_then_read(tiles), chip);
}

TEST(Spilling, TilesThatFitDoNotMove) {
    const RunResult result = run(10, 40);
    EXPECT_EQ(result.memory.spill_save_bytes, 0);
    EXPECT_EQ(result.memory.spill_reload_bytes, 0);
    EXPECT_EQ(result.memory.sbuf_peak_partition_bytes, 40 * 1024);
}

TEST(Spilling, AsManyTilesMoveAsDoNotFitAndOneMoreForTheFirstToComeBack) {
    for (const std::int64_t places : {2, 4, 9}) {
        const RunResult result = run(10, 4 * places);
        EXPECT_EQ(result.memory.spill_save_bytes, (10 - places + 1) * kTileBytes) << places;
        EXPECT_EQ(result.memory.spill_reload_bytes, (10 - places + 1) * kTileBytes) << places;
    }
}

TEST(Spilling, SpillingCostsTime) {
    EXPECT_GT(run(10, 16).total, run(10, 40).total);
}

TEST(Spilling, MoreSbufSpillsLess) {
    std::int64_t before = run(20, 4).memory.spill_save_bytes;
    for (const std::int64_t kib : {8, 16, 32, 64, 80}) {
        const std::int64_t now = run(20, kib).memory.spill_save_bytes;
        EXPECT_LE(now, before) << kib << " KiB";
        before = now;
    }
    EXPECT_EQ(before, 0);
}

}  // namespace
}  // namespace trnsim
