// SPDX-License-Identifier: Apache-2.0
// What changed is found by key, and nothing else is reported.
#include "trnsim/report/difference.hpp"

#include "error_of.hpp"
#include "golden.hpp"
#include "sample_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace trnsim::report {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ResultFile sample(const std::string& name) {
    return {name, to_json(make_report(matmul_subject(), matmul_result()))};
}

/// The sample with a faster clock, one line less, half of the reads and another warning.
ResultFile changed_sample() {
    Subject subject = matmul_subject();
    subject.chip.leaves[1].value = "2.6";
    subject.policies = lowering::default_policies("nki");
    RunResult result = matmul_result();
    const Picoseconds faster{50'000'000};
    result.total -= faster;
    result.engines[Engine::Tensor].active -= faster;
    result.engines[Engine::Vector].waiting[0] -= faster;
    for (const Engine engine : {Engine::Scalar, Engine::Gpsimd, Engine::Sync}) {
        result.engines[engine].idle -= faster;
    }
    result.lines[0].active -= faster;
    result.lines.erase(result.lines.begin() + 3);
    result.memory.hbm_read_bytes /= 2;
    result.warnings = {"HBM reads are strided"};
    return {"after.json", to_json(make_report(std::move(subject), std::move(result)))};
}

const Change* find(const Difference& difference,
                   const std::string& section,
                   const std::string& key,
                   const std::string& field = "") {
    const auto found = std::find_if(
        difference.changes.begin(), difference.changes.end(), [&](const Change& change) {
            return change.section == section && change.key == key && change.field == field;
        });
    return found == difference.changes.end() ? nullptr : &*found;
}

/// What the user is told about a result.
std::string error_with(const ResultFile::Json& json) {
    return error_of([&json] {
        const Difference difference = diff({"a.json", json.dump()}, sample("b.json"));
        (void)to_text(difference, false);
        (void)to_json(difference);
    });
}

/// The same about the sample without a member of what is at a JSON pointer.
std::string error_without(const std::string& parent, const std::string& key) {
    ResultFile::Json json = sample("a.json").json();
    json[ResultFile::Json::json_pointer(parent)].erase(key);
    return error_with(json);
}

TEST(DifferenceTest, NamesWhatAResultLacks) {
    EXPECT_EQ(error_without("", "cores"),
              "a.json: no result: the key \"cores\" is missing; give a file that trnsim run --json "
              "wrote");
    EXPECT_EQ(error_without("/run", "method"),
              "a.json: /run/method: is missing; give a file that trnsim run --json wrote");
}

TEST(DifferenceTest, RejectsCoresAndAMethodOfAnotherType) {
    ResultFile::Json json = sample("a.json").json();
    json["run"]["method"] = 1;
    EXPECT_THAT(error_with(json),
                HasSubstr("a.json: /run/method: type number, but a string is needed"));
    json["cores"] = 1;
    EXPECT_THAT(error_with(json),
                HasSubstr("a.json: /cores: type number, but type array is needed"));
}

TEST(DifferenceTest, WhateverAResultLacksIsToldOrNotNeeded) {
    const ResultFile whole = sample("a.json");
    for (const auto& [key, value] : whole.json().items()) {
        EXPECT_NO_THROW(error_without("", key)) << key;
        for (const auto& [member, ignored] : value.items()) {
            if (value.is_object()) {
                EXPECT_NO_THROW(error_without("/" + key, member)) << key << ' ' << member;
            }
        }
    }
}

TEST(DifferenceTest, OfEqualResultsIsEmpty) {
    const Difference difference = diff(sample("a.json"), sample("b.json"));
    EXPECT_TRUE(difference.changes.empty());
    EXPECT_THAT(to_text(difference, false), HasSubstr("nothing changed"));
}

TEST(DifferenceTest, FindsConfigPoliciesBytesAndEnginesByKey) {
    const Difference difference = diff(sample("before.json"), changed_sample());
    const Change* clock = find(difference, "config", "neuron_core.tensor_engine.clock_ghz");
    ASSERT_NE(clock, nullptr);
    EXPECT_EQ(clock->before, 2.4);
    EXPECT_EQ(clock->after, 2.6);
    EXPECT_NE(find(difference, "policies", "dma_rings"), nullptr);
    EXPECT_NE(find(difference, "summary", "hbm_read_bytes"), nullptr);
    EXPECT_NE(find(difference, "engines", "tensor", "active_ns"), nullptr);
    EXPECT_EQ(find(difference, "engines", "tensor", "wait_dma_ns"), nullptr);
}

