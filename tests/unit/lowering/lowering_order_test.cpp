// SPDX-License-Identifier: Apache-2.0
// The law of lowering: whatever touches a common byte is ordered by semaphores, in any program.
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
    for (unsigned seed = 0; seed < 60; ++seed) {
        const program::Program program = test::random_program(seed, setting.shape);
        const test::PhysicalAccesses lowered(program, chip, setting.policies);
        ASSERT_EQ(lowered.first_unordered(), "") << "program of seed " << seed;
        ASSERT_EQ(lowered.first_stale_stationary(), "") << "program of seed " << seed;
        saves += lowered.spill_saves();
        overlays += lowered.overlays();
        reused += lowered.reused_stationaries();
        pooled += lowered.is_pooled() ? 1 : 0;
    }
    EXPECT_TRUE(!setting.must_spill || saves > 0) << "nothing spilled";
    EXPECT_TRUE(!setting.must_overlay || overlays > 0) << "no site took over another's bytes";
    EXPECT_TRUE(!setting.must_pool || pooled > 0) << "no program shared a pool";
    RecordProperty("spill_saves", saves);
    RecordProperty("overlays", overlays);
    RecordProperty("reused_stationaries", reused);
}

const test::RandomProgramShape kTwoPhases{.sbuf_sites = 6, .phases = 2};
const test::RandomProgramShape kManyTiles{.sbuf_sites = 2, .items = 40, .old_tile_one_in = 2};

INSTANTIATE_TEST_SUITE_P(
    Settings,
    LoweringOrder,
    testing::Values(
        Setting{.name = "Plain"},
        Setting{.name = "Buffered", .policies = {.buffer_factor = 2.0, .buffer_extra = 2}},
        Setting{.name = "Balanced", .policies = {.engine_choice = EngineChoice::Balanced}},
        Setting{.name = "OneRing", .policies = {.ring_assignment = RingAssignment::Single}},
        Setting{.name = "ManyRings", .shape = {.sbuf_sites = 6}, .policies = {.dma_rings = 16}},
        Setting{.name = "Spilling", .shape = kManyTiles, .sbuf_kib = 6, .must_spill = true},
        Setting{.name = "Pooled",
                .shape = kManyTiles,
                .sbuf_kib = 4,
                .must_spill = true,
                .must_pool = true},
        Setting{.name = "Overlaid", .shape = kTwoPhases, .sbuf_kib = 14, .must_overlay = true},
        Setting{.name = "WithoutReuse", .policies = {.reuse_stationary = false}}),
    [](const testing::TestParamInfo<Setting>& setting) { return setting.param.name; });

}  // namespace
}  // namespace trnsim::lowering
