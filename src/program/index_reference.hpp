// SPDX-License-Identifier: Apache-2.0
// How an operand of a trace says which other one holds its indices.
#pragma once

#include "json_value.hpp"
#include "trnsim/isa/instruction.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

namespace trnsim::program {

/// What "indirect" says: a role, whose last operand is meant, or an operand's number.
using IndexReference = std::variant<Role, std::int64_t>;

/// \throws TraceError if the value is neither
[[nodiscard]] IndexReference read_index_reference(const JsonValue& value);

/// The number of the operand that is meant, if there is one.
[[nodiscard]] std::optional<std::uint32_t> find(const IndexReference& reference,
                                                std::span<const Operand> operands);

/// What to write for an operand that goes by another one: the role where all that go by any go by
/// the same, which one index of an instruction always was; else the number.
/// \pre operand.indirect
[[nodiscard]] IndexReference index_reference(const InstructionTemplate& instruction,
                                             const Operand& operand);

/// As in JSON.
[[nodiscard]] std::string text(const IndexReference& reference);

}  // namespace trnsim::program
