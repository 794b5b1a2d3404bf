// SPDX-License-Identifier: Apache-2.0
// What -v says on standard error.
#pragma once

#include <cstdint>

namespace trnsim::cli {

/// Warnings only, until set_verbosity(). Each line says the processor time of the process so far:
/// "info 12.345 ms: reading matmul.nkt". tests/bench/whole_process.py reads it.
void set_up_logging();

/// \param count of -v: what is done; twice for more
void set_verbosity(std::int64_t count);

}  // namespace trnsim::cli
