// SPDX-License-Identifier: Apache-2.0
// Writes program traces; what read() read, byte for byte the same on every machine.
#pragma once

#include "trnsim/program/program.hpp"

#include <ostream>
#include <string>

namespace trnsim::program {

/// Writes a trace as JSON lines, in canonical order and spelling; defaults are left out.
void write(const Program& program, std::ostream& output);

/// Writes to a temporary name beside `path`, then renames; compressed with zstd. "-", standard
/// output, devices and pipes get text, directly. \throws UserError if the file cannot be written
void write_file(const Program& program, const std::string& path);

}  // namespace trnsim::program
