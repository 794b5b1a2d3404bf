// SPDX-License-Identifier: Apache-2.0
// Two tables are joined engine by engine, and what differs is counted once.
#include "trnsim/report/instruction_difference.hpp"

#include "golden.hpp"
#include "sample_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace trnsim::report {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

InstructionTable simulation() {
    return read_instructions("simulated.json", simulated_table());
}

InstructionDifference with_profile() {
    return diff(simulation(), read_instructions("profile.json", profiled().dump()));
}

const InstructionDifference::EngineTimes& times_of(const InstructionDifference& difference,
                                                   Engine engine) {
    return *std::ranges::find(
        difference.engines, engine, &InstructionDifference::EngineTimes::engine);
}

TEST(InstructionDifferenceTest, OfATableWithItselfIsEmpty) {
    const InstructionDifference difference = diff(simulation(), simulation());
    EXPECT_THAT(difference.partings, IsEmpty());
    EXPECT_THAT(difference.lags, IsEmpty());
    for (const auto& engine : difference.engines) {
        EXPECT_EQ(engine.joined, engine.count.before);
        EXPECT_EQ(engine.active.before, engine.active.after);
    }
    EXPECT_THAT(to_text(difference, false), HasSubstr("the order is the same on every engine"));
}

TEST(InstructionDifferenceTest, JoinsByOpcodeAndSizeInOrder) {
    const InstructionDifference difference = with_profile();
    EXPECT_EQ(times_of(difference, Engine::Tensor).joined, 2);
    EXPECT_EQ(times_of(difference, Engine::Vector).joined, 1);  // One reduction of two columns.
    EXPECT_EQ(times_of(difference, Engine::Dma).joined, 2);
    EXPECT_THAT(times_of(difference, Engine::Vector).rows, SizeIs(4));
    EXPECT_EQ(times_of(difference, Engine::Scalar).count.before, 0);
    EXPECT_EQ(times_of(difference, Engine::Vector).other_count.before, 1);
}

TEST(InstructionDifferenceTest, EveryInstructionIsInExactlyOneRow) {
    const InstructionDifference difference = with_profile();
    for (const auto& engine : difference.engines) {
        std::size_t before = 0;
        std::size_t after = 0;
        for (const auto& row : engine.rows) {
            if (row.before) {
                EXPECT_EQ(*row.before, before++);
            }
            if (row.after) {
                EXPECT_EQ(*row.after, after++);
            }
        }
        EXPECT_EQ(static_cast<std::int64_t>(before), engine.count.before);
        EXPECT_EQ(static_cast<std::int64_t>(after), engine.count.after);
    }
}

TEST(InstructionDifferenceTest, ActiveTimeCountsOverlapsOnce) {
    const InstructionDifference difference = with_profile();
    EXPECT_EQ(times_of(difference, Engine::Vector).active.before, ns(450));
    EXPECT_EQ(times_of(difference, Engine::Dma).active.before, ns(2100.5 + 1600));
    EXPECT_EQ(times_of(difference, Engine::Tensor).active.after, ns(750));
}

TEST(InstructionDifferenceTest, StartsAreComparedFromTheStartOfEachKernel) {
    const InstructionDifference difference = with_profile();
    const auto lag = std::ranges::find_if(
        difference.lags, [](const auto& each) { return each.engine == Engine::Vector; });
    ASSERT_NE(lag, difference.lags.end());
    EXPECT_EQ(lag->lag, ns((4000 - 900) - (3750 - 1000)));
}

TEST(InstructionDifferenceTest, TheEarliestPartingComesFirst) {
    const InstructionDifference difference = with_profile();
    ASSERT_THAT(difference.partings, Not(IsEmpty()));
    EXPECT_EQ(difference.partings.front().engine, Engine::Scalar);
    EXPECT_EQ(difference.partings.front().start, ns(50));
    EXPECT_TRUE(
        std::ranges::is_sorted(difference.partings, {}, &InstructionDifference::Parting::start));
}

TEST(InstructionDifferenceTest, TransfersAreSummedByDirection) {
    const InstructionDifference difference = with_profile();
    ASSERT_THAT(difference.transfers, SizeIs(2));
    const auto& store = difference.transfers[1];
    EXPECT_EQ(store.direction, Direction::Store);
    EXPECT_EQ(store.count.before, 2);
    EXPECT_EQ(store.count.after, 1);
    EXPECT_EQ(store.bytes.before, store.bytes.after);
    EXPECT_EQ(store.descriptors.before, store.descriptors.after);
}

TEST(InstructionDifferenceTest, WaitsOfProfiledTransfersAreNotKnown) {
    const InstructionDifference difference = with_profile();
    EXPECT_EQ(times_of(difference, Engine::Dma).waited.before, ns(3240));
    EXPECT_EQ(times_of(difference, Engine::Dma).waited.after, std::nullopt);
}

TEST(InstructionDifferenceTest, JsonIsTheSame) {
    const std::string json = to_json(with_profile());
    EXPECT_EQ(moved_line("sample_instruction_difference.json", json), "");
}

TEST(InstructionDifferenceTest, TheTextFitsTheScreenAndNamesWhatDiffers) {
    const std::string text = to_text(with_profile(), false);
    EXPECT_THAT(text,
                AllOf(HasSubstr("latency     7.9000 us -> 8.5000 us, +7.6 %"),
                      HasSubstr("TENSOR_REDUCE 1    2 -> 0"),
                      HasSubstr("store         2 -> 1"),
                      HasSubstr("2 TENSOR_REDUCE 1")));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 100U) << line;
    }
}

TEST(InstructionDifferenceTest, WhatIsOddAboutATableIsSaidBelowAfterAnEmptyLine) {
    InstructionTable before = simulation();
    InstructionTable after = simulation();
    before.notes = {"one"};
    after.notes = {"two", "three"};
    const std::string text = to_text(diff(std::move(before), std::move(after)), false);
    EXPECT_THAT(text,
                EndsWith("\n\nsimulated.json: one\nsimulated.json: two\nsimulated.json: three\n"));
}

TEST(InstructionDifferenceTest, RowsOfAnEngineStandSideBySide) {
    const std::string text = rows_text(with_profile(), Engine::Vector, false);
    EXPECT_THAT(text, HasSubstr("COPY 128"));
    EXPECT_THAT(text, HasSubstr("TENSOR_REDUCE 2"));
    EXPECT_THAT(rows_text(with_profile(), Engine::Gpsimd, false),
                HasSubstr("nothing ran on gpsimd"));
}

}  // namespace
}  // namespace trnsim::report
