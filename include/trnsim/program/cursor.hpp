// SPDX-License-Identifier: Apache-2.0
// Walks a program's executed steps forwards or backwards with memory bounded by its text.
#pragma once

#include "trnsim/program/program.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace trnsim::program {

/// One executed step: an instruction with its operands' positions resolved, or an allocation.
struct Step {
    /// Resolved position of one operand.
    struct At {
        std::int64_t instance = 0;
        std::int64_t offset = 0;
        std::int64_t partition = 0;
        friend bool operator==(const At&, const At&) = default;
    };
    bool is_alloc = false;
    std::uint32_t node = 0;                      ///< Node number in Program::nodes.
    std::uint32_t run = 0;                       ///< Index into Program::runs; alloc: the buffer.
    std::span<const At> at{};                    ///< One per operand; valid until the next call.
    std::span<const std::int64_t> iterations{};  ///< Of the enclosing loops, outermost first.
};

/// Resolves an affine value at the given loop iterations.
[[nodiscard]] inline std::int64_t evaluate(const Affine& value,
                                           std::span<const std::int64_t> iterations) {
    std::int64_t sum = value.base;
    for (const Affine::Term& term : value.terms) {
        sum += term.coefficient * iterations[static_cast<std::size_t>(term.depth)];
    }
    return sum;
}

/// Yields every executed step of a program in program order, or in exactly the reverse of it. The
/// positions of all runs are kept resolved: an iteration adds the coefficients of its loop, and a
/// step costs nothing more. The program must outlive the cursor.
class Cursor {
public:
    enum class Direction : std::uint8_t { Forward, Backward };

    explicit Cursor(const Program& program, Direction direction = Direction::Forward);

    /// The next step, or nullptr at the end. The result is overwritten by the next call.
    const Step* next();

private:
    /// A node with what the walk needs of it. Loops without a step inside are left out.
    struct FlatNode {
        Node::Kind kind = Node::Kind::Run;
        std::uint32_t node = 0;   ///< Number in Program::nodes.
        std::uint32_t index = 0;  ///< Run or buffer.
        std::uint32_t match = 0;  ///< Loop: place of its End; End: of its Loop.
        std::uint32_t first = 0;  ///< Run: first of its positions; Loop, End: of its terms.
        std::uint32_t size = 0;   ///< How many.
        std::int64_t count = 1;   ///< Loop, End: trips.
    };
    /// One coefficient of a loop: which member of which position it moves, and by how much.
    struct FlatTerm {
        std::int64_t Step::At::*member = nullptr;
        std::uint32_t at = 0;
        std::int64_t coefficient = 0;
    };

    void flatten(const Program& program);
    void gather_terms(const Program& program);
    const Step* next_forward();
    const Step* next_backward();
    const Step* yield(const FlatNode& flat);
    void advance(const FlatNode& loop, std::int64_t iterations);

    Direction direction_;
    std::vector<FlatNode> nodes_;
    std::vector<FlatTerm> terms_;
    std::vector<Step::At> at_;
    std::vector<std::int64_t> iterations_;
    std::size_t depth_ = 0;
    std::size_t position_ = 0;  ///< Forward: next node; backward: one past it.
    Step step_;
};

}  // namespace trnsim::program
