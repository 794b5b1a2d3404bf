// SPDX-License-Identifier: Apache-2.0
// Which elements of two sequences correspond.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace trnsim::report {

/// Places of a common subsequence: the longest if both have at most `window` elements after their
/// common beginning; of longer ones the longest window by window, so that time and memory stay
/// linear in the length. Of several the one whose elements come first.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> align(
    std::span<const std::uint32_t> before,
    std::span<const std::uint32_t> after,
    std::size_t window = 1024);

}  // namespace trnsim::report
