// SPDX-License-Identifier: Apache-2.0
// The result file is the same on every machine and keeps all sums; its schema is checked by
// tests/python/report.
#include "golden.hpp"
#include "sample_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace trnsim::report {
namespace {

using Json = nlohmann::ordered_json;

std::string sample_json() {
    Report report = make_report(matmul_subject(), matmul_result());
    report.values = matmul_values();
    return to_json(report);
}

TEST(ResultJsonTest, IsTheSameByteForByteOnEveryMachine) {
    EXPECT_EQ(moved_line("sample_result.json", sample_json()), "");
}

TEST(ResultJsonTest, HoldsTimesWithoutRoundingNoise) {
    const std::string text = sample_json();
    EXPECT_THAT(text, testing::HasSubstr("\"total_time\": 0.001036838,"));
    EXPECT_THAT(text, testing::HasSubstr("\"latency_us\": 1036.838,"));
}

TEST(ResultJsonTest, EnginesAddUpToTheLatency) {
    const Json json = Json::parse(sample_json());
    for (const auto& [engine, times] : json["engines"].items()) {
        const double sum = times["active_ns"].get<double>() +
                           times["wait_semaphore_ns"].get<double>() +
                           times["wait_dma_ns"].get<double>() +
                           times["wait_port_ns"].get<double>() + times["idle_ns"].get<double>();
        EXPECT_NEAR(sum, 1'036'838.0, 0.0005) << engine;
    }
}

TEST(ResultJsonTest, ListsTheNumbersThatTheUserSet) {
    const Json json = Json::parse(sample_json());
    EXPECT_EQ(json["config_overrides"], Json::array({"dma.engine_gb_per_s"}));
    EXPECT_EQ(json["config"]["dma.engine_gb_per_s"], 27.2);
}

TEST(ResultJsonTest, HasNoValuesIfNobodyAskedForThem) {
    const Json json = Json::parse(to_json(make_report(matmul_subject(), matmul_result())));
    EXPECT_TRUE(json["values"].is_null());
}

TEST(ResultJsonTest, ReplacesBytesThatAreNoUtf8) {
    Subject subject = matmul_subject();
    subject.input = "kernel\xFF.py";
    const Json json = Json::parse(to_json(make_report(std::move(subject), matmul_result())));
    EXPECT_EQ(json["input"], "kernel\xEF\xBF\xBD.py");
}

}  // namespace
}  // namespace trnsim::report
