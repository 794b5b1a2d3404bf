// SPDX-License-Identifier: Apache-2.0
// Chips stand side by side only for one and the same input.
#include "trnsim/report/comparison.hpp"

#include "golden.hpp"
#include "sample_report.hpp"
#include "trnsim/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace trnsim::report {
namespace {

using testing::HasSubstr;

ResultFile on_chip(const std::string& chip, std::int64_t total_ps, Method method = {}) {
    Subject subject = matmul_subject();
    subject.chip.spec.name = chip;
    RunResult result = matmul_result();
    result.method = method;
    const Picoseconds shorter = result.total - Picoseconds{total_ps};
    result.total = Picoseconds{total_ps};
    for (auto& [engine, times] : result.engines) {
        (times.idle > shorter ? times.idle : times.active) -= shorter;
        if (engine == Engine::Vector) {
            times.active += shorter;
            times.waiting[0] -= shorter;
        }
    }
    return {chip + ".json", to_json(make_report(std::move(subject), std::move(result)))};
}

std::vector<ResultFile> two_chips() {
    return {on_chip("trainium1", 1'036'838'000), on_chip("trainium2", 518'419'000)};
}

TEST(ComparisonTest, SpeedUpIsRelativeToTheFirst) {
    const Comparison comparison = compare(two_chips());
    ASSERT_EQ(comparison.rows.size(), 2U);
    EXPECT_EQ(comparison.rows[0].speed_up, 1.0);
    EXPECT_EQ(comparison.rows[1].speed_up, 2.0);
    EXPECT_EQ(comparison.rows[1].chip, "trainium2");
}

TEST(ComparisonTest, ChipsOfOneNameAreCalledAsTheyWereGiven) {
    const std::vector<ResultFile> results{
        on_chip("trainium2", 1'036'838'000),
        {"mine.json", on_chip("trainium2", 518'419'000).json().dump()}};
    const Comparison comparison = compare(results);
    EXPECT_EQ(comparison.rows[0].chip, "trainium2.json");
    EXPECT_EQ(comparison.rows[1].chip, "mine.json");
}

TEST(ComparisonTest, ATextLinePerChip) {
    const std::string text = to_text(compare(two_chips()), false);
    EXPECT_THAT(text, HasSubstr("trainium1  1,036.8 us      1.00  tensor 89.9 %"));
    EXPECT_THAT(text, HasSubstr("trainium2   518.42 us      2.00"));
    EXPECT_THAT(text, HasSubstr("96.00 MiB    none"));
}

TEST(ComparisonTest, LongPathsLeaveRoomForTheTable) {
    const std::string folder = "/home/somebody/architectures/of_the_next_generation_but_one/";
    const std::string json = on_chip("trainium2", 518'419'000).json().dump();
    const std::vector<ResultFile> results{
        on_chip("trainium2", 518'419'000), {folder + "wide.json", json}, {folder + "x.json", json}};
    Comparison comparison = compare(results);
    comparison.rows[2].warnings = {"it is late"};
    const std::string text = to_text(comparison, false);
    EXPECT_THAT(text, HasSubstr("  …/wide.json     518.42 us      1.00  tensor 79.8 %"));
    EXPECT_THAT(text, HasSubstr("warning on …/x.json: it is late"));
    EXPECT_THAT(to_json(comparison), HasSubstr(folder + "wide.json"));
}

TEST(ComparisonTest, PathsOfOneNameAreToldApartByTheirFolders) {
    const std::string json = on_chip("trainium2", 518'419'000).json().dump();
    const std::vector<ResultFile> results{{"architectures/wide_memory/a/chip.json", json},
                                          {"architectures/wide_memory/b/chip.json", json}};
    const std::string text = to_text(compare(results), false);
    EXPECT_THAT(text, HasSubstr("  architectures/wide_memory/a/chip.json  518.42 us"));
    EXPECT_THAT(text, HasSubstr("  architectures/wide_memory/b/chip.json  518.42 us"));
}

TEST(ComparisonTest, WarningsStandOnceBelowTheTableWithTheChipsThatGaveThem) {
    Comparison comparison = compare(two_chips());
    comparison.rows[0].warnings = {"left out", "slow"};
    comparison.rows[1].warnings = {"slow"};
    const std::string text = to_text(comparison, false);
    EXPECT_THAT(text, HasSubstr("warning on trainium1: left out\n"));
    EXPECT_THAT(text, HasSubstr("warning: slow\n"));
    EXPECT_EQ(text.find("slow"), text.rfind("slow"));
}

TEST(ComparisonTest, WhatIsNotByDefaultStandsBelowTheTableAsInTheReportOfARun) {
    const std::vector<ResultFile> results{on_chip("trainium1", 1'036'838'000, Method::Benchmark),
                                          on_chip("trainium2", 518'419'000, Method::Benchmark)};
    Comparison comparison = compare(results);
    EXPECT_THAT(to_text(comparison, false),
                HasSubstr("latency: like nki.benchmark's latency\n"
                          "compiler: as assumed for \"nki\", but dma_rings=3\n"
                          "chip set: dma.engine_gb_per_s=27.2\n"));
    comparison.rows[0].changes.clear();
    EXPECT_THAT(to_text(comparison, false),
                HasSubstr("chip set on trainium2: dma.engine_gb_per_s=27.2\n"));
    comparison.rows[1].changes.clear();
    EXPECT_EQ(to_text(comparison, false).find("chip set"), std::string::npos);
}

TEST(ComparisonTest, JsonIsTheSameByteForByteOnEveryMachine) {
    const std::string json = to_json(compare(two_chips()));
    EXPECT_EQ(moved_line("sample_comparison.json", json), "");
}

TEST(ComparisonTest, RejectsResultsOfDifferentArguments) {
    Subject subject = matmul_subject();
    subject.header.arguments = {"float32[64,64]"};
    const std::vector<ResultFile> results{
        on_chip("trainium1", 1'036'838'000),
        {"other.json", to_json(make_report(std::move(subject), matmul_result()))}};
    EXPECT_THAT([&] { (void)compare(results); },
                testing::ThrowsMessage<UserError>(
                    HasSubstr("other.json: is of matmul.py::nki_matmul_fully_optimized_ "
                              "(float32[64,64]), but trainium1.json")));
}

TEST(ComparisonTest, NeedsAResult) {
    EXPECT_THAT([] { (void)compare({}); },
                testing::ThrowsMessage<UserError>(HasSubstr("no result is given")));
}

}  // namespace
}  // namespace trnsim::report
