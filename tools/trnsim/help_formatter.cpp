// SPDX-License-Identifier: Apache-2.0
// Help whose lines fit into a terminal.
#include "help_formatter.hpp"

#include "trnsim/report/wrapped.hpp"

#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace trnsim::cli {
namespace {

constexpr std::size_t kColumns = 100;

/// Where the text goes on that begins in `line`: below the description of an option, else below the
/// first word.
std::size_t indent_of(std::string_view line, std::size_t descriptions) {
    const std::size_t first = line.find_first_not_of(' ');
    const bool is_option = first == 2 && line.size() > descriptions &&
                           line[descriptions - 1] == ' ' && line[descriptions] != ' ';
    return is_option ? descriptions : first;
}

/// Newer versions of CLI11 (2.6, not 2.4) break lines themselves, those of examples too, and set
/// long names apart.
template <class Formatter>
void leave_lines_alone(Formatter& formatter) {
    if constexpr (requires { formatter.enable_footer_formatting(false); }) {
        constexpr std::size_t kAny = 10'000;
        constexpr float kMargin = 2.5F;
        formatter.enable_description_formatting(false);
        formatter.enable_footer_formatting(false);
        formatter.right_column_width(kAny);
        formatter.long_option_alignment_ratio(kMargin /
                                              static_cast<float>(formatter.get_column_width()));
    }
}

std::string_view without_spaces_at_the_end(std::string_view line) {
    return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

HelpFormatter::HelpFormatter() {
    leave_lines_alone(*this);
}

std::string HelpFormatter::make_help(const CLI::App* app,
                                     std::string name,
                                     CLI::AppFormatMode mode) const {
    std::istringstream help(CLI::Formatter::make_help(app, std::move(name), mode));
    std::string result;
    for (std::string text; std::getline(help, text);) {
        const std::string_view line = without_spaces_at_the_end(text);
        if (!line.empty() || !(result.empty() || result.ends_with("\n\n"))) {
            result += report::wrapped(line, kColumns, indent_of(line, get_column_width())) + '\n';
        }
    }
    return result;
}

}  // namespace trnsim::cli
