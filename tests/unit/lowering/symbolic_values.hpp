// SPDX-License-Identifier: Apache-2.0
// What a program computes, with formulas (their hashes) for numbers.
#pragma once

#include "trnsim/program/program.hpp"

#include <cstdint>
#include <map>
#include <tuple>

namespace trnsim::test {

/// Place in HBM: buffer, instance, element.
using HbmPlace = std::tuple<std::uint32_t, std::int64_t, std::int64_t>;

/// The formula of every HBM element that a program wrote, executed in program order. Elements of a
/// result are those of the operands of the same number; an operand with fewer is broadcast in each
/// partition, one with more is reduced. An instruction's formula is its operation and its source
/// line.
[[nodiscard]] std::map<HbmPlace, std::uint64_t> symbolic_values(const program::Program& program);

}  // namespace trnsim::test
