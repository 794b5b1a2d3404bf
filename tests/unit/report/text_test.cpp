// SPDX-License-Identifier: Apache-2.0
// The text of a run fits a screen and says what matters.
#include "sample_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace trnsim::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::string line_with(const std::string& text, const std::string& part) {
    for (const std::string& line : lines_of(text)) {
        if (line.find(part) != std::string::npos) {
            return line;
        }
    }
    return "";
}

std::string line_starting_with(const std::string& text, const std::string& start) {
    for (const std::string& line : lines_of(text)) {
        if (line.starts_with(start)) {
            return line;
        }
    }
    return "";
}

std::string sample_text(RunResult result) {
    return to_text(make_report(matmul_subject(), std::move(result)), false);
}

/// More and longer of everything than fits.
Report oversized_report() {
    Subject subject = matmul_subject();
    subject.header.kernel = std::string(300, 'k');
    subject.header.arguments.assign(40, "bfloat16[8192,8192]");
    for (spec::ChipConfig::Leaf& leaf : subject.chip.leaves) {
        leaf.source = "set by the user";
    }
    RunResult result = matmul_result();
    for (int i = 0; i < 50; ++i) {
        LineResult line = result.lines.front();
        line.source = std::string(80, 's') + std::to_string(i);
        line.waited_for[std::string(200, 'w')] = Picoseconds{5};
        result.lines.push_back(line);
        result.warnings.push_back(std::string(400, 'y') + "\nsecond line");
        result.assumptions.emplace_back(400, 'z');
        result.advice.push_back({.source = std::string(200, 'a'),
                                 .op = "dma_copy",
                                 .text = std::string(200, 'b') + "; " + std::string(200, 'd'),
                                 .time = Picoseconds{}});
        result.critical_path.push_back({std::string(150, 'c'), Picoseconds{}});
    }
    return make_report(std::move(subject), std::move(result));
}

TEST(ReportTextTest, FitsAScreenHoweverMuchThereIsToSay) {
    const std::vector<std::string> lines = lines_of(to_text(oversized_report(), false));
    EXPECT_LE(lines.size(), 50U);
    for (const std::string& line : lines) {
        EXPECT_LE(line.size(), 100U) << line;
    }
}

TEST(ReportTextTest, ShowsTheOutputsThatDifferBeforeTheOthers) {
    Report report = make_report(matmul_subject(), matmul_result());
    report.values = matmul_values();
    OutputValues right = report.values->outputs.front();
    right.name = "right";
    right.check->first.reset();
    right.check->differing_count = 0;
    right.check->max_error = 1e-7;
    report.values->outputs.insert(report.values->outputs.begin(), 9, right);
    const std::string text = to_text(report, false);
    EXPECT_THAT(text,
                HasSubstr("values of seed 7, compared with ref.py::matmul: they differ\n"
                          "  result float32[2048,2048]: 1,300 of 4,194,304 elements differ, max "
                          "error nan (rtol=1e-05, atol=0)\n"
                          "    first [0, 17]: 0.5, expected 0.25\n"
                          "  right float32[2048,2048]: all 4,194,304 elements agree, max error "
                          "1e-07 (rtol=1e-05, atol=0)\n"));
    EXPECT_THAT(text, HasSubstr("  6 more: see --json\n"));
}

TEST(ReportTextTest, ShowsTheAdviceThatSavesMostAndCountsTheRest) {
    RunResult result = matmul_result();
    EXPECT_THAT(sample_text(result),
                HasSubstr("advice: …/matmul.py:196 dma_copy: 128 descriptors of 64 B\n"
                          "  make them longer [NKI-DMA]\n"));
    result.advice.push_back(result.advice.front());
    EXPECT_THAT(sample_text(result),
                HasSubstr("  make them longer [NKI-DMA]; 1 more: see --json\n"));
    result.advice.clear();
    EXPECT_THAT(sample_text(result), Not(HasSubstr("advice")));
}

