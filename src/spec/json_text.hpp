// SPDX-License-Identifier: Apache-2.0
// JSON as chip files and --set are written in. What passes is unambiguous but for repeated keys,
// which repeated_key() finds.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

namespace trnsim::spec {

/// A value of a text that was parsed; lives as long as the parser.
using JsonElement = simdjson::dom::element;
using JsonObject = simdjson::dom::object;
using JsonParser = simdjson::dom::parser;

/// Parses `text`, read from `origin`.
/// \throws ConfigError with line and column for text that is not UTF-8 or not JSON; for nesting
/// deeper than 32, and numbers beyond a double or integers beyond 64 bits
[[nodiscard]] JsonElement parse_json(JsonParser& parser,
                                     std::string_view text,
                                     const std::string& origin);

/// A key that occurs twice in `object`.
[[nodiscard]] std::optional<std::string_view> repeated_key(JsonObject object);

/// A number, text, true, false or null as JSON; "an object" or "an array" otherwise.
[[nodiscard]] std::string value_text(JsonElement value);

/// Text as a JSON string; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace trnsim::spec
