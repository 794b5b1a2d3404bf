// SPDX-License-Identifier: Apache-2.0
// Affine values of loop iterations: reading them, and the interval they stay in.
#pragma once

#include "json_value.hpp"
#include "reader_state.hpp"
#include "trnsim/program/program.hpp"

#include <cstdint>

namespace trnsim::program {

/// An integer, or an object of coefficients whose keys are "base" and the names of the open loops.
[[nodiscard]] Affine read_affine(const ReaderState& state, const JsonValue& value);

/// Both ends inclusive.
struct Interval {
    std::int64_t low = 0;
    std::int64_t high = 0;
};

/// The values that `affine` takes over all iterations of the open loops; exact, as iterations are
/// independent. `key` is for the message.
/// \throws TraceError if it leaves +-kMaxReach
[[nodiscard]] Interval interval_of(const ReaderState& state,
                                   const Affine& affine,
                                   std::string_view key);

/// Whether all values are multiples of `divisor`.
[[nodiscard]] bool is_multiple(const ReaderState& state,
                               const Affine& affine,
                               std::int64_t divisor);

}  // namespace trnsim::program