TEST(ReportTextTest, ShowsTheRangeOfValuesThatAreNotCompared) {
    Report report = make_report(matmul_subject(), matmul_result());
    report.values = matmul_values();
    report.values->reference.clear();
    report.values->outputs.front().check.reset();
    EXPECT_THAT(to_text(report, false),
                HasSubstr("values of seed 7\n  result float32[2048,2048]: -170.2 to inf, 3 NaN\n"));
    report.values->outputs.front().minimum.reset();
    EXPECT_THAT(to_text(report, false), HasSubstr("result float32[2048,2048]: no number, 3 NaN\n"));
    report.values->outputs.clear();
    EXPECT_THAT(to_text(report, false),
                HasSubstr("the kernel returns no tensor and writes no argument\n"));
}

TEST(ReportTextTest, BeginsWithLatencyAndWhatBoundsIt) {
    const std::string text = sample_text(matmul_result());
    EXPECT_THAT(line_with(text, "latency"),
                AllOf(HasSubstr("1,036.8 us"), HasSubstr("total_time")));
    EXPECT_EQ(
        line_with(text, "bound by"),
        "  bound by    tensor engine: occupied 89.9 % of the time; without waits the run takes "
        "947.6 us");
    EXPECT_THAT(text, HasSubstr("else waits for dma 6.1 %, waits for vector 2.0 %, idle 2.0 %"));
}

TEST(ReportTextTest, SaysWhereSiliconProbablyIs) {
    Subject subject = matmul_subject();
    subject.chip.spec.accuracy = {.new_api_error = 0.1, .is_extrapolated = false};
    EXPECT_THAT(to_text(make_report(subject, matmul_result()), false),
                HasSubstr("perhaps 942.6 us to 1,152 us: nothing was measured on a chip with these "
                          "numbers\n"));
    subject.chip.is_as_shipped = true;
    EXPECT_THAT(to_text(make_report(subject, matmul_result()), false),
                HasSubstr("942.6 us to 1,152 us if it is like four of five measured kernels\n"));
    subject.chip.spec.accuracy.is_extrapolated = true;
    EXPECT_THAT(to_text(make_report(subject, matmul_result()), false),
                HasSubstr("perhaps 942.6 us to 1,152 us: nothing was measured on trainium2\n"));
}

TEST(ReportTextTest, EveryEngineRowSumsToOneHundred) {
    const std::string text = sample_text(matmul_result());
    for (const Engine engine : kSequencedEngines) {
        std::istringstream row(line_starting_with(text, "  " + std::string{name(engine)} + "  "));
        std::string cell;
        row >> cell;
        int tenths = 0;
        for (int column = 0; column < kWaitCauses + 2; ++column) {
            row >> cell;
            if (cell != "-") {
                cell.erase(std::remove(cell.begin(), cell.end(), '.'), cell.end());
                tenths += std::stoi(cell);
            }
        }
        EXPECT_EQ(tenths, 1000) << name(engine);
    }
}

TEST(ReportTextTest, StallsAreThoseOfTheBoundingEngineWithWhatItWaitedForLongestFirst) {
    const std::string text = sample_text(matmul_result());
    EXPECT_THAT(text, HasSubstr("longest stalls of the tensor engine"));
    EXPECT_THAT(line_with(text, "matmul.py:212 nc_matmul "),
                HasSubstr("(tensor)"));  // The first is of the critical path.
    EXPECT_THAT(text,
                HasSubstr("83.6  matmul.py:196 dma_copy 63.2, matmul.py:226 tensor_copy 20.4"));
    EXPECT_THAT(text, Not(HasSubstr("862.6")));
}

TEST(ReportTextTest, LongFileNamesLoseTheirFrontAndNeverTheLineNumber) {
    RunResult result = matmul_result();
    const std::string folder = "/home/somebody/kernels/of/this/year/" + std::string(60, 'd') + "/";
    for (LineResult& line : result.lines) {
        line.source = folder + line.source;
        std::map<std::string, Picoseconds> producers;
        for (const auto& [what, time] : line.waited_for) {
            producers[folder + what] = time;
        }
        line.waited_for = producers;
    }
    for (CriticalPathEntry& entry : result.critical_path) {
        entry.what = folder + entry.what;
    }
    const std::string text = sample_text(std::move(result));
    EXPECT_THAT(text, HasSubstr("  …/matmul.py:212 nc_matmul (tensor)\n"));
    EXPECT_THAT(
        text,
        HasSubstr("  …/matmul.py:212 nc_matmul     83.6  …/matmul.py:196 dma_copy 63.2, 1 more\n"));
}

