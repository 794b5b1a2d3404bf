// SPDX-License-Identifier: Apache-2.0
// The points of a sweep: every combination of the values of its axes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trnsim::study {

/// One thing that a sweep varies, with the values it takes.
struct Axis {
    std::string name;  ///< "chip", "dma.engines", "spilling"
    std::vector<std::string> values;
};

/// Reads "path=v1,v2,…". `option` is for messages: "--set".
/// \throws UserError if there is no "=", no value, an empty value or one given twice
[[nodiscard]] Axis parse_axis(std::string_view option, std::string_view text);

/// Splits "a,b,c" at its commas. \throws UserError as parse_axis()
[[nodiscard]] std::vector<std::string> parse_values(std::string_view option, std::string_view text);

/// All combinations of some axes, the last axis varying fastest.
class Grid {
public:
    /// \throws UserError if two axes have the same name or the grid has more than kMaxPoints points
    explicit Grid(std::vector<Axis> axes);

    [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
    [[nodiscard]] std::size_t size() const { return size_; }

    /// The values at one point, in the order of the axes. `index` is below size().
    [[nodiscard]] std::vector<std::string> point(std::size_t index) const;

    /// A sweep is a process and a row for each point; more is taken for a slip of the pen.
    static constexpr std::size_t kMaxPoints = 100'000;

private:
    std::vector<Axis> axes_;
    std::size_t size_ = 1;
};

}  // namespace trnsim::study
