// SPDX-License-Identifier: Apache-2.0
// Multiples.
#pragma once

#include <cstdint>

namespace trnsim {

/// The next multiple of `to`.
[[nodiscard]] constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) {
    return (value + to - 1) / to * to;
}

}  // namespace trnsim
