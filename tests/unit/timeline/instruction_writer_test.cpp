// SPDX-License-Identifier: Apache-2.0
// The table says what the sink was told; a tee tells each sink in its own numbers.
#include "trnsim/timeline/instruction_writer.hpp"

#include "trnsim/timeline/timeline_tee.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace trnsim::timeline {
namespace {

using nlohmann::json;

const InstructionWriter::Run kRun{.chip = "trainium2",
                                  .kernel = "k",
                                  .input = "k.py::k",
                                  .arguments = {"float32[1]"},
                                  .total = Picoseconds{5'000'001},
                                  .kernel_start = Picoseconds{1'000'000},
                                  .kernel_end = Picoseconds{}};

Slice executed(TrackId track, LabelId label, std::uint64_t order) {
    return {.track = track,
            .label = label,
            .start = Picoseconds{1'234'500},
            .duration = Picoseconds{9},
            .flow = 0,
            .waited_on = {},
            .order = order,
            .latency = Picoseconds{20'040},
            .occupied = Picoseconds{3'000},
            .waited = Picoseconds{7},
            .held_by = Executed{.track = track, .order = 4}};
}

TEST(InstructionWriterTest, TimesAreExactToThePicosecond) {
    std::ostringstream output;
    InstructionWriter writer(output, "0.1.0");
    const TrackId track = writer.add_track("core", "vector_engine");
    writer.slice(executed(track, writer.add_label({.name = "iota"}), 17));
    writer.finish(kRun);
    EXPECT_THAT(output.str(),
                testing::HasSubstr(R"({"queue":0,"order":17,"template":0,"start_ns":1234.5,)"
                                   R"("duration_ns":20.04,"occupied_ns":3,"waited_ns":0.007,)"
                                   R"("waited_for":{"queue":0,"order":4}})"));
    EXPECT_EQ(json::parse(output.str())["total_ns"], 5000.001);
}

TEST(InstructionWriterTest, AnEmptyRunIsValid) {
    std::ostringstream output;
    InstructionWriter writer(output, "0.1.0");
    writer.finish(kRun);
    const json table = json::parse(output.str());
    EXPECT_TRUE(table["instructions"].empty());
    EXPECT_TRUE(table["queues"].empty());
}

TEST(InstructionWriterTest, WhatDidNotWaitWaitedForNobody) {
    std::ostringstream output;
    InstructionWriter writer(output, "0.1.0");
    const TrackId track = writer.add_track("core", "vector_engine");
    Slice slice = executed(track, writer.add_label({.name = "iota"}), 0);
    slice.waited = Picoseconds{};
    writer.slice(slice);
    writer.finish(kRun);
    EXPECT_TRUE(json::parse(output.str())["instructions"][0]["waited_for"].is_null());
}

TEST(InstructionWriterTest, NamesAreEscaped) {
    std::ostringstream output;
    InstructionWriter writer(output, "0.1.0");
    static_cast<void>(writer.add_label({.name = "a\"b\n", .category = "\xff"}));
    writer.finish(kRun);
    EXPECT_EQ(json::parse(output.str())["templates"][0]["opcode"], "a\"b\n");
}

TEST(TimelineTeeTest, TranslatesNumbersForEverySink) {
    std::ostringstream one;
    std::ostringstream two;
    InstructionWriter first(one, "0.1.0");
    InstructionWriter second(two, "0.1.0");
    static_cast<void>(second.add_track("core", "own"));
    static_cast<void>(second.add_label({.name = "own"}));
    TimelineTee tee({&first, &second});
    const TrackId counter = tee.add_counter("core", "rate", "GB/s");
    const TrackId track = tee.add_track("core", "scalar_engine");
    tee.counter(counter, Picoseconds{1}, 2.0);
    tee.slice(executed(track, tee.add_label({.name = "iota"}), 0));
    first.finish(kRun);
    second.finish(kRun);
    const json left = json::parse(one.str());
    const json right = json::parse(two.str());
    EXPECT_EQ(left["instructions"][0]["queue"], 0);
    EXPECT_EQ(left["instructions"][0]["template"], 0);
    EXPECT_EQ(right["instructions"][0]["queue"], 1);
    EXPECT_EQ(right["instructions"][0]["template"], 1);
    EXPECT_EQ(right["instructions"][0]["waited_for"]["queue"], 1);
}

}  // namespace
}  // namespace trnsim::timeline