TEST(ReportTextTest, FilesOfOneNameKeepTheirFolders) {
    RunResult result = matmul_result();
    LineResult line = result.lines.front();
    for (const char* source : {"first/steps.py:7", "second/steps.py:7"}) {
        line.source = source;
        line.stalled = result.total;
        line.waited_for = {{"first/steps.py:9 activation", result.total}};
        result.lines.push_back(line);
    }
    const std::string text = sample_text(result);
    EXPECT_THAT(line_with(text, "  first/steps.py:7"), HasSubstr(" first/steps.py:9 activation"));
    EXPECT_THAT(line_with(text, "  second/steps.py:7"), HasSubstr(" first/steps.py:9 activation"));
}

TEST(ReportTextTest, AllStallsAreListedWhenNoEngineBoundsTheRun) {
    RunResult result = matmul_result();
    result.dma.engine_busy.assign(16, Picoseconds{1'000'000'000});
    const std::string text = sample_text(std::move(result));
    EXPECT_THAT(line_with(text, "bound by"), HasSubstr("DMA: busiest engine occupied"));
    EXPECT_THAT(
        text,
        HasSubstr(
            "its engines move 6.291 of 27.20 GB/s while busy, in descriptors of about 683 B"));
    EXPECT_THAT(text, HasSubstr("tensor_copy (vector)    862.6"));
}

TEST(ReportTextTest, TheCriticalPathSumsToTheLatency) {
    const std::string text = sample_text(matmul_result());
    EXPECT_THAT(text, HasSubstr("801.2  77.3 %  matmul.py:212 nc_matmul (tensor)"));
    EXPECT_THAT(text, HasSubstr("17.6   1.7 %  3 more"));
}

TEST(ReportTextTest, AKernelThatDoesNothingIsBoundByLatency) {
    const std::string text = sample_text(empty_result());
    EXPECT_THAT(text, HasSubstr("latency: no engine and no DMA did anything"));
    EXPECT_THAT(text, HasSubstr("longest steps: kernel start 86.6 %, kernel end 13.4 %"));
    EXPECT_THAT(text, AllOf(HasSubstr("no matmul"), HasSubstr("no transfer")));
}

TEST(ReportTextTest, ShowsOnlyPoliciesThatAreNotTheDefaultsAndNumbersTheUserSet) {
    const std::string text = sample_text(matmul_result());
    EXPECT_THAT(text, HasSubstr("compiler: as assumed for \"nki\", but dma_rings=3\n"));
    EXPECT_THAT(text, HasSubstr("chip set: dma.engine_gb_per_s=27.2\n"));
}

TEST(ReportTextTest, SaysWhatTheCompilerWasAssumedToDo) {
    RunResult result = matmul_result();
    EXPECT_THAT(sample_text(result),
                HasSubstr("  ahead of their turn: 256 of 8,192 on the tensor engine, 12 of 1,152 "
                          "transfers; loads just in time\n"
                          "  all on the first engine that can; 128 of 8,320 LoadStationary left "
                          "out; 15 buffers for 6 tiles\n"));
    result.compiler->counts = {.calls = 9'000,
                               .instructions = 8'900,
                               .choices = 9,
                               .moved = 4,
                               .spill_saves = 2,
                               .spill_reloads = 3};
    EXPECT_THAT(sample_text(result),
                HasSubstr("  every queue in program order, but loads just in time\n"
                          "  9,000 calls are 8,900 instructions; 4 of 9 not on their first engine; "
                          "15 buffers for 6 tiles\n"));
    result.compiler->sites.front().is_planned = false;
    EXPECT_THAT(sample_text(result), HasSubstr("  every queue in program order\n"));
    result.compiler.reset();
    EXPECT_THAT(sample_text(result),
                HasSubstr("compiler: a lowered trace left it nothing to do\n"));
}

TEST(ReportTextTest, TensorUseNamesThePeakOfItsTypesOnlyWhenItDiffersFromBf16) {
    RunResult result = matmul_result();
    EXPECT_THAT(sample_text(result),
                HasSubstr("MFU 21.1 %, HFU 21.1 % of BF16 peak, 84.3 % of its types'; clock "
                          "gated 2.9 % of active\n"));
    result.tensor.peak_weighted_macs = result.tensor.macs;
    result.tensor.cold = Picoseconds{};
    EXPECT_THAT(sample_text(result), HasSubstr("MFU 21.1 %, HFU 21.1 % of BF16 peak\n"));
}

TEST(ReportTextTest, StepsOfAProgramWithoutSourceLinesAreNamedByOperationAlone) {
    RunResult result = matmul_result();
    result.lines[0].source = "?";
    result.critical_path[0].what = "? nc_matmul (tensor)";
    const std::string text = sample_text(std::move(result));
    EXPECT_THAT(text, HasSubstr("801.2  77.3 %  nc_matmul (tensor)\n"));
    EXPECT_THAT(text, HasSubstr("\n  nc_matmul     83.6  "));
}

TEST(ReportTextTest, HowFullMemoriesAreIsNotSaidOfALoweredTrace) {
    Subject subject = matmul_subject();
    subject.header.form = program::Form::Lowered;
    const std::string text = to_text(make_report(std::move(subject), matmul_result()), false);
    EXPECT_EQ(line_with(text, "memories"), "  memories    used as the lowered trace says");
}

TEST(ReportTextTest, SpillsNameTheirShareOfTheTraffic) {
    EXPECT_EQ(line_with(sample_text(matmul_result()), "spills"), "  spills      none");
    RunResult result = matmul_result();
    result.memory.spill_save_bytes = 8'388'608;
    result.memory.spill_reload_bytes = 16'777'216;
    EXPECT_THAT(line_with(sample_text(std::move(result)), "spills"),
                HasSubstr("8.000 MiB saved, 16.00 MiB reloaded: 25.0 % of the HBM traffic"));
}

TEST(ReportTextTest, WarningsComeFirstAndTheRestIsCounted) {
    RunResult result = matmul_result();
    result.warnings.assign(5, "w");
    const std::string text = sample_text(std::move(result));
    EXPECT_THAT(text, HasSubstr("warning: w\nwarning: w\n4 more warnings and assumptions"));
    result = matmul_result();
    result.warnings.assign(2, "w");
    EXPECT_THAT(sample_text(std::move(result)),
                HasSubstr("warning: w\n1 more warning or assumption:"));
}

TEST(ReportTextTest, ASentenceGoesOnInTheNextLineInsteadOfBeingCut) {
    Subject subject = matmul_subject();
    subject.chip.is_as_shipped = true;
    subject.chip.spec.name = std::string(45, 'n');
    RunResult result = matmul_result();
    const std::string words = "one two three four five six seven eight nine ten eleven twelve ";
    result.warnings = {words + words + words + "the end"};
    result.advice.front().text = words + "why; " + words + words + "what to do";
    Report report = make_report(subject, std::move(result));
    report.values = matmul_values();
    report.values->outputs.front().name = std::string(40, 'r');
    const std::string text = to_text(report, false);
    EXPECT_THAT(text,
                HasSubstr(": nothing was measured on\n                " + subject.chip.spec.name));
    EXPECT_THAT(text, HasSubstr("\n  the end\n"));
    EXPECT_THAT(text, HasSubstr("\n  eight nine ten eleven twelve what to do\n"));
    EXPECT_THAT(text, HasSubstr("elements differ,\n    max error nan (rtol=1e-05, atol=0)\n"));
    EXPECT_THAT(text, Not(HasSubstr("...")));
}

TEST(ReportTextTest, AWarningIsShownWhole) {
    RunResult result = matmul_result();
    result.warnings = {"what is wrong " + std::string(80, 'x') + " what to do"};
    EXPECT_THAT(to_text(make_report(matmul_subject(), result), false),
                HasSubstr("warning: what is wrong\n  " + std::string(80, 'x') + " what to do\n"));
}

TEST(ReportTextTest, ColoursAddEscapesAndNothingElse) {
    const Report report = make_report(matmul_subject(), matmul_result());
    std::string coloured = to_text(report, true);
    EXPECT_THAT(coloured, HasSubstr("\033[1m"));
    for (std::size_t start = coloured.find('\033'); start != std::string::npos;
         start = coloured.find('\033')) {
        coloured.erase(start, coloured.find('m', start) - start + 1);
    }
    EXPECT_EQ(coloured, to_text(report, false));
}

}  // namespace
}  // namespace trnsim::report
