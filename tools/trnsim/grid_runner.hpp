// SPDX-License-Identifier: Apache-2.0
// Simulates one input at every point of a grid.
#pragma once

#include "input.hpp"
#include "options.hpp"
#include "trnsim/study/grid.hpp"
#include "trnsim/study/local_executor.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace trnsim::cli {

/// What varies, what does not, and how. The chips are the first axis of the grid, settings and
/// policies follow, and the method, if one is given, is the last, of one value.
struct GridRequest {
    std::vector<std::string> chips;
    std::vector<study::Axis> settings{};
    std::vector<study::Axis> policies{};
    ModelOptions everywhere{};  ///< Settings, policies and the method of all points.
    bool is_permissive = false;
    std::size_t processes = 1;
};

[[nodiscard]] study::Grid make_grid(const GridRequest& request);

/// Traces the input once for each chip, then runs each point in a process of its own. A point that
/// cannot be traced or simulated has an outcome that says so. Outputs are results as JSON text.
[[nodiscard]] std::vector<study::JobOutcome> run_grid(Input& input,
                                                      const GridRequest& request,
                                                      const study::Grid& grid);

}  // namespace trnsim::cli
