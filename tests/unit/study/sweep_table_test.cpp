// SPDX-License-Identifier: Apache-2.0
// The table of a sweep, and the CSV it is written as.
#include "trnsim/study/sweep_table.hpp"

#include "trnsim/study/csv.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace trnsim::study {
namespace {

std::string row(const std::vector<std::string>& cells) {
    std::ostringstream output;
    write_csv_row(output, cells);
    return output.str();
}

TEST(CsvTest, LeavesPlainCellsAsTheyAre) {
    EXPECT_EQ(row({"a", "", "1.5"}), "a,,1.5\n");
}

TEST(CsvTest, QuotesSeparatorsAndDoublesQuotationMarks) {
    EXPECT_EQ(row({"a,b", "say \"x\"", "two\nlines"}),
              "\"a,b\",\"say \"\"x\"\"\",\"two\nlines\"\n");
}

TEST(SweepTableTest, PutsAxesFirstThenTheSummaryThenWarningsAndTheError) {
    const Grid grid(std::vector<Axis>{{"chip", {"trn1", "trn2"}}});
    std::ostringstream output;
    write_sweep_csv(output,
                    grid,
                    {{.output = R"({"summary":{"latency_us":2.5,"mfu_estimated_percent":null},
                         "warnings":["left out","slow"]})"},
                     {.output = R"({"summary":{"latency_us":1,"kernel":"a,b"},"warnings":[]})"}});
    EXPECT_EQ(output.str(),
              "chip,latency_us,mfu_estimated_percent,kernel,warnings,error\n"
              "trn1,2.5,,,left out; slow,\n"
              "trn2,1,,\"a,b\",,\n");
}

TEST(SweepTableTest, KeepsARowForAPointThatFailed) {
    const Grid grid(std::vector<Axis>{{"a", {"1", "2"}}});
    std::ostringstream output;
    write_sweep_csv(output,
                    grid,
                    {{.exit_status = 3, .error = "deadlock at 4 us"},
                     {.output = R"({"summary":{"latency_us":1},"warnings":[]})"}});
    EXPECT_EQ(output.str(), "a,latency_us,warnings,error\n1,,,deadlock at 4 us\n2,1,,\n");
}

TEST(SweepTableTest, WritesOnlyErrorsIfAllPointsFailed) {
    std::ostringstream output;
    const Grid grid(std::vector<Axis>{{"a", {"1"}}});
    write_sweep_csv(output, grid, {{.exit_status = 2, .error = "no such chip"}});
    EXPECT_EQ(output.str(), "a,warnings,error\n1,,no such chip\n");
}

TEST(WorstExitStatusTest, RanksOurFaultsAboveTheProgramsAndTheUsers) {
    const JobOutcome fine;
    const JobOutcome user{.exit_status = 2};
    const JobOutcome program{.exit_status = 3};
    const JobOutcome ours{.exit_status = 1};
    EXPECT_EQ(worst_exit_status({fine, fine}), 0);
    EXPECT_EQ(worst_exit_status({fine, user}), 2);
    EXPECT_EQ(worst_exit_status({program, user}), 3);
    EXPECT_EQ(worst_exit_status({user, ours, program}), 1);
}

}  // namespace
}  // namespace trnsim::study
