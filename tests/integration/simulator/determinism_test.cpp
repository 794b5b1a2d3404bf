// SPDX-License-Identifier: Apache-2.0
// The same input gives the same result, whoever watches.
#include "support/program_builder.hpp"
#include "support/quiet_timeline.hpp"
#include "support/random_program.hpp"
#include "support/simulation.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace trnsim {
namespace {

/// Counts, and checks that time does not go back.
class Spectator : public test::QuietTimeline {
public:
    void slice(const timeline::Slice& slice) override {
        ++slices_;
        last_ = std::max(last_, slice.start + slice.duration);
    }
    void counter(timeline::TrackId /*track*/, Picoseconds at, double value) override {
        EXPECT_GE(at, counted_);
        EXPECT_GE(value, 0.0);
        counted_ = at;
    }

    [[nodiscard]] std::int64_t slices() const { return slices_; }
    [[nodiscard]] Picoseconds last() const { return last_; }

private:
    std::int64_t slices_ = 0;
    Picoseconds last_;
    Picoseconds counted_;
};

TEST(Determinism, TwoRunsGiveTheSameNumbers) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        const program::Program program = test::random_program(seed);
        for (const std::string& name : test::chip_names()) {
            const ChipSpec chip = test::chip(name);
            EXPECT_EQ(test::numbers_of(test::run(program, chip)),
                      test::numbers_of(test::run(program, chip)))
                << name << ", seed " << seed;
        }
    }
}

TEST(Determinism, ATraceReadBackFromItsTextGivesTheSameNumbers) {
    test::ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128, 512});
    const auto out = builder.output("out", Dtype::Float32, {128, 512});
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 512});
    builder.alloc(tile).run(builder.copy(tile, in)).run(builder.copy(out, tile));
    const ChipSpec trn2 = test::chip("trn2");
    EXPECT_EQ(test::numbers_of(test::run(builder.build(), trn2)),
              test::numbers_of(test::run(test::read_trace(builder.text()), trn2)));
}

TEST(Determinism, ATimelineChangesNothingAndShowsEveryInstruction) {
    const program::Program program = test::random_program(11);
    const ChipSpec trn2 = test::chip("trn2");
    Spectator spectator;
    const RunResult watched = test::run(
        program, trn2, RunOptions{.policies = {}, .timeline = &spectator, .progress = {}});
    EXPECT_EQ(test::numbers_of(watched), test::numbers_of(test::run(program, trn2)));
    std::int64_t executed = watched.dma.transfers;
    for (const auto& [engine, times] : watched.engines) {
        executed += times.instructions;
    }
    EXPECT_GE(spectator.slices(), executed);
    EXPECT_EQ(spectator.last() + watched.kernel_end, watched.total);
}

TEST(Determinism, ProgressChangesNothingAndRisesToTheEnd) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 512});
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, tile, tile);
    builder.alloc(tile).loop(5000).run(copy).end();
    const program::Program program = builder.build();
    const ChipSpec trn2 = test::chip("trn2");
    std::vector<std::int64_t> calls;
    const RunResult told =
        test::run(program,
                  trn2,
                  RunOptions{.policies = {},
                             .timeline = nullptr,
                             .progress = [&](std::int64_t done, std::int64_t total) {
                                 EXPECT_EQ(total, 5000);
                                 calls.push_back(done);
                             }});
    EXPECT_EQ(test::numbers_of(told), test::numbers_of(test::run(program, trn2)));
    EXPECT_GT(calls.size(), 5U);
    EXPECT_TRUE(std::ranges::is_sorted(calls));
    EXPECT_EQ(calls.back(), 5000);
}

}  // namespace
}  // namespace trnsim
