// SPDX-License-Identifier: Apache-2.0
// Lines of at most 100 columns with a few kinds of emphasis.
#pragma once

#include "table.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace trnsim::report {

/// Collects the lines of a text. Titles, headings and tables are cut where they are too long;
/// sentences, which are remarks, facts and lines, go on in the next line, indented. With colours,
/// emphasis is ANSI escapes.
class Screen {
public:
    static constexpr std::size_t kColumns = 100;
    static constexpr std::size_t kIndent = 2;  // Of facts and tables.

    explicit Screen(bool use_colour) : use_colour_(use_colour) {}

    void strong(std::string_view line);
    void dim(std::string_view line);
    /// A warning or another remark.
    void remark(std::string_view text, bool is_warning);
    void blank() { text_ += '\n'; }

    /// "  name        value", the value after a `strong` part if there is one.
    void fact(std::string_view name, std::string_view value);
    void fact(std::string_view name, std::string_view strong, std::string_view value);
    /// A fact whose value stands out.
    void key_fact(std::string_view name, std::string_view value);

    /// The heading of a table, after a blank line.
    void section(std::string_view heading);
    void table(const Table& table);
    /// A line below a heading, indented.
    void line(std::string_view text);

    [[nodiscard]] const std::string& text() const { return text_; }

private:
    [[nodiscard]] std::string styled(std::string_view escape, std::string_view text) const;
    void add(std::string_view escape, std::string_view line);
    void add_fact(std::string_view name, std::string_view escape, std::string_view value);

    bool use_colour_;
    std::string text_;
};

}  // namespace trnsim::report
