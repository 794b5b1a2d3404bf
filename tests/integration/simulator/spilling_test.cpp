// SPDX-License-Identifier: Apache-2.0
// A spilled tile is moved once out and once back for each time it must go, and costs that time.
#include "support/program_builder.hpp"
#include "support/recorded_timeline.hpp"
#include "support/simulation.hpp"

#include <gtest/gtest.h>

#include <string>

namespace trnsim {
namespace {

using test::affine;
using test::at;

constexpr std::int64_t kTileBytes = std::int64_t{128} * 1024 * 4;

/// Writes `tiles` tiles of 4 KiB per partition, then stores them in the same order, in that way.
program::Program write_then_read(std::int64_t tiles, const Attributes& way = {}) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 1024});
    const auto out = builder.output("out", Dtype::Float32, {128, 1024});
    const auto fill = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, tile)}, {.value = 1.0});
    const auto store = builder.add(Opcode::DmaCopy,
                                   {Engine::Dma},
                                   {builder.whole(Role::Dst, out), builder.whole(Role::Src, tile)},
                                   way);
    builder.loop(tiles).alloc(tile).run(fill, {at(affine(0, {1}))}).end();
    builder.loop(tiles).run(store, {at(), at(affine(0, {1}))}).end();
    return builder.build();
}

ChipSpec chip_with(std::int64_t sbuf_kib, const std::string& name = "trn2") {
    ChipSpec chip = test::chip(name);
    chip.neuron_core.sbuf.usable_partition_kib = sbuf_kib;
    return chip;
}

RunResult run(std::int64_t tiles, std::int64_t sbuf_kib) {
    return test::run(write_then_read(tiles), chip_with(sbuf_kib));
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

/// Tiles that went to HBM, and that came back.
std::int64_t moves_of(const RunResult& result) {
    return (result.memory.spill_save_bytes + result.memory.spill_reload_bytes) / kTileBytes;
}

TEST(Spilling, GpsimdTriggersTheSpillsThatItDescribes) {
    const ChipSpec chip = chip_with(16);
    const lowering::Policies by_gpsimd{.dge = lowering::DgePolicy::Software};
    const RunResult result =
        test::run(write_then_read(10, {.dge = DgeMode::None}), chip, by_gpsimd);
    EXPECT_EQ(moves_of(result), moves_of(run(10, 16)));
    const EngineResult& gpsimd = result.engines.at(Engine::Gpsimd);
    EXPECT_EQ(gpsimd.instructions, moves_of(result)) << "nobody triggers the stores";
    const DgeModeSpec& software = chip.neuron_core.dge.software;
    EXPECT_EQ(
        gpsimd.active,
        gpsimd.instructions * (software.issue_interval_ns + 128 * software.per_descriptor_ns));
}

TEST(Spilling, WithoutADgeGpsimdTriggersStoresAndRingsBeginSpills) {
    const lowering::Policies in_queues{.trigger_in_queues = true};
    const ChipSpec chip = chip_with(16, "trn1");
    const RunResult result = test::run(write_then_read(10), chip, in_queues);
    EXPECT_GT(moves_of(result), 0);
    const EngineResult& gpsimd = result.engines.at(Engine::Gpsimd);
    EXPECT_EQ(gpsimd.instructions, 10);
    EXPECT_EQ(gpsimd.active, 10 * chip.neuron_core.dge.none.sequencer_ns);
    EXPECT_EQ(result.engines.at(Engine::Sync).instructions, 0);
}

TEST(Spilling, NobodyTriggersSpillsBesideStoresThatScalarTriggers) {
    test::RecordedTimeline timeline;
    const RunResult result =
        test::run(write_then_read(10, {.dge = DgeMode::Hardware, .trigger = Engine::Scalar}),
                  chip_with(16),
                  RunOptions{.policies = {.scratch_dge = lowering::DgePolicy::Hardware},
                             .timeline = &timeline,
                             .progress = {}});
    EXPECT_EQ(moves_of(result), moves_of(run(10, 16)));
    EXPECT_EQ(result.dma.transfers, 10 + moves_of(result));
    EXPECT_EQ(result.engines.at(Engine::Scalar).instructions, 10);
    EXPECT_EQ(result.engines.at(Engine::Sync).instructions, 0);
    const auto reload = timeline.of("spill reload").at(0);
    EXPECT_GT(timeline.of("DMA_DIRECT2D").at(0).start, reload.start + reload.duration)
        << "the first store is triggered when its tile is back";
}

}  // namespace
}  // namespace trnsim
