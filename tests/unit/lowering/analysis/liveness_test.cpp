// SPDX-License-Identifier: Apache-2.0
// Liveness: peaks, spans and use counts, by hand and against a walk forwards.
#include "trnsim/lowering/analysis/liveness.hpp"

#include "support/program_builder.hpp"
#include "support/random_program.hpp"
#include "trnsim/program/cursor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <tuple>
#include <vector>

namespace trnsim::lowering {

static bool operator==(const SiteLiveness::Uses& a, const SiteLiveness::Uses& b) {
    return a.instances == b.instances && a.uses == b.uses;
}

static std::ostream& operator<<(std::ostream& os, const SiteLiveness::Uses& uses) {
    return os << uses.instances << " instances with " << uses.uses << " uses";
}

static bool operator==(const SiteLiveness& a, const SiteLiveness& b) {
    return std::tie(a.instances, a.live_peak, a.first_step, a.last_step) ==
               std::tie(b.instances, b.live_peak, b.first_step, b.last_step) &&
           a.uses == b.uses;
}

static std::ostream& operator<<(std::ostream& os, const SiteLiveness& site) {
    os << site.instances << " instances, " << site.live_peak << " live, steps " << site.first_step
       << " to " << site.last_step << ":";
    for (const SiteLiveness::Uses& uses : site.uses) {
        os << " " << uses << ";";
    }
    return os;
}

namespace {

using test::affine;
using test::at;
using test::ProgramBuilder;
using Uses = std::vector<SiteLiveness::Uses>;

constexpr std::int64_t kFree = 64;

/// Two SBUF sites and copies between them.
struct TwoSites {
    ProgramBuilder builder;
    std::uint32_t a = builder.tile("a", Space::Sbuf, Dtype::Float32, {128, kFree});
    std::uint32_t b = builder.tile("b", Space::Sbuf, Dtype::Float32, {128, kFree});
    std::uint32_t fill_a = builder.add(
        Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, a)}, {.value = 0.0});
    std::uint32_t a_to_b = builder.unary(Opcode::TensorCopy, Engine::Vector, b, a);

    [[nodiscard]] std::vector<SiteLiveness> analyse() const {
        const program::Program program = builder.build();
        return analyse_liveness(program);
    }
};

TEST(LivenessTest, ATileLivesFromItsAllocToItsLastUse) {
    TwoSites p;
    p.builder.alloc(p.a).run(p.fill_a).alloc(p.b).run(p.a_to_b).run(p.a_to_b);
    const std::vector<SiteLiveness> sites = p.analyse();
    EXPECT_EQ(sites[p.a],
              (SiteLiveness{.instances = 1,
                            .live_peak = 1,
                            .first_step = 0,
                            .last_step = 4,
                            .uses = Uses{{1, 3}}}));
    EXPECT_EQ(sites[p.b],
              (SiteLiveness{.instances = 1,
                            .live_peak = 1,
                            .first_step = 2,
                            .last_step = 4,
                            .uses = Uses{{1, 2}}}));
}

TEST(LivenessTest, TilesOfALoopThatEndWithTheirIterationNeedOnePlace) {
    TwoSites p;
    p.builder.loop(1000).alloc(p.a).run(p.fill_a, {at(affine(0, {1}))}).end();
    const SiteLiveness site = p.analyse()[p.a];
    EXPECT_EQ(site.instances, 1000);
    EXPECT_EQ(site.live_peak, 1);
    EXPECT_EQ(site.uses, (Uses{{1000, 1}})) << "use counts are not run-length coded";
}

TEST(LivenessTest, TilesUsedInTheNextIterationOverlapInPairs) {
    TwoSites p;
    p.builder.alloc(p.b).alloc(p.a).run(p.fill_a);
    p.builder.loop(9);
    p.builder.alloc(p.a).run(p.fill_a, {at(affine(1, {1}))});
    p.builder.run(p.a_to_b, {at(), at(affine(0, {1}))}).end();
    const SiteLiveness site = p.analyse()[p.a];
    EXPECT_EQ(site.live_peak, 2);
    EXPECT_EQ(site.uses, (Uses{{9, 2}, {1, 1}}));
}

TEST(LivenessTest, TilesKeptUntilAfterTheLoopAreAllAliveAtOnce) {
    TwoSites p;
    p.builder.alloc(p.b);
    p.builder.loop(5).alloc(p.a).run(p.fill_a, {at(affine(0, {1}))}).end();
    p.builder.loop(5).run(p.a_to_b, {at(), at(affine(0, {1}))}).end();
    EXPECT_EQ(p.analyse()[p.a].live_peak, 5);
}

