// SPDX-License-Identifier: Apache-2.0
// Where each attribute of a template is kept, so that reading and writing go by type.
#pragma once

#include "operation_rules.hpp"

#include <optional>
#include <variant>

namespace trnsim::program {

using PeTile = std::optional<std::array<std::int32_t, 2>>;

/// A member of Attributes; std::visit() tells its type.
using AttributeMember = std::variant<std::string Attributes::*,
                                     bool Attributes::*,
                                     OneZero Attributes::*,
                                     MatmulPerfMode Attributes::*,
                                     PeTile Attributes::*,
                                     std::optional<double> Attributes::*,
                                     std::vector<std::int32_t> Attributes::*,
                                     std::vector<std::vector<std::int32_t>> Attributes::*,
                                     std::int64_t Attributes::*,
                                     DgeMode Attributes::*,
                                     std::optional<Engine> Attributes::*>;

/// The member that holds `attribute`; "op" and "op0" share one.
[[nodiscard]] AttributeMember member_of(Attribute attribute);

}  // namespace trnsim::program
