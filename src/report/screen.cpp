// SPDX-License-Identifier: Apache-2.0
// Lines of at most 100 columns with a few kinds of emphasis.
#include "screen.hpp"

#include "trnsim/report/wrapped.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

namespace trnsim::report {
namespace {

constexpr std::string_view kPlain;
constexpr std::string_view kBold = "\033[1m";
constexpr std::string_view kDim = "\033[2m";
constexpr std::string_view kYellow = "\033[33m";
constexpr std::string_view kBoldCyan = "\033[1;36m";
constexpr std::string_view kReset = "\033[0m";
constexpr std::size_t kNameColumns = 12;
constexpr std::size_t kValueColumns = Screen::kColumns - kNameColumns - Screen::kIndent;

/// The lines that a sentence takes; all but the first are indented.
std::vector<std::string> lines_of(std::string_view sentence, std::size_t columns) {
    std::string line{sentence};
    std::replace_if(
        line.begin(), line.end(), [](char each) { return each == '\n' || each == '\r'; }, ' ');
    std::istringstream parts(wrapped(line, columns, Screen::kIndent));
    std::vector<std::string> lines;
    for (std::string part; std::getline(parts, part);) {
        lines.push_back(clip(part, columns));
    }
    return lines;
}

}  // namespace

void Screen::strong(std::string_view line) {
    add(kBold, line);
}
void Screen::dim(std::string_view line) {
    add(kDim, line);
}

void Screen::remark(std::string_view text, bool is_warning) {
    for (const std::string& line : lines_of(text, kColumns)) {
        add(is_warning ? kYellow : kDim, line);
    }
}

void Screen::fact(std::string_view name, std::string_view value) {
    add_fact(name, kPlain, value);
}

void Screen::fact(std::string_view name, std::string_view strong, std::string_view value) {
    text_ += fmt::format("  {:{}}{}, {}\n",
                         name,
                         kNameColumns,
                         styled(kBold, strong),
                         clip(value, kValueColumns - strong.size() - 2));
}

void Screen::key_fact(std::string_view name, std::string_view value) {
    add_fact(name, kBoldCyan, value);
}

void Screen::section(std::string_view heading) {
    blank();
    add(kBold, heading);
}

void Screen::table(const Table& table) {
    for (const std::string& line : table.lines(kIndent, kColumns)) {
        add(kPlain, line);
    }
}

void Screen::line(std::string_view text) {
    for (const std::string& line : lines_of(text, kColumns - kIndent)) {
        add(kPlain, fmt::format("{:{}}{}", "", kIndent, line));
    }
}

void Screen::add_fact(std::string_view name, std::string_view escape, std::string_view value) {
    for (const std::string& line : lines_of(value, kValueColumns)) {
        text_ += fmt::format("  {:{}}{}\n", name, kNameColumns, styled(escape, line));
        name = {};
    }
}

std::string Screen::styled(std::string_view escape, std::string_view text) const {
    if (!use_colour_ || escape.empty()) {
        return std::string{text};
    }
    return fmt::format("{}{}{}", escape, text, kReset);
}

void Screen::add(std::string_view escape, std::string_view line) {
    text_ += styled(escape, clip(line, kColumns)) + "\n";
}

}  // namespace trnsim::report