TEST(LivenessTest, AnUnusedInstanceIsNeverAlive) {
    TwoSites p;
    p.builder.alloc(p.a).alloc(p.a).alloc(p.a).run(p.fill_a, {at(affine(1))});
    const SiteLiveness site = p.analyse()[p.a];
    EXPECT_EQ(site.live_peak, 1);
    EXPECT_EQ(site.uses, (Uses{{1, 0}, {1, 1}, {1, 0}}));
}

TEST(LivenessTest, ASiteNeverUsedHasNoLastStep) {
    TwoSites p;
    p.builder.alloc(p.b).alloc(p.a).run(p.fill_a);
    const SiteLiveness site = p.analyse()[p.b];
    EXPECT_EQ(site.last_step, -1);
    EXPECT_EQ(site.live_peak, 0);
}

TEST(LivenessTest, HbmArgumentsHaveNoInstances) {
    ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128, kFree});
    const auto a = builder.tile("a", Space::Sbuf, Dtype::Float32, {128, kFree});
    const auto load = builder.copy(a, in);
    builder.alloc(a).run(load);
    const program::Program program = builder.build();
    EXPECT_EQ(analyse_liveness(program)[in].instances, 0);
}

/// Of one instance: when it is allocated, when last used, and by how many operands.
struct Life {
    std::int64_t alloc = 0;
    std::int64_t last = -1;
    std::int64_t uses = 0;
};

/// The lives of every site's instances, by walking forwards and remembering every one.
std::vector<std::vector<Life>> lives_by_site(const program::Program& program) {
    std::vector<std::vector<Life>> result(program.buffers.size());
    program::Cursor cursor(program);
    std::int64_t number = 0;
    for (const program::Step* step = cursor.next(); step != nullptr;
         step = cursor.next(), ++number) {
        if (step->is_alloc) {
            result[step->run].push_back({.alloc = number});
            continue;
        }
        const auto& operands = program.templates[program.runs[step->run].instruction].operands;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            auto& instances = result[operands[i].buffer];
            if (!instances.empty()) {
                Life& life = instances[static_cast<std::size_t>(step->at[i].instance)];
                life.last = number;
                ++life.uses;
            }
        }
    }
    return result;
}

std::int64_t most_alive(const std::vector<Life>& lives) {
    std::map<std::int64_t, std::int64_t> changes;
    for (const Life& life : lives) {
        if (life.last >= 0) {
            ++changes[life.alloc];
            --changes[life.last + 1];
        }
    }
    std::int64_t alive = 0;
    std::int64_t most = 0;
    for (const auto& [step, change] : changes) {
        alive += change;
        most = std::max(most, alive);
    }
    return most;
}

/// What analyse_liveness finds by walking backwards.
std::vector<SiteLiveness> naive_liveness(const program::Program& program) {
    std::vector<SiteLiveness> result;
    for (const std::vector<Life>& lives : lives_by_site(program)) {
        SiteLiveness& site = result.emplace_back();
        site.instances = static_cast<std::int64_t>(lives.size());
        site.live_peak = most_alive(lives);
        site.first_step = lives.empty() ? 0 : lives.front().alloc;
        for (const Life& life : lives) {
            site.last_step = std::max(site.last_step, life.last);
            if (site.uses.empty() || site.uses.back().uses != life.uses) {
                site.uses.push_back({.instances = 0, .uses = life.uses});
            }
            ++site.uses.back().instances;
        }
    }
    return result;
}

class LivenessOfRandomPrograms : public testing::TestWithParam<unsigned> {};

TEST_P(LivenessOfRandomPrograms, IsThatOfAWalkForwards) {
    for (unsigned i = 0; i < 50; ++i) {
        const program::Program program = test::random_program(GetParam() * 1000 + i);
        const std::vector<SiteLiveness> expected = naive_liveness(program);
        const std::vector<SiteLiveness> found = analyse_liveness(program);
        for (std::size_t site = 0; site < expected.size(); ++site) {
            if (expected[site].instances > 0) {
                ASSERT_EQ(found[site], expected[site])
                    << "site " << program.buffers[site].name << " of program " << i;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LivenessOfRandomPrograms, testing::Range(1U, 5U));

}  // namespace
}  // namespace trnsim::lowering
