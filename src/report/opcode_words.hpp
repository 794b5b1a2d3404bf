// SPDX-License-Identifier: Apache-2.0
// What the profiler calls what nki.isa and the lowering call otherwise.
#pragma once

#include "trnsim/isa/engine.hpp"

#include <string>
#include <string_view>

namespace trnsim::report {

/// "MATMUL" of an nc_matmul, "LDWEIGHTS" of a LoadStationary; of what no profile has shown yet, the
/// name in capitals. [AKC-PROFILE]
[[nodiscard]] std::string profiler_word(std::string_view opcode, Engine engine, bool is_transpose);

/// Whether an instruction, in the profiler's words, does nothing but wait, trigger or end.
[[nodiscard]] bool waits_or_triggers(std::string_view word);

}  // namespace trnsim::report
