// SPDX-License-Identifier: Apache-2.0
// Names of what describes an operand, and its look-up by role.
#include "trnsim/isa/instruction.hpp"

#include "trnsim/isa/name_table.hpp"

#include <algorithm>
#include <cassert>

namespace trnsim {
namespace {

constexpr NameTable<Space, 3> kSpaceNames{{"hbm", "sbuf", "psum"}};
constexpr NameTable<Access, 4> kAccessNames{{"read", "write", "update", "accumulate"}};
constexpr NameTable<OneZero, 4> kOneZeroNames{{"none", "stationary", "moving", "both"}};
constexpr NameTable<MatmulPerfMode, 2> kPerfModeNames{{"none", "double_row"}};

constexpr std::size_t kRoleCount = static_cast<std::size_t>(Role::DstIndex) + 1;

constexpr NameTable<Role, kRoleCount> kRoleNames{{
    "dst",          "dst_scale",  "data",
    "data1",        "data2",      "src",
    "stationary",   "moving",     "stationary_scale",
    "moving_scale", "tags",       "operand0",
    "operand1",     "bias",       "scale",
    "initial",      "bound0",     "bound1",
    "max_value",    "relu_param", "reduce_result",
    "predicate",    "on_true",    "on_false",
    "values",       "index",      "dst_index",
}};

}  // namespace

std::string_view name(Space space) {
    return kSpaceNames.name(space);
}

std::string_view name(Access access) {
    return kAccessNames.name(access);
}

std::string_view name(Role role) {
    return kRoleNames.name(role);
}

std::string_view name(OneZero value) {
    return kOneZeroNames.name(value);
}

std::string_view name(MatmulPerfMode mode) {
    return kPerfModeNames.name(mode);
}

std::optional<Space> space_from_name(std::string_view name) {
    return kSpaceNames.find(name);
}

std::optional<Access> access_from_name(std::string_view name) {
    return kAccessNames.find(name);
}

std::optional<Role> role_from_name(std::string_view name) {
    return kRoleNames.find(name);
}

std::optional<OneZero> one_zero_from_name(std::string_view name) {
    return kOneZeroNames.find(name);
}

std::optional<MatmulPerfMode> perf_mode_from_name(std::string_view name) {
    return kPerfModeNames.find(name);
}

const Operand* InstructionTemplate::find(Role role) const {
    const auto found = std::find_if(operands.begin(), operands.end(), [role](const Operand& each) {
        return each.role == role;
    });
    return found == operands.end() ? nullptr : &*found;
}

const Operand& InstructionTemplate::at(Role role) const {
    const Operand* found = find(role);
    assert(found != nullptr);
    return *found;
}

const Operand* InstructionTemplate::indices_of(const Operand& operand) const {
    assert(!operand.indirect || *operand.indirect < operands.size());
    return operand.indirect ? &operands[*operand.indirect] : nullptr;
}

}  // namespace trnsim