TEST(DifferenceTest, HowManyCoresRanAndHowTheyWereTimedIsPartOfWhatWasRun) {
    ResultFile::Json other = sample("a.json").json();
    other["run"]["method"] = "benchmark";
    other["cores"].push_back(other["cores"][0]);
    const Difference difference = diff(sample("a.json"), {"b.json", other.dump()});
    EXPECT_NE(find(difference, "subject", "method"), nullptr);
    EXPECT_THAT(to_text(difference, false),
                AllOf(HasSubstr("what was run\n"),
                      HasSubstr("method        profiler -> benchmark"),
                      HasSubstr("neuron_cores  1 -> 2")));
}

TEST(DifferenceTest, LinesJoinBySourceOperationAndEngineWhateverTheirOrder) {
    ResultFile::Json reordered = sample("a.json").json();
    std::reverse(reordered["attribution"].begin(), reordered["attribution"].end());
    EXPECT_TRUE(diff(sample("a.json"), {"b.json", reordered.dump()}).changes.empty());
}

TEST(DifferenceTest, ALineThatIsGoneHasNoValueAfter) {
    const Difference difference = diff(sample("before.json"), changed_sample());
    const Change* gone =
        find(difference, "attribution", "matmul.py:235 dma_copy (sync)", "stalled_ns");
    ASSERT_NE(gone, nullptr);
    EXPECT_EQ(gone->before, 310'200.0);
    EXPECT_TRUE(gone->after.is_null());
}

TEST(DifferenceTest, LinesOfOneKeyAreSummed) {
    ResultFile::Json split = sample("a.json").json();
    auto half = split["attribution"][0];
    for (const char* field :
         {"active_ns", "stalled_ns", "on_critical_path_ns", "instruction_count"}) {
        half[field] = half[field].get<double>() / 2;
    }
    for (auto& time : half["waited_for_ns"]) {
        time = time.get<double>() / 2;
    }
    split["attribution"][0] = half;
    split["attribution"].push_back(half);
    EXPECT_TRUE(diff(sample("a.json"), {"b.json", split.dump()}).changes.empty());
}

TEST(DifferenceTest, TextLeadsWithTheLatencyAndHidesWhatDidNotChange) {
    const std::string text = to_text(diff(sample("before.json"), changed_sample()), false);
    EXPECT_THAT(
        text,
        AllOf(HasSubstr("1,036.8 us -> 986.84 us, -4.8 %"),
              HasSubstr("neuron_core.tensor_engine.clock_ghz  2.4 -> 2.6"),
              HasSubstr("dma_rings  3 -> "),
              HasSubstr("hbm_read_bytes                        80.00 MiB  40.00 MiB  -50.0 %"),
              HasSubstr("932.15 -> 882.15"),
              HasSubstr("310.20 -> none"),
              HasSubstr("new warning: HBM reads are strided")));
    EXPECT_THAT(text, AllOf(Not(HasSubstr("hbm_write_bytes")), Not(HasSubstr("tensor_copy"))));
}

TEST(DifferenceTest, LongLinesKeepTheirNumbersAndOperations) {
    ResultFile::Json other = sample("a.json").json();
    other["attribution"][0]["source"] =
        "experiments_of_november/attention_for_long_sequences.py:235";
    const std::string text = to_text(diff(sample("a.json"), {"b.json", other.dump()}), false);
    EXPECT_THAT(text, HasSubstr("ces.py:235 "));
    EXPECT_THAT(text, Not(HasSubstr("experiments")));
}

TEST(DifferenceTest, JsonIsTheSameByteForByteOnEveryMachine) {
    const std::string json = to_json(diff(sample("before.json"), changed_sample()));
    EXPECT_EQ(moved_line("sample_difference.json", json), "");
}

}  // namespace
}  // namespace trnsim::report
