// SPDX-License-Identifier: Apache-2.0
// The laws of lowering, in any program: whatever touches a common byte is ordered by semaphores,
// and as the program orders it.
#include "physical_accesses.hpp"
#include "support/random_program.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace trnsim::lowering {
namespace {

/// Programs of one kind, and the memory they have.
struct Setting {
    friend std::ostream& operator<<(std::ostream& os, const Setting& setting) {
        return os << setting.name;
    }

    std::string name;
    test::RandomProgramShape shape{};
    std::int64_t sbuf_kib = 192;
    Policies policies{};
    bool must_spill = false;
    bool must_overlay = false;
    bool must_pool = false;
    bool must_reorder = false;
    bool must_trigger = false;
    bool must_plan = false;
    bool must_obey = false;
};

class LoweringOrder : public testing::TestWithParam<Setting> {};

TEST_P(LoweringOrder, OrdersEveryTwoAccessesToACommonByte) {
    const Setting& setting = GetParam();
    ChipSpec chip = spec::load_chip(TRNSIM_SOURCE_DIR "/configs/chips/trainium2.json").spec;
    chip.neuron_core.sbuf.usable_partition_kib = setting.sbuf_kib;
    int saves = 0;
    int overlays = 0;
    int reused = 0;
    int pooled = 0;
    int overtaken = 0;
    int triggers = 0;
    int planned = 0;
    int edges = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        const program::Program program = test::random_program(seed, setting.shape);
        const test::PhysicalAccesses lowered(program, chip, setting.policies);
        ASSERT_EQ(lowered.first_unordered(), "") << "program of seed " << seed;
        ASSERT_EQ(lowered.first_exchanged(), "") << "program of seed " << seed;
        ASSERT_EQ(lowered.first_collision(), "") << "program of seed " << seed;
        ASSERT_EQ(lowered.first_broken_edge(), "") << "program of seed " << seed;
        ASSERT_EQ(lowered.first_stale_stationary(), "") << "program of seed " << seed;
        saves += lowered.spill_saves();
        overlays += lowered.overlays();
        reused += lowered.reused_stationaries();
        pooled += lowered.is_pooled() ? 1 : 0;
        overtaken += lowered.overtaken();
        triggers += lowered.triggers();
        planned += lowered.is_planned() ? 1 : 0;
        edges += lowered.edges();
    }
    EXPECT_TRUE(!setting.must_spill || saves > 0) << "nothing spilled";
    EXPECT_TRUE(!setting.must_overlay || overlays > 0) << "no site took over another's bytes";
    EXPECT_TRUE(!setting.must_pool || pooled > 0) << "no program shared a pool";
    EXPECT_TRUE(!setting.must_plan || planned > 0) << "no loads were planned";
    EXPECT_EQ(setting.must_obey, edges > 0) << edges << " edges";
    EXPECT_TRUE(!setting.must_trigger || triggers > 0) << "no engine triggered a transfer";
    EXPECT_EQ(setting.must_reorder, overtaken > 0) << overtaken << " steps were overtaken";
    RecordProperty("spill_saves", saves);
    RecordProperty("overlays", overlays);
    RecordProperty("reused_stationaries", reused);
}

const test::RandomProgramShape kTwoPhases{.sbuf_sites = 6, .phases = 2};
const test::RandomProgramShape kManyTiles{.sbuf_sites = 2, .items = 40, .old_tile_one_in = 2};
const test::RandomProgramShape kLong{.sbuf_sites = 4, .items = 30};
const test::RandomProgramShape kFixed{.sbuf_sites = 6, .items = 24, .fixed_one_in = 2};
const test::RandomProgramShape kLoads{.sbuf_sites = 2, .items = 24, .loaded_sites = 3};
const test::RandomProgramShape kParts{
    .sbuf_sites = 2, .items = 24, .loaded_sites = 3, .has_parts = true};
const test::RandomProgramShape kEdges{.sbuf_sites = 4, .items = 30, .edge_one_in = 4};
const test::RandomProgramShape kLoadsEdges{
    .sbuf_sites = 2, .items = 24, .loaded_sites = 3, .edge_one_in = 8};
const test::RandomProgramShape kSpillingEdges{
    .sbuf_sites = 2, .items = 40, .old_tile_one_in = 2, .edge_one_in = 4};
const Policies kNewApi{.buffer_factor = 1.25, .buffer_extra = 2, .matmul_window = 256};
const Policies kJustInTime{.loads = LoadTiming::JustInTime, .dma_rings = 2};
const Policies kJustInTimeWindow{.buffer_factor = 1.25,
                                 .loads = LoadTiming::JustInTime,
                                 .psum_buffers = PsumBuffers::InTurn,
                                 .dma_rings = 2,
                                 .matmul_window = 256,
                                 .reorder_window = 16};
const Policies kOldApi{.engine_choice = EngineChoice::Balanced,
                       .buffer_factor = 3.0,
                       .dma_rings = 8,
                       .matmul_window = 256,
                       .reorder_window = 16};
const Policies kOverlapping{.drain_iterations = false, .matmul_window = 256, .reorder_window = 16};
const Policies kNarrow{.matmul_window = 4, .reorder_window = 4};
const Policies kTriggered{.dge = DgePolicy::Software, .scratch_dge = DgePolicy::Hardware};
const Policies kTriggeredWindow{.dge = DgePolicy::Software,
                                .scratch_dge = DgePolicy::Hardware,
                                .matmul_window = 256,
                                .reorder_window = 16};
const Policies kInTurn{.psum_buffers = PsumBuffers::InTurn};
const Policies kInTurnWindow{
    .psum_buffers = PsumBuffers::InTurn, .matmul_window = 256, .reorder_window = 16};
