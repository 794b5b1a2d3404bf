// SPDX-License-Identifier: Apache-2.0
// What the notes of a trace say to people.
#pragma once

#include "trnsim/program/program.hpp"

#include <string>
#include <vector>

namespace trnsim::program {

/// One text for all notes that say the same, behind their lines: "kernel.py:6, 9, other.py:12: …".
/// Of many lines the first few are named. What is unsupported is a warning, too.
struct Remarks {
    std::vector<std::string> warnings{};
    std::vector<std::string> assumptions{};
};

[[nodiscard]] Remarks remarks_of(const Program& program);

}  // namespace trnsim::program
