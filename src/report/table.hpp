// SPDX-License-Identifier: Apache-2.0
// Text tables and shares that add up.
#pragma once

#include "trnsim/base/units.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trnsim::report {

/// Columns as wide as their widest cell, two spaces between them.
class Table {
public:
    enum class Align : std::uint8_t { Left, Right };

    explicit Table(std::vector<Align> columns) : align_(std::move(columns)) {}

    /// \pre one cell per column
    void add(std::vector<std::string> row);
    /// The rows in order, each after `indent` spaces; no line is longer than `width`.
    [[nodiscard]] std::vector<std::string> lines(std::size_t indent, std::size_t width) const;

private:
    std::vector<Align> align_;
    std::vector<std::vector<std::string>> rows_;
};

/// `text` cut to `width` columns, with "..." where it was cut; counts UTF-8 characters. Control
/// characters become spaces.
[[nodiscard]] std::string clip(std::string_view text, std::size_t width);

/// The end of `text` after "…" if it is wider than `width`: of a path the end tells most.
[[nodiscard]] std::string clip_front(std::string_view text, std::size_t width);

/// Its columns on the screen: UTF-8 characters.
[[nodiscard]] std::size_t width_of(std::string_view text);

/// The shares of `parts` in their sum, in tenths of a percent, adjusted so that they sum to exactly
/// 1000: the largest remainders are rounded up. All 0 if the sum is.
[[nodiscard]] std::vector<int> shares(const std::vector<Picoseconds>& parts);

/// "89.9"; "-" for 0.
[[nodiscard]] std::string share_text(int tenths);

}  // namespace trnsim::report
