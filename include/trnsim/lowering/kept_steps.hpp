// SPDX-License-Identifier: Apache-2.0
// Steps of a program that outlast the cursor's next one.
#pragma once

#include "trnsim/program/cursor.hpp"

#include <cstdint>
#include <vector>

namespace trnsim::lowering {

/// Copies of steps, each with the tiles that it uses and a time, by number. Numbers of dropped ones
/// are used again, and so is their memory.
class KeptSteps {
public:
    using Item = std::uint32_t;
    struct Kept {
        program::Step step{};
        std::vector<program::Step::At> at{};  ///< What the step's own points to.
        std::vector<std::uint32_t> tiles{};   ///< By number; for whoever keeps the step.
        std::int64_t time = 0;                ///< Start, in picoseconds of a plan.
        std::int64_t ended = 0;               ///< Iterations (RuntimeIterations) before it.
    };

    /// Copies a step; it has no tiles yet, and begins at 0.
    [[nodiscard]] Item keep(const program::Step& step);
    void drop(Item item) { unused_.push_back(item); }

    [[nodiscard]] Kept& operator[](Item item) { return kept_[item]; }
    [[nodiscard]] const Kept& operator[](Item item) const { return kept_[item]; }

private:
    std::vector<Kept> kept_{};
    std::vector<Item> unused_{};
};

}  // namespace trnsim::lowering
