// SPDX-License-Identifier: Apache-2.0
// Comma-separated values.
#include "trnsim/study/csv.hpp"

namespace trnsim::study {
namespace {

void write_cell(std::ostream& output, const std::string& cell) {
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
        output << cell;
        return;
    }
    output << '"';
    for (const char letter : cell) {
        output << (letter == '"' ? "\"\"" : std::string(1, letter));
    }
    output << '"';
}

}  // namespace

void write_csv_row(std::ostream& output, const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
        output << (i == 0 ? "" : ",");
        write_cell(output, cells[i]);
    }
    output << '\n';
}

}  // namespace trnsim::study
