// SPDX-License-Identifier: Apache-2.0
// Reads program traces (.nkt), plain or zstd, strictly.
#pragma once

#include "trnsim/program/program.hpp"

#include <istream>
#include <string>

namespace trnsim::program {

/// Reads a trace record by record; memory grows with the text, not with trip counts. Checks syntax,
/// references, operand roles, patterns and that no access leaves its instance. `name` is in
/// messages. \throws TraceError "name:line: …" naming the key, what is allowed and the nearest
/// valid name
[[nodiscard]] Program read(std::istream& input, const std::string& name);

/// Reads a file; "-" is standard input.
/// \throws TraceError if the file cannot be opened, or as read()
[[nodiscard]] Program read_file(const std::string& path);

}  // namespace trnsim::program
