// SPDX-License-Identifier: Apache-2.0
// Multiples and quotients.
#pragma once

#include <cstdint>

namespace trnsim {

/// The next multiple of `to`.
[[nodiscard]] constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) {
    return (value + to - 1) / to * to;
}

/// The quotient rounded down, of negative numerators too. \pre positive > 0
[[nodiscard]] constexpr std::int64_t floor_divide(std::int64_t numerator, std::int64_t positive) {
    const std::int64_t quotient = numerator / positive;
    return quotient * positive > numerator ? quotient - 1 : quotient;
}

}  // namespace trnsim
