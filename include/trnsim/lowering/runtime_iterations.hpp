// SPDX-License-Identifier: Apache-2.0
// Where iterations of loops of the run time end.
#pragma once

#include "trnsim/program/cursor.hpp"
#include "trnsim/program/program.hpp"

#include <cstdint>
#include <vector>

namespace trnsim::lowering {

/// Follows a program in its order. The compiler ends each iteration of a loop whose trips a
/// register says with a drain and a barrier of all engines. [NKI-DYNAMIC-LOOPS]
class RuntimeIterations {
public:
    explicit RuntimeIterations(const program::Program& program);

    /// Whether such an iteration has ended between the last instruction asked about and this one.
    [[nodiscard]] bool end_before(const program::Step& step);

private:
    /// By run: the loops around it, from the outermost to the innermost one of the run time.
    std::vector<std::vector<std::uint32_t>> loops_;
    std::vector<std::uint32_t> around_;     ///< Those of the last instruction,
    std::vector<std::int64_t> iterations_;  ///< and their iterations.
};

}  // namespace trnsim::lowering
