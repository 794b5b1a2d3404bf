// SPDX-License-Identifier: Apache-2.0
// Every number of the example traces on every chip is the one that was committed;
// tools/rebaseline.py alone changes the committed ones.
#include "support/simulation.hpp"
#include "trnsim/lowering/policies.hpp"
#include "trnsim/program/reader.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace trnsim {
namespace {

using Numbers = std::map<std::string, std::int64_t>;
using Chips = std::map<std::string, Numbers>;

const std::filesystem::path kSource = TRNSIM_SOURCE_DIR;

struct Case {
    std::string trace;
    std::vector<std::string> chips;  ///< Those that take it.

    friend std::ostream& operator<<(std::ostream& os, const Case& one) { return os << one.trace; }
};

Chips simulate_everywhere(const Case& with) {
    const program::Program program =
        program::read_file((kSource / "examples" / "traces" / (with.trace + ".nkt")).string());
    const lowering::Policies policies = lowering::default_policies(program.header.api);
    Chips chips;
    for (const std::string& name : with.chips) {
        chips[name] = test::numbers_of(test::run(program, test::chip(name), policies));
    }
    return chips;
}

Chips read_golden(const std::string& trace) {
    std::ifstream file(kSource / "tests" / "golden" / (trace + ".json"));
    return file ? nlohmann::json::parse(file).get<Chips>() : Chips{};
}

/// Writes the numbers for tools/rebaseline.py, if it asks for them.
void write_for_rebaseline(const std::string& trace, const Chips& chips) {
    if (const char* folder = std::getenv("TRNSIM_GOLDEN_OUTPUT")) {
        std::ofstream file(std::filesystem::path(folder) / (trace + ".json"));
        file << nlohmann::json(chips).dump(1) << "\n";
    }
}

/// "trn2 total_ps: 100, was 90 (+11.1 %)", one line for each number that moved.
std::string differences(const Chips& golden, const Chips& now) {
    std::string text;
    for (const auto& [chip, numbers] : now) {
        Numbers was = golden.contains(chip) ? golden.at(chip) : Numbers{};
        for (const auto& [key, value] : numbers) {
            const auto old = was.find(key);
            if (old == was.end()) {
                text += fmt::format("{} {}: {}, was not there\n", chip, key, value);
            } else if (old->second != value) {
                const double change = 100.0 * static_cast<double>(value - old->second) /
                                      static_cast<double>(old->second);
                text += fmt::format(
                    "{} {}: {}, was {} ({:+.3g} %)\n", chip, key, value, old->second, change);
            }
            was.erase(key);
        }
        for (const auto& [key, value] : was) {
            text += fmt::format("{} {}: is not there, was {}\n", chip, key, value);
        }
    }
    return text;
}

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, NoNumberOfAKnownProgramMoved) {
    const Chips now = simulate_everywhere(GetParam());
    write_for_rebaseline(GetParam().trace, now);
    EXPECT_EQ(differences(read_golden(GetParam().trace), now), "")
        << "if that is meant, run tools/rebaseline.py and say why in the commit";
}

INSTANTIATE_TEST_SUITE_P(Traces,
                         Golden,
                         testing::Values(Case{"matmul_tiled", test::chip_names()},
                                         Case{"matmul_sparse", {"trn2", "trn3"}},
                                         Case{"scale_lowered", test::chip_names()},
                                         Case{"softmax_rows", {"trn2", "trn3"}}),
                         [](const testing::TestParamInfo<Case>& with) { return with.param.trace; });

TEST(GoldenDifferences, NameKeyNewOldAndPercent) {
    const Chips golden{{"trn2", {{"total_ps", 200}, {"gone", 7}}}};
    const Chips now{{"trn2", {{"total_ps", 210}, {"new", 3}}}};
    EXPECT_EQ(
        differences(golden, now),
        "trn2 new: 3, was not there\ntrn2 total_ps: 210, was 200 (+5 %)\ntrn2 gone: is not there, "
        "was 7\n");
    EXPECT_EQ(differences(golden, golden), "");
}

}  // namespace
}  // namespace trnsim
