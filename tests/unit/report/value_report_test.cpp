// SPDX-License-Identifier: Apache-2.0
// What the frontend tells about values is read back whole.
#include "sample_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

namespace trnsim::report {
namespace {

/// `values` of the sample's result file, which has what the frontend writes and more.
std::string sample_text() {
    Report report = make_report(matmul_subject(), matmul_result());
    report.values = matmul_values();
    return nlohmann::json::parse(to_json(report))["values"].dump();
}

TEST(ValueReportTest, ReadsBackWhatAResultHolds) {
    const ValueReport values = parse_value_report(sample_text());
    EXPECT_EQ(values.seed, 7);
    EXPECT_EQ(values.reference, "ref.py::matmul");
    ASSERT_EQ(values.outputs.size(), 1U);
    const OutputValues& output = values.outputs.front();
    EXPECT_EQ(output.minimum, -170.25);
    EXPECT_TRUE(std::isinf(output.maximum.value()));
    EXPECT_EQ(output.nan_count, 3);
    ASSERT_TRUE(output.check && output.check->first);
    EXPECT_TRUE(std::isnan(output.check->max_error));
    EXPECT_THAT(output.check->first->index, testing::ElementsAre(0, 17));
    EXPECT_EQ(output.check->first->expected, 0.25);
}

TEST(ValueReportTest, PassesIfNoElementDiffers) {
    ValueReport values = matmul_values();
    EXPECT_FALSE(values.passes());
    values.outputs.front().check->differing_count = 0;
    EXPECT_TRUE(values.passes());
    values.outputs.front().check.reset();
    EXPECT_TRUE(values.passes());
}

TEST(ValueReportTest, AFailureNamesOutputReferenceAndFirstElement) {
    EXPECT_EQ(failure(matmul_values(), "k.py::matmul"),
              "k.py::matmul: result is not what ref.py::matmul computes: 1,300 of 4,194,304 "
              "elements differ, max error nan (rtol=1e-05, atol=0), first [0, 17]: 0.5, expected "
              "0.25");
}

TEST(ValueReportTest, AFailureOfFewElementsSaysHowToAllowRounding) {
    ValueReport values = matmul_values();
    OutputCheck& check = *values.outputs.front().check;
    check.max_error = 0.0625;
    EXPECT_THAT(failure(values, "k.py::matmul"),
                testing::EndsWith("; if the kernel rounds values in between, which so few elements "
                                  "may show, allow it with --atol 0.066"));
    check.differing_count = check.element_count / 100 + 1;
    EXPECT_THAT(failure(values, "k.py::matmul"), testing::EndsWith("expected 0.25"));
}

TEST(ValueReportTest, HalfAReportIsOurFault) {
    const std::string text = sample_text();
    for (const std::string& broken : {text.substr(0, text.size() / 2), std::string{"{}"}}) {
        EXPECT_THROW(static_cast<void>(parse_value_report(broken)), std::runtime_error) << broken;
    }
}

}  // namespace
}  // namespace trnsim::report
