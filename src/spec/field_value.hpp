// SPDX-License-Identifier: Apache-2.0
// Between a field's value and its JSON.
#pragma once

#include "field.hpp"
#include "json_text.hpp"

#include <string>

namespace trnsim::spec {

/// Writes `value` into the field's target.
/// \param where begins the message, "file: /pointer"
/// \throws ConfigError for the wrong type or a value out of range
void assign(const Field& field, const Json& value, const std::string& where);

/// "a whole number of cycles from 0 to 1000000", for messages and the schema.
[[nodiscard]] std::string allowed(const Field& field);

[[nodiscard]] bool is_flag(const Field& field);
[[nodiscard]] bool is_whole_number(const Field& field);
[[nodiscard]] bool is_name(const Field& field);

}  // namespace trnsim::spec
