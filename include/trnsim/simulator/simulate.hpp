// SPDX-License-Identifier: Apache-2.0
// One kernel launch: lowers programs, runs them on the SystemC model, returns what it measured.
#pragma once

#include "trnsim/lowering/policies.hpp"
#include "trnsim/program/program.hpp"
#include "trnsim/simulator/run_result.hpp"
#include "trnsim/spec/chip_spec.hpp"
#include "trnsim/timeline/timeline_sink.hpp"

#include <functional>
#include <vector>

namespace trnsim {

/// How to run, beside chip and program.
struct RunOptions {
    lowering::Policies policies;
    Method method = Method::Profiler;
    timeline::TimelineSink* timeline = nullptr;  ///< Not owned; nullptr: no timeline.
    /// Called now and then with executed and total instructions; empty: not called.
    std::function<void(std::int64_t done, std::int64_t total)> progress;
};

/// What the NeuronCores of a chip run at once: each program on as many as it has cores, one after
/// the other, and all start together. Not owned.
using Launch = std::vector<const program::Program*>;

/// \throws UserError if a chip does not have so many NeuronCores, or HBM stacks for them
void check_cores(std::uint64_t cores, const ChipSpec& chip);

/// Simulates one kernel launch. Same input, same result on every machine. A SystemC kernel can be
/// elaborated once in a process, so this may be called once; run further simulations in processes
/// of their own. \throws ProgramError for deadlocks, races, overflows and tiles the chip does not
/// take; UserError for more programs than the chip has NeuronCores
[[nodiscard]] RunResult simulate(const Launch& launch,
                                 const ChipSpec& chip,
                                 const RunOptions& options);

/// The same of one program.
[[nodiscard]] inline RunResult simulate(const program::Program& program,
                                        const ChipSpec& chip,
                                        const RunOptions& options) {
    return simulate(Launch{&program}, chip, options);
}

}  // namespace trnsim
