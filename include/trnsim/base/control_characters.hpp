// SPDX-License-Identifier: Apache-2.0
// Characters that a terminal obeys instead of showing them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace trnsim {

/// The text with a space in place of each control character of ASCII but the `kept` ones: names of
/// files, chips and buffers may hold any.
[[nodiscard]] inline std::string without_controls(std::string_view text,
                                                  std::string_view kept = {}) {
    constexpr unsigned kFirstPrintable = 0x20;
    constexpr unsigned kDelete = 0x7F;
    const auto is_control = [kept](char byte) {
        const auto value = static_cast<unsigned char>(byte);
        return (value < kFirstPrintable || value == kDelete) &&
               kept.find(byte) == std::string_view::npos;
    };
    std::string result{text};
    std::ranges::replace_if(result, is_control, ' ');
    return result;
}

}  // namespace trnsim
