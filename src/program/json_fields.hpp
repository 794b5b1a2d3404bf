// SPDX-License-Identifier: Apache-2.0
// The keys of one JSON object of a record, checked against those allowed.
#pragma once

#include "json_value.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace trnsim::program {

/// A key that an object may have, or must.
struct JsonKey {
    std::string_view name;
    bool required = true;
};

/// Shorthand for the tables of keys.
[[nodiscard]] constexpr JsonKey optional_key(std::string_view name) {
    return {name, false};
}

/// An object whose keys are all known and given once, the required ones present.
class JsonFields {
public:
    static constexpr std::size_t kMaxKeys = 12;

    /// `keys` must outlive the fields and have at most kMaxKeys entries.
    /// \throws TraceError naming the unknown, repeated or missing key
    JsonFields(const Place& place, JsonObject object, std::span<const JsonKey> keys);

    [[nodiscard]] bool has(std::string_view key) const;

    /// \pre has(key)
    [[nodiscard]] JsonValue operator[](std::string_view key) const;

private:
    [[nodiscard]] std::size_t find(std::string_view key) const;
    [[noreturn]] void fail_unknown(std::string_view key) const;

    const Place& place_;
    std::span<const JsonKey> keys_;
    std::array<JsonElement, kMaxKeys> values_{};
    std::uint32_t present_ = 0;  ///< Bit i: keys_[i] was given.
};

}  // namespace trnsim::program
