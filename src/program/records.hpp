// SPDX-License-Identifier: Apache-2.0
// The records of a trace: each function reads one, checks it and adds it to the program.
#pragma once

#include "json_fields.hpp"
#include "reader_state.hpp"

#include <cstddef>
#include <vector>

namespace trnsim::program {

/// All throw TraceError naming the line.
void read_header(ReaderState& state, JsonObject record);
void read_file_name(ReaderState& state, JsonObject record);
void read_buffer(ReaderState& state, JsonObject record);
void read_template(ReaderState& state, JsonObject record);
void read_core(ReaderState& state, JsonObject record);
void read_loop(ReaderState& state, JsonObject record);
void read_end(ReaderState& state, JsonObject record);
void read_alloc(ReaderState& state, JsonObject record);
void read_run(ReaderState& state, JsonObject record);
void read_note(ReaderState& state, JsonObject record);
void read_summary(ReaderState& state, JsonObject record);

/// The `source` key, if it is there.
[[nodiscard]] std::vector<SourceFrame> read_source(const ReaderState& state,
                                                   const JsonFields& fields);

/// Checks that `id` is the next of its kind.
void check_id(const ReaderState& state, const JsonFields& fields, std::size_t next);

}  // namespace trnsim::program
