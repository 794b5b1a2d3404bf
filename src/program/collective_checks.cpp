// SPDX-License-Identifier: Apache-2.0
// The rules of NKI's collectives. [NKI-COLLECTIVES]
#include "collective_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

namespace trnsim::program {
namespace {

/// No rank is in two groups, or twice in one.
void check_groups(const Place& place, const std::vector<std::vector<std::int32_t>>& groups) {
    std::set<std::int32_t> seen;
    for (const std::vector<std::int32_t>& group : groups) {
        for (const std::int32_t rank : group) {
            if (!seen.insert(rank).second) {
                place.fail(fmt::format("\"groups\" has rank {} twice; name each once", rank));
            }
        }
    }
}

/// Each rank sends once and receives once.
void check_pairs(const Place& place, const std::vector<std::vector<std::int32_t>>& pairs) {
    std::set<std::int32_t> from;
    std::set<std::int32_t> to;
    for (const std::vector<std::int32_t>& pair : pairs) {
        if (!from.insert(pair.front()).second) {
            place.fail(
                fmt::format("\"pairs\" lets rank {} send twice; let it send once", pair.front()));
        }
        if (!to.insert(pair.back()).second) {
            place.fail(fmt::format("\"pairs\" lets rank {} receive twice; let it receive once",
                                   pair.back()));
        }
    }
}

}  // namespace

void check_collective(const Place& place, const InstructionTemplate& instruction) {
    if (!is_collective(instruction.op)) {
        return;
    }
    const Attributes& attributes = instruction.attributes;
    check_groups(place, attributes.groups);
    check_pairs(place, attributes.pairs);
    std::int64_t bytes = 0;
    std::int64_t targets = 0;
    for (const Operand& operand : instruction.operands) {
        bytes += operand.role == Role::Src ? operand.total_bytes() : 0;
        targets += operand.role == Role::Dst ? 1 : 0;
    }
    if (attributes.bytes != bytes) {
        place.fail(fmt::format(
            R"("bytes" is {}, but what "src" holds is {}; write that)", attributes.bytes, bytes));
    }
    if (attributes.channels > targets) {
        place.fail(
            fmt::format("\"channels\" is {}, but there are {} of \"dst\"; give each channel "
                        "one",
                        attributes.channels,
                        targets));
    }
}

}  // namespace trnsim::program
