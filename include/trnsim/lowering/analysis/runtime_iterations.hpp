// SPDX-License-Identifier: Apache-2.0
// Where iterations of loops of the run time end.
#pragma once

#include "trnsim/lowering/policies.hpp"
#include "trnsim/program/cursor.hpp"
#include "trnsim/program/program.hpp"

#include <cstdint>
#include <vector>

namespace trnsim::lowering {

/// Follows a program in its order. The compiler ends each iteration of a loop whose trips a
/// register says with a drain and a barrier of all engines. [NKI-DYNAMIC-LOOPS]
class RuntimeIterations {
public:
    /// None if the policy `drain_iterations` is off.
    RuntimeIterations(const program::Program& program, const Policies& policies);

    /// Whether there are any.
    [[nodiscard]] bool has_any() const { return has_any_; }

    /// How many such iterations have ended before this instruction, of those that the walk was in
    /// when it was asked about an instruction.
    [[nodiscard]] std::int64_t ended_before(const program::Step& step);

private:
    bool has_any_ = false;
    std::int64_t ended_ = 0;
    /// By run: the loops around it, from the outermost to the innermost one of the run time.
    std::vector<std::vector<std::uint32_t>> loops_;
    std::vector<std::uint32_t> around_;     ///< Those of the last instruction,
    std::vector<std::int64_t> iterations_;  ///< and their iterations.
};

}  // namespace trnsim::lowering