const Policies kWide{.buffer_factor = 2.0, .matmul_window = 256, .reorder_window = 256};

INSTANTIATE_TEST_SUITE_P(
    Settings,
    LoweringOrder,
    testing::Values(
        Setting{.name = "Plain"},
        Setting{.name = "Buffered", .policies = {.buffer_factor = 2.0, .buffer_extra = 2}},
        Setting{.name = "Balanced", .policies = {.engine_choice = EngineChoice::Balanced}},
        Setting{.name = "OneRing", .policies = {.ring_assignment = RingAssignment::Single}},
        Setting{.name = "ManyRings", .shape = {.sbuf_sites = 6}, .policies = {.dma_rings = 16}},
        Setting{.name = "Triggered", .policies = kTriggered, .must_trigger = true},
        Setting{.name = "Spilling", .shape = kManyTiles, .sbuf_kib = 6, .must_spill = true},
        Setting{.name = "TriggeredSpilling",
                .shape = kManyTiles,
                .sbuf_kib = 6,
                .policies = kTriggered,
                .must_spill = true,
                .must_trigger = true},
        Setting{.name = "Pooled",
                .shape = kManyTiles,
                .sbuf_kib = 4,
                .must_spill = true,
                .must_pool = true},
        Setting{.name = "Overlaid", .shape = kTwoPhases, .sbuf_kib = 14, .must_overlay = true},
        Setting{.name = "FixedAddresses", .shape = kFixed},
        Setting{.name = "WindowsFixed", .shape = kFixed, .policies = kWide, .must_reorder = true},
        Setting{.name = "InTurn", .policies = kInTurn, .must_pool = true},
        Setting{.name = "WindowsInTurn",
                .shape = kLong,
                .policies = kInTurnWindow,
                .must_pool = true,
                .must_reorder = true},
        Setting{.name = "WindowsInTurnSpilling",
                .shape = kManyTiles,
                .sbuf_kib = 6,
                .policies = kInTurnWindow,
                .must_spill = true,
                .must_pool = true,
                .must_reorder = true},
        Setting{.name = "JustInTime", .shape = kLoads, .policies = kJustInTime, .must_plan = true},
        Setting{.name = "JustInTimeParts",
                .shape = kParts,
                .policies = kJustInTimeWindow,
                .must_pool = true,
                .must_reorder = true,
                .must_plan = true},
        Setting{.name = "JustInTimePartsLittleSbuf",
                .shape = kParts,
                .sbuf_kib = 24,
                .policies = kJustInTime,
                .must_plan = true},
        Setting{.name = "WindowsParts", .shape = kParts, .policies = kOldApi, .must_reorder = true},
        Setting{.name = "WindowsPartsOverlapping",
                .shape = kParts,
                .policies = kOverlapping,
                .must_reorder = true},
        Setting{.name = "JustInTimeLittleSbuf",
                .shape = kLoads,
                .sbuf_kib = 24,
                .policies = kJustInTime,
                .must_plan = true},
        Setting{.name = "JustInTimeWindows",
                .shape = kLoads,
                .policies = kJustInTimeWindow,
                .must_pool = true,
                .must_reorder = true,
                .must_plan = true},
        Setting{.name = "Edges", .shape = kEdges, .must_obey = true},
        Setting{.name = "EdgesTriggered",
                .shape = kEdges,
                .policies = kTriggeredWindow,
                .must_reorder = true,
                .must_trigger = true,
                .must_obey = true},
        Setting{.name = "EdgesWindows",
                .shape = kEdges,
                .policies = kOldApi,
                .must_reorder = true,
                .must_obey = true},
        Setting{.name = "EdgesSpilling",
                .shape = kSpillingEdges,
                .sbuf_kib = 6,
                .policies = kOldApi,
                .must_spill = true,
                .must_reorder = true,
                .must_obey = true},
        Setting{.name = "EdgesJustInTime",
                .shape = kLoadsEdges,
                .policies = kJustInTimeWindow,
                .must_pool = true,
                .must_reorder = true,
                .must_plan = true,
                .must_obey = true},
        Setting{.name = "WithoutReuse", .policies = {.reuse_stationary = false}},
        Setting{.name = "MatmulWindow", .shape = kLong, .policies = kNewApi, .must_reorder = true},
        Setting{.name = "BothWindows", .shape = kLong, .policies = kOldApi, .must_reorder = true},
        Setting{.name = "NarrowWindows", .shape = kLong, .policies = kNarrow, .must_reorder = true},
        Setting{.name = "WideWindows", .shape = kLong, .policies = kWide, .must_reorder = true},
        Setting{.name = "WindowsSpilling",
                .shape = kManyTiles,
                .sbuf_kib = 6,
                .policies = kOldApi,
                .must_spill = true,
                .must_reorder = true},
        Setting{.name = "WindowsPooled",
                .shape = kManyTiles,
                .sbuf_kib = 4,
                .policies = kNarrow,
                .must_spill = true,
                .must_pool = true,
                .must_reorder = true},
        Setting{.name = "WindowsTriggered",
                .shape = kManyTiles,
                .sbuf_kib = 6,
                .policies = kTriggeredWindow,
                .must_spill = true,
                .must_reorder = true,
                .must_trigger = true},
        Setting{.name = "WindowsOverlaid",
                .shape = kTwoPhases,
                .sbuf_kib = 14,
                .policies = kOldApi,
                .must_overlay = true,
                .must_reorder = true}),
    [](const testing::TestParamInfo<Setting>& setting) { return setting.param.name; });

}  // namespace
}  // namespace trnsim::lowering
