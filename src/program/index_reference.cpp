// SPDX-License-Identifier: Apache-2.0
// How an operand of a trace says which other one holds its indices.
#include "index_reference.hpp"

#include "limits.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace trnsim::program {

IndexReference read_index_reference(const JsonValue& value) {
    if (value.is_text()) {
        return value.choice(role_from_name, Role::DstIndex);
    }
    return value.integer(0, kMaxInteger);
}

std::optional<std::uint32_t> find(const IndexReference& reference,
                                  std::span<const Operand> operands) {
    if (const std::int64_t* number = std::get_if<std::int64_t>(&reference)) {
        return *number < std::ssize(operands) ? std::optional(static_cast<std::uint32_t>(*number))
                                              : std::nullopt;
    }
    for (std::size_t i = operands.size(); i > 0; --i) {
        if (operands[i - 1].role == std::get<Role>(reference)) {
            return static_cast<std::uint32_t>(i - 1);
        }
    }
    return std::nullopt;
}

IndexReference index_reference(const InstructionTemplate& instruction, const Operand& operand) {
    const Role role = instruction.indices_of(operand)->role;
    const bool is_only = std::ranges::all_of(instruction.operands, [&](const Operand& each) {
        return !each.indirect || each.indirect == operand.indirect;
    });
    if (is_only && find(role, instruction.operands) == operand.indirect) {
        return role;
    }
    return std::int64_t{*operand.indirect};
}

std::string text(const IndexReference& reference) {
    const Role* role = std::get_if<Role>(&reference);
    return role == nullptr ? std::to_string(std::get<std::int64_t>(reference))
                           : fmt::format("\"{}\"", name(*role));
}

}  // namespace trnsim::program
