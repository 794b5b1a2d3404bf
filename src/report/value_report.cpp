// SPDX-License-Identifier: Apache-2.0
// What a kernel computed: read from the frontend, told as text and as JSON.
#include "trnsim/report/value_report.hpp"

#include "quantity.hpp"
#include "value_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace trnsim::report {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no infinity and no NaN: they are texts.
double number_from(const Json& value) {
    if (!value.is_string()) {
        return value.get<double>();
    }
    const auto& text = value.get_ref<const std::string&>();
    const double infinity = std::numeric_limits<double>::infinity();
    return text == "nan" ? std::numeric_limits<double>::quiet_NaN()
                         : (text == "inf" ? infinity : -infinity);
}

Json to_number(double value) {
    if (std::isfinite(value)) {
        return value;
    }
    return std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf");
}

std::optional<double> optional_number(const Json& value) {
    return value.is_null() ? std::nullopt : std::optional(number_from(value));
}

Json to_optional(std::optional<double> value) {
    return value ? to_number(*value) : Json(nullptr);
}

OutputCheck check_from(const Json& json) {
    OutputCheck check{.differing_count = json.at("differing_count").get<std::int64_t>(),
                      .element_count = json.at("element_count").get<std::int64_t>(),
                      .max_error = number_from(json.at("max_error")),
                      .rtol = json.at("rtol").get<double>(),
                      .atol = json.at("atol").get<double>(),
                      .first = {}};
    if (const Json& first = json.at("first"); !first.is_null()) {
        check.first = {.index = first.at("index").get<std::vector<std::int64_t>>(),
                       .actual = number_from(first.at("actual")),
                       .expected = number_from(first.at("expected"))};
    }
    return check;
}

OutputValues output_from(const Json& json) {
    OutputValues output{.name = json.at("name").get<std::string>(),
                        .dtype = json.at("dtype").get<std::string>(),
                        .shape = json.at("shape").get<std::vector<std::int64_t>>(),
                        .minimum = optional_number(json.at("minimum")),
                        .maximum = optional_number(json.at("maximum")),
                        .nan_count = json.at("nan_count").get<std::int64_t>(),
                        .check = {}};
    if (const Json& check = json.at("check"); !check.is_null()) {
        output.check = check_from(check);
    }
    return output;
}

Json check_json(const std::optional<OutputCheck>& check) {
    if (!check) {
        return nullptr;
    }
    Json first = nullptr;
    if (check->first) {
        first = {{"index", check->first->index},
                 {"actual", to_number(check->first->actual)},
                 {"expected", to_number(check->first->expected)}};
    }
    return {{"differing_count", check->differing_count},
            {"element_count", check->element_count},
            {"max_error", to_number(check->max_error)},
            {"rtol", check->rtol},
            {"atol", check->atol},
            {"first", first}};
}

std::string range_text(const OutputValues& output) {
    std::string text = output.minimum ? fmt::format("{:.4g} to {:.4g}",
                                                    *output.minimum,
                                                    output.maximum.value_or(*output.minimum))
                                      : std::string{"no number"};
    return output.nan_count == 0 ? text
                                 : fmt::format("{}, {} NaN", text, count_text(output.nan_count));
}

std::string check_text(const OutputCheck& check) {
    return fmt::format("{}, max error {:.3g} (rtol={:.3g}, atol={:.2g})",
                       check.first
                           ? fmt::format("{} of {} elements differ",
                                         count_text(check.differing_count),
                                         count_text(check.element_count))
                           : fmt::format("all {} elements agree", count_text(check.element_count)),
                       check.max_error,
                       check.rtol,
                       check.atol);
}

std::string first_text(const DifferingElement& first) {
    return fmt::format("first [{}]: {:.9g}, expected {:.9g}",
                       fmt::join(first.index, ", "),
                       first.actual,
                       first.expected);
}

/// What to try where a few elements are off by little: kernels round between their steps, and
/// references seldom do.
std::string hint(const OutputCheck& check) {
    constexpr std::int64_t kFew = 100;  // One in as many. [ASSUMED]
    constexpr double kRoundedUp = 1.06;
    const bool are_few = check.differing_count * kFew < check.element_count;
    return are_few && std::isfinite(check.max_error)
               ? fmt::format(
                     "; if the kernel rounds values in between, which so few elements may "
                     "show, allow it with --atol {:.2g}",
                     kRoundedUp * check.max_error)
               : std::string{};
}

}  // namespace

bool ValueReport::passes() const {
    return std::all_of(outputs.begin(), outputs.end(), [](const OutputValues& output) {
        return !output.check || output.check->differing_count == 0;
    });
}

ValueReport parse_value_report(std::string_view json) {
    try {
        const Json object = Json::parse(json);
        ValueReport report{
            .seed = object.at("seed").get<std::int64_t>(), .reference = {}, .outputs = {}};
        if (const Json& reference = object.at("reference"); !reference.is_null()) {
            report.reference = reference.get<std::string>();
        }
        for (const Json& output : object.at("outputs")) {
            report.outputs.push_back(output_from(output));
        }
        return report;
    } catch (const Json::exception& problem) {
        throw std::runtime_error(
            fmt::format("trnsim.frontend: its value report cannot be read: {}", problem.what()));
    }
}

std::vector<std::string> describe(const OutputValues& output) {
    std::vector<std::string> lines{
        fmt::format("{} {}[{}]: {}",
                    output.name,
                    output.dtype,
                    fmt::join(output.shape, ","),
                    output.check ? check_text(*output.check) : range_text(output))};
    if (output.check && output.check->first) {
        lines.push_back("  " + first_text(*output.check->first));
    }
    return lines;
}

std::string failure(const ValueReport& values, const std::string& kernel) {
    std::string text;
    for (const OutputValues& output : values.outputs) {
        if (output.check && output.check->first) {
            text += fmt::format("{}{}: {} is not what {} computes: {}, {}{}",
                                text.empty() ? "" : "\n",
                                kernel,
                                output.name,
                                values.reference,
                                check_text(*output.check),
                                first_text(*output.check->first),
                                hint(*output.check));
        }
    }
    return text;
}

Json values_json(const std::optional<ValueReport>& values) {
    if (!values) {
        return nullptr;
    }
    Json outputs = Json::array();
    for (const OutputValues& output : values->outputs) {
        outputs.push_back({{"name", output.name},
                           {"dtype", output.dtype},
                           {"shape", output.shape},
                           {"minimum", to_optional(output.minimum)},
                           {"maximum", to_optional(output.maximum)},
                           {"nan_count", output.nan_count},
                           {"check", check_json(output.check)}});
    }
    Json reference = nullptr;
    Json passes = nullptr;
    if (values->is_checked()) {
        reference = values->reference;
        passes = values->passes();
    }
    return {
        {"seed", values->seed}, {"reference", reference}, {"passes", passes}, {"outputs", outputs}};
}

}  // namespace trnsim::report
