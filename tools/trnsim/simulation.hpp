// SPDX-License-Identifier: Apache-2.0
// One simulation as the commands ask for it: a program, a chip by name, overrides; a report.
#pragma once

#include "input.hpp"
#include "options.hpp"
#include "trnsim/report/report.hpp"
#include "trnsim/simulator/simulate.hpp"

#include <cstddef>
#include <string>

namespace trnsim::cli {

/// What to simulate. The input must be loaded before a process forks, so that it is loaded once.
struct Simulation {
    std::string chip = "trn2";
    ModelOptions model;
    std::size_t cores = 0;  ///< NeuronCores that run copies of the program; 0: one copy.
    bool is_permissive = false;
    bool shows_progress = true;
};

/// Simulates in this process, once in its life.
/// \throws UserError for wrong settings and policies, ProgramError as simulate() does
[[nodiscard]] report::Report simulate_input(Input& input,
                                            const Simulation& simulation,
                                            timeline::TimelineSink* timeline = nullptr);

}  // namespace trnsim::cli
