// SPDX-License-Identifier: Apache-2.0
// Strict JSON: what the parser lets pass is unambiguous.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace trnsim::spec {

/// Members stay in the order of the file.
using Json = nlohmann::ordered_json;

/// Parses `text`, read from `origin`.
/// \throws ConfigError with line and column for text that is not UTF-8 or not JSON, for nesting
/// deeper than 32, and for a key that occurs twice in its object
[[nodiscard]] Json parse_json(std::string_view text, const std::string& origin);

/// The JSON pointer of `key` in the object at `pointer`.
[[nodiscard]] std::string pointer_to(const std::string& pointer, std::string_view key);

}  // namespace trnsim::spec
