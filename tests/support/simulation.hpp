// SPDX-License-Identifier: Apache-2.0
// Whole simulations, as many as a test wants, and their results as flat numbers.
#pragma once

#include "trnsim/lowering/policies.hpp"
#include "trnsim/program/program.hpp"
#include "trnsim/simulator/run_result.hpp"
#include "trnsim/simulator/simulate.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trnsim::test {

/// Short names of the chips that tests run on.
[[nodiscard]] const std::vector<std::string>& chip_names();

/// The chip as the configuration in the source tree describes it, by short name.
[[nodiscard]] ChipSpec chip(const std::string& short_name);

/// Simulates in a kernel of its own.
[[nodiscard]] RunResult run(const program::Program& program,
                            const ChipSpec& chip,
                            const RunOptions& options = {});
[[nodiscard]] inline RunResult run(const program::Program& program,
                                   const ChipSpec& chip,
                                   const lowering::Policies& policies) {
    return run(
        program, chip, RunOptions{.policies = policies, .timeline = nullptr, .progress = {}});
}

[[nodiscard]] RunResult run(const Launch& launch,
                            const ChipSpec& chip,
                            const RunOptions& options = {});

/// Every number of a result by its path: "engines.tensor.active_ps", "dma.rings.0.bytes".
[[nodiscard]] std::map<std::string, std::int64_t> numbers_of(const RunResult& result);

}  // namespace trnsim::test
