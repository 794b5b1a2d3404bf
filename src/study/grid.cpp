// SPDX-License-Identifier: Apache-2.0
// The points of a sweep.
#include "trnsim/study/grid.hpp"

#include "trnsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace trnsim::study {

std::vector<std::string> parse_values(std::string_view option, std::string_view text) {
    std::vector<std::string> values;
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string value{text.substr(begin, end - begin)};
        if (value.empty()) {
            throw UserError(fmt::format(
                "{}: \"{}\" has an empty value, values are separated by single commas; remove it",
                option,
                text));
        }
        if (std::find(values.begin(), values.end(), value) != values.end()) {
            throw UserError(fmt::format(
                "{}: {} is given twice, each value may be given once; remove one", option, value));
        }
        values.push_back(value);
        begin = end + 1;
    }
    return values;
}

Axis parse_axis(std::string_view option, std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
        throw UserError(
            fmt::format("{}: \"{}\" is not of the form name=value; write for example {}",
                        option,
                        text,
                        option == "--policy" ? "--policy spilling=off" : "--set dma.engines=8,16"));
    }
    const std::string name{text.substr(0, equals)};
    return {.name = name,
            .values = parse_values(fmt::format("{} {}", option, name), text.substr(equals + 1))};
}

Grid::Grid(std::vector<Axis> axes) : axes_(std::move(axes)) {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
        const auto has_this_name = [&](const Axis& other) { return other.name == axes_[i].name; };
        if (std::any_of(
                axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(i), has_this_name)) {
            throw UserError(
                fmt::format("sweep: {} is varied twice, each name may be given once; list its "
                            "values with commas",
                            axes_[i].name));
        }
        size_ *= axes_[i].values.size();
        if (size_ > kMaxPoints) {
            throw UserError(fmt::format(
                "sweep: the grid has more than {} points, the most allowed; vary fewer values",
                kMaxPoints));
        }
    }
}

std::vector<std::string> Grid::point(std::size_t index) const {
    std::vector<std::string> values(axes_.size());
    for (std::size_t i = axes_.size(); i-- > 0;) {
        const std::vector<std::string>& choices = axes_[i].values;
        values[i] = choices[index % choices.size()];
        index /= choices.size();
    }
    return values;
}

}  // namespace trnsim::study
