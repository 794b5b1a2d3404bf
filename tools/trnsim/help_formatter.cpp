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

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app,
                                     std::string name,
                                     CLI::AppFormatMode mode) const {
    std::istringstream help(CLI::Formatter::make_help(app, std::move(name), mode));
    std::string result;
    for (std::string line; std::getline(help, line);) {
        result += report::wrapped(line, kColumns, indent_of(line, get_column_width())) + '\n';
    }
    return result;
}

}  // namespace trnsim::cli
