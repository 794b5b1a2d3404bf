// SPDX-License-Identifier: Apache-2.0
// Names of an enumeration's values, looked up both ways.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace trnsim {

/// One name per enumerator of `Enum`, in enumeration order and without gaps.
template <typename Enum, std::size_t kCount>
class NameTable {
public:
    constexpr explicit NameTable(const std::array<std::string_view, kCount>& names)
        : names_(names) {}

    /// \pre `value` is an enumerator
    [[nodiscard]] constexpr std::string_view name(Enum value) const {
        return names_[static_cast<std::size_t>(value)];
    }

    /// The enumerator of that name, or nothing.
    [[nodiscard]] constexpr std::optional<Enum> find(std::string_view name) const {
        for (std::size_t i = 0; i < kCount; ++i) {
            if (names_[i] == name) {
                return static_cast<Enum>(i);
            }
        }
        return std::nullopt;
    }

private:
    std::array<std::string_view, kCount> names_;
};

}  // namespace trnsim
