// SPDX-License-Identifier: Apache-2.0
// Small traces as text, and what the reader says about changed ones.
#pragma once

#include "trnsim/program/program.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trnsim::program {

/// Reads a text under the name "t.nkt".
[[nodiscard]] Program read_text(const std::string& text);

/// The message of the TraceError that reading the text ends with; "no error" if it does not.
[[nodiscard]] std::string error_of(const std::string& text);

/// `text` with the one occurrence of `from` replaced by `to`.
[[nodiscard]] std::string edited(std::string text, std::string_view from, std::string_view to);

/// Lines as a file.
[[nodiscard]] std::string joined(const std::vector<std::string>& lines);

/// A correct program trace:
/// line 1 header; 2, 3 files; 4 to 6 buffers "input" (hbm [256,512] bfloat16), "tile" (sbuf
/// [128,512] bfloat16) and "sums" (psum [128,512] float32); 7 template 0, a dma_copy of a row
/// block; 8 template 1, an activation with a reduced result; 9 loop "m" of 2; 10, 11 alloc; 12, 13
/// run; 14 end; 15 summary.
[[nodiscard]] std::string sample();

/// A correct lowered trace: line 1 header; 2 template 0, a dma_copy; 3 template 1, a tensor_copy; 4
/// loop "i" of 3; 5, 6 run; 7 end; 8 summary.
[[nodiscard]] std::string lowered_sample();

/// A correct program trace around one template: buffers 0 "h" (hbm), 1 "s" (sbuf) and 2 "p" (psum),
/// each large, of float32; the template is on line 5 and never run.
[[nodiscard]] std::string around_template(std::string_view op,
                                          std::string_view engines,
                                          std::string_view operands,
                                          std::string_view attributes = "");

/// A correct program trace of a memset with that value in a loop "m" of 2; `rest` are more keys
/// of its run, on line 6.
[[nodiscard]] std::string with_memset_run(std::string_view value, std::string_view rest);

/// What is said about the template of around_template(), without the place.
[[nodiscard]] std::string fault_of(const std::string& text);

/// An operand of around_template() as JSON: `space` is 'h', 's' or 'p', the pattern one run of
/// `elements`.
[[nodiscard]] std::string operand(std::string_view role,
                                  char space,
                                  int partitions,
                                  int elements,
                                  std::string_view access = "read");

/// A written operand "dst".
[[nodiscard]] std::string dst(char space, int partitions, int elements);

}  // namespace trnsim::program
