// SPDX-License-Identifier: Apache-2.0
// The result of a sweep as a table: a row for each point, in the order of the grid.
#pragma once

#include "trnsim/study/grid.hpp"
#include "trnsim/study/local_executor.hpp"

#include <ostream>
#include <vector>

namespace trnsim::study {

/// Writes CSV: a column for each axis, one for each number of the results' "summary" object
/// (design, 6.3), and `error`, empty where the point succeeded. An outcome's output is a result as
/// JSON text.
void write_sweep_csv(std::ostream& output,
                     const Grid& grid,
                     const std::vector<JobOutcome>& outcomes);

/// The exit status of a whole sweep: ours (1) before the program's (3) before the user's (2) before
/// 0.
[[nodiscard]] int worst_exit_status(const std::vector<JobOutcome>& outcomes);

}  // namespace trnsim::study
