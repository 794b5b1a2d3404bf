// SPDX-License-Identifier: Apache-2.0
// Loads, stores and the kernel around them take the time that was measured on Trainium2.
// [M-VOYAGER]
#include "support/program_builder.hpp"
#include "support/recorded_timeline.hpp"
#include "support/simulation.hpp"
#include "trnsim/program/reader.hpp"

#include <gtest/gtest.h>

namespace trnsim {
namespace {

constexpr double kBytesPerNs = 368.0;

/// `count` loads (or stores) of 128 rows of `row_bytes`, by hardware descriptor generation.
std::vector<test::RecordedTimeline::Entry> transfers(std::int64_t row_bytes,
                                                     bool is_load,
                                                     std::int64_t count) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Uint8, {128, row_bytes});
    const auto memory = is_load ? builder.input("memory", Dtype::Uint8, {128, row_bytes})
                                : builder.output("memory", Dtype::Uint8, {128, row_bytes});
    const auto copy = is_load ? builder.copy(tile, memory, DgeMode::Hardware)
                              : builder.copy(memory, tile, DgeMode::Hardware);
    builder.alloc(tile);
    builder.loop(count).run(copy).end();
    return test::executions(builder.build(), test::chip("trn2"), "dma_copy");
}

TEST(DmaLaw, AStoreIsVisibleAfterDispatchPayloadAndNotification) {
    for (const std::int64_t row : {512, 1024, 2048}) {
        const double payload = 162.0 + 0.963 * 128.0 * static_cast<double>(row) / kBytesPerNs;
        const double expected = 609.0 + 566.0 + payload + 355.0;
        EXPECT_NEAR(
            transfers(row, false, 1).at(0).duration.nanoseconds(), expected, 0.05 * expected)
            << row << " bytes";
    }
}

TEST(DmaLaw, ALoadIsVisibleAfterDispatchPayloadAndNotification) {
    for (const std::int64_t row : {512, 1024, 2048}) {
        const double payload = 293.0 + 1.305 * 128.0 * static_cast<double>(row) / kBytesPerNs;
        const double expected = 599.0 + 751.0 + payload + 314.0;
        EXPECT_NEAR(transfers(row, true, 1).at(0).duration.nanoseconds(), expected, 0.05 * expected)
            << row << " bytes";
    }
}

TEST(DmaLaw, LoadsThatFollowEachOtherLoseNoThroughput) {
    // What the engines begin later than each other they also end later.
    const std::vector<test::RecordedTimeline::Entry> loads = transfers(8192, true, 12);
    const std::vector<test::RecordedTimeline::Entry> stores = transfers(8192, false, 12);
    const auto ends_apart = [](const std::vector<test::RecordedTimeline::Entry>& entries) {
        const auto end = [&](std::size_t i) {
            return entries.at(i).start + entries.at(i).duration;
        };
        return (end(11) - end(5)).nanoseconds();
    };
    EXPECT_NEAR(ends_apart(loads), ends_apart(stores), 1.0);
}

TEST(DmaLaw, ABenchmarkCountsLessOfTheStartThanAProfiler) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Uint8, {128, 64});
    const auto load = builder.copy(tile, builder.input("memory", Dtype::Uint8, {128, 64}));
    builder.alloc(tile).run(load);
    const program::Program program = builder.build();
    const ChipSpec chip = test::chip("trn2");
    const RunResult profiled = test::run(program, chip);
    const RunResult benchmarked = test::run(program, chip, {.method = Method::Benchmark});
    EXPECT_EQ(benchmarked.method, Method::Benchmark);
    EXPECT_EQ(benchmarked.kernel_start, chip.runtime.benchmark_start_ns);
    EXPECT_EQ(profiled.total - benchmarked.total,
              chip.runtime.kernel_start_ns - chip.runtime.benchmark_start_ns);
}

TEST(DmaLaw, AnEmptyKernelIsItsStartAndItsEnd) {
    test::ProgramBuilder builder;
    const RunResult empty = test::run(builder.build(), test::chip("trn2"));
    EXPECT_EQ(empty.total, empty.kernel_start + empty.kernel_end);
    EXPECT_NEAR(empty.total.microseconds(), 15.4, 0.05 * 15.4);  // [TRACES-TRN2]
}

}  // namespace
}  // namespace trnsim
