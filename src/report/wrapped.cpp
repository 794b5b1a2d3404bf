// SPDX-License-Identifier: Apache-2.0
// Long lines as several.
#include "trnsim/report/wrapped.hpp"

#include "table.hpp"

namespace trnsim::report {

std::string wrapped(std::string_view line, std::size_t columns, std::size_t indent) {
    std::string result;
    std::size_t begin = 0;  // Of what is left.
    std::size_t used = 0;   // Columns of indentation in front of it.
    while (used + width_of(line.substr(begin)) > columns) {
        std::size_t end = line.find(' ', line.find_first_not_of(' ', begin));
        for (std::size_t next = end; next != std::string_view::npos;
             next = line.find(' ', next + 1)) {
            if (used + width_of(line.substr(begin, next - begin)) > columns) {
                break;
            }
            end = next;
        }
        if (end == std::string_view::npos) {
            break;
        }
        result += line.substr(begin, end - begin);
        begin = line.find_first_not_of(' ', end);
        if (begin == std::string_view::npos) {
            return result;
        }
        result += '\n' + std::string(indent, ' ');
        used = indent;
    }
    result += line.substr(begin);
    return result;
}

}  // namespace trnsim::report
