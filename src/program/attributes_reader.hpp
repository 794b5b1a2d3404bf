// SPDX-License-Identifier: Apache-2.0
// The `attributes` object of a template.
#pragma once

#include "json_value.hpp"
#include "trnsim/isa/instruction.hpp"

#include <optional>

namespace trnsim::program {

/// Reads the attributes that `op` has; absent ones keep their default. `value` is the object, if it
/// is there. \throws TraceError naming the key
[[nodiscard]] Attributes read_attributes(const Place& place,
                                         Opcode op,
                                         const std::optional<JsonValue>& value);

}  // namespace trnsim::program
