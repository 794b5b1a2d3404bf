// SPDX-License-Identifier: Apache-2.0
// Between a field's value and its JSON.
#pragma once

#include "field.hpp"
#include "json_text.hpp"

#include <string>

namespace trnsim::spec {

/// Writes `value` into the field's target, unless it is of another type or out of range: false, and
/// misfit() says why.
[[nodiscard]] bool assign(const Field& field, JsonElement value);

/// "the value is 256, but allowed is ...", for messages.
[[nodiscard]] std::string misfit(const Field& field, JsonElement value);

/// "a whole number of cycles from 0 to 1000000", for messages and the schema.
[[nodiscard]] std::string allowed(const Field& field);

[[nodiscard]] bool is_flag(const Field& field);
[[nodiscard]] bool is_whole_number(const Field& field);
[[nodiscard]] bool is_name(const Field& field);

}  // namespace trnsim::spec
