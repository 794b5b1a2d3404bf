// SPDX-License-Identifier: Apache-2.0
// One execution of a template: where its operands lie, what it waits for and what it raises.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace trnsim::program {

/// base + sum of coefficient x iteration over the enclosing loops; depth 0 is the outermost. Terms
/// are in order of depth, one per depth, and not zero.
struct Affine {
    struct Term {
        std::int32_t depth = 0;
        std::int64_t coefficient = 0;
        friend bool operator==(const Term&, const Term&) = default;
    };
    std::int64_t base = 0;
    std::vector<Term> terms{};
    friend bool operator==(const Affine&, const Affine&) = default;
};

/// Where one operand of a run lies. In a lowered trace `offset` holds the byte address.
struct Position {
    Affine instance{};
    Affine offset{};
    Affine partition{};
    friend bool operator==(const Position&, const Position&) = default;
};

/// A lowered run's semaphore condition: wait until `semaphore` >= `at_least`.
struct SemaphoreWait {
    std::int32_t semaphore = 0;
    Affine at_least{};
    friend bool operator==(const SemaphoreWait&, const SemaphoreWait&) = default;
};

/// A lowered run's semaphore update.
struct SemaphoreSignal {
    std::int32_t semaphore = 0;
    std::int64_t add = 1;
    bool at_read =
        false;  ///< When the sources have been read; otherwise when the result is visible.
    friend bool operator==(const SemaphoreSignal&, const SemaphoreSignal&) = default;
};

/// Executes a template once.
struct Run {
    std::uint32_t instruction = 0;  ///< Index into Program::templates.
    std::vector<Position> at{};     ///< One per operand.
    std::optional<Affine> value{};  ///< What a memset writes whose template leaves it to its runs.
    std::optional<Affine> producer{};  ///< Its number, for those that depend on it.
    std::vector<Affine> depends_on{};  ///< Producers; of each number the latest execution counts.
    std::vector<SemaphoreWait> waits{};
    std::vector<SemaphoreSignal> signals{};

    /// Whether the program orders it beyond what its data say.
    [[nodiscard]] bool has_edges() const { return producer.has_value() || !depends_on.empty(); }
    friend bool operator==(const Run&, const Run&) = default;
};

}  // namespace trnsim::program
