// SPDX-License-Identifier: Apache-2.0
// Comma-separated values as RFC 4180 describes them.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace trnsim::study {

/// Writes one row; a cell with a comma, a quotation mark or a line end is put in quotation marks.
void write_csv_row(std::ostream& output, const std::vector<std::string>& cells);

}  // namespace trnsim::study
