// SPDX-License-Identifier: Apache-2.0
// What a kernel computed, and how far that is from its reference, as the Python frontend tells it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trnsim::report {

/// An element that differs. Infinity and NaN are numbers here.
struct DifferingElement {
    std::vector<std::int64_t> index;
    double actual = 0.0;
    double expected = 0.0;
};

/// One output beside that of the reference: elements differ where
/// |actual - expected| > atol + rtol x |expected|.
struct OutputCheck {
    std::int64_t differing_count = 0;
    std::int64_t element_count = 0;
    double max_error = 0.0;  ///< Absolute, over all elements.
    double rtol = 0.0;
    double atol = 0.0;
    std::optional<DifferingElement> first;
};

/// One tensor that the kernel returned, or one argument that it wrote.
struct OutputValues {
    std::string name;  ///< "result", "result[1]", or that of the argument.
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::optional<double> minimum;  ///< Of what is no NaN; none if everything is.
    std::optional<double> maximum;
    std::int64_t nan_count = 0;
    std::optional<OutputCheck> check;
};

struct ValueReport {
    std::int64_t seed = 0;
    std::string reference;  ///< "file.py::function"; empty without --check.
    std::vector<OutputValues> outputs;

    [[nodiscard]] bool is_checked() const { return !reference.empty(); }
    /// Whether no element of any output differs from the reference.
    [[nodiscard]] bool passes() const;
};

/// Reads what `python3 -m trnsim.frontend --value-report` writes.
/// \throws std::runtime_error if it is something else: an error of ours
[[nodiscard]] ValueReport parse_value_report(std::string_view json);

/// "result float32[300,1024]: 13 of 307,200 elements differ, …", and a second line about the first
/// of them.
[[nodiscard]] std::vector<std::string> describe(const OutputValues& output);

/// What is wrong, a line for each output that differs from the reference; empty if it passes.
[[nodiscard]] std::string failure(const ValueReport& values, const std::string& kernel);

}  // namespace trnsim::report
