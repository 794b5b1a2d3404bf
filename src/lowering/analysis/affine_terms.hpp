// SPDX-License-Identifier: Apache-2.0
// What passes that rebuild loops ask of affine values, and do to them.
#pragma once

#include "trnsim/program/run.hpp"

#include <cstdint>

namespace trnsim::lowering {

/// Coefficient of the loop at `depth`.
[[nodiscard]] std::int64_t coefficient(const program::Affine& value, std::int32_t depth);

/// Whether a value changes in the loops inside of the one at `depth`.
[[nodiscard]] bool has_inner_terms(const program::Affine& value, std::int32_t depth);

/// Same but for the loops inside of the one at `depth`.
[[nodiscard]] bool same_base(const program::Affine& a,
                             const program::Affine& b,
                             std::int32_t depth);

/// Adds to the coefficient of the loop at `depth`.
void add_term(program::Affine& value, std::int32_t depth, std::int64_t coefficient);

}  // namespace trnsim::lowering
