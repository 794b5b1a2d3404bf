// SPDX-License-Identifier: Apache-2.0
// Text tables and shares that add up.
#include "table.hpp"

#include "trnsim/base/control_characters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>

namespace trnsim::report {
namespace {

constexpr int kWhole = 1000;
constexpr std::string_view kCut = "...";

bool is_continuation(char byte) {
    constexpr unsigned kMask = 0xC0;
    constexpr unsigned kContinuation = 0x80;
    return (static_cast<unsigned char>(byte) & kMask) == kContinuation;
}

}  // namespace

void Table::add(std::vector<std::string> row) {
    assert(row.size() == align_.size());
    rows_.push_back(std::move(row));
}

std::vector<std::string> Table::lines(std::size_t indent, std::size_t width) const {
    std::vector<std::size_t> widths(align_.size(), 0);
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width_of(row[i]));
        }
    }
    std::vector<std::string> result;
    for (const auto& row : rows_) {
        std::string line(indent, ' ');
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] - width_of(row[i]), ' ');
            line += i == 0 ? "" : "  ";
            line += align_[i] == Align::Right ? padding + row[i] : row[i] + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        result.push_back(clip(line, width));
    }
    return result;
}

std::string clip(std::string_view text, std::size_t width) {
    std::string result{text};
    if (width_of(text) > width) {
        const std::size_t kept = width - std::min(width, kCut.size());
        std::size_t end = 0;
        for (std::size_t columns = 0; is_continuation(text[end]) || columns < kept; ++end) {
            columns += is_continuation(text[end]) ? 0U : 1U;
        }
        result = std::string{text.substr(0, end)} + std::string{kCut};
    }
    return without_controls(result);
}

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char byte) { return !is_continuation(byte); }));
}

std::string clip_front(std::string_view text, std::size_t width) {
    constexpr std::string_view kCutFront = "…";
    std::size_t excess = width_of(text);
    if (excess <= width) {
        return clip(text, width);
    }
    excess -= width - std::min<std::size_t>(width, 1);
    std::size_t start = 0;
    for (; excess > 0 || (start < text.size() && is_continuation(text[start])); ++start) {
        excess -= is_continuation(text[start]) ? 0U : 1U;
    }
    return std::string{kCutFront} + clip(text.substr(start), width);
}

std::vector<int> shares(const std::vector<Picoseconds>& parts) {
    const Picoseconds sum = std::accumulate(parts.begin(), parts.end(), Picoseconds{});
    std::vector<int> result(parts.size(), 0);
    if (sum.value <= 0) {
        return result;
    }
    std::vector<double> remainders(parts.size());
    int missing = kWhole;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const double exact =
            kWhole * static_cast<double>(parts[i].value) / static_cast<double>(sum.value);
        result[i] = static_cast<int>(exact);
        remainders[i] = exact - result[i];
        missing -= result[i];
    }
    std::vector<std::size_t> order(parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&remainders](std::size_t a, std::size_t b) {
        return remainders[a] > remainders[b];
    });
    for (std::size_t i = 0; missing > 0; ++i, --missing) {
        ++result[order[i]];
    }
    return result;
}

std::string share_text(int tenths) {
    return tenths == 0 ? "-" : fmt::format("{}.{}", tenths / 10, tenths % 10);
}

}  // namespace trnsim::report
