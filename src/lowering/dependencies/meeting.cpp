// SPDX-License-Identifier: Apache-2.0
// Who meets whom, and who cannot.
#include "trnsim/lowering/dependencies/meeting.hpp"

#include "trnsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace trnsim::lowering {
namespace {

std::uint32_t core_bit(std::int64_t core) {
    return std::uint32_t{1} << static_cast<unsigned>(core);
}

/// What is wrong with an instruction of that core; empty if nothing is.
std::string fault(const InstructionTemplate& instruction, std::int32_t cores, std::int32_t core) {
    const Attributes& attributes = instruction.attributes;
    if (instruction.op == Opcode::Sendrecv) {
        if (attributes.send_to != attributes.recv_from) {
            return fmt::format(
                "core {} sends to core {} and receives from core {}, but two cores exchange with "
                "each other; give send_to and recv_from the same core",
                core,
                attributes.send_to,
                attributes.recv_from);
        }
        if (attributes.send_to == core) {
            return fmt::format("core {} exchanges with itself; name the other core", core);
        }
        if (attributes.send_to >= cores) {
            return fmt::format(
                "core {} exchanges with core {}, but the program has {} cores; "
                "name one of 0 to {}",
                core,
                attributes.send_to,
                cores,
                cores - 1);
        }
    }
    if (instruction.op != Opcode::CoreBarrier || attributes.cores.empty()) {
        return {};
    }
    std::vector<std::int32_t> members = attributes.cores;
    std::ranges::sort(members);
    if (std::ranges::adjacent_find(members) != members.end()) {
        return "names a core twice; name each once";
    }
    if (members.back() >= cores) {
        return fmt::format("waits for core {}, but the program has {} cores; name some of 0 to {}",
                           members.back(),
                           cores,
                           cores - 1);
    }
    if (!std::ranges::binary_search(members, core)) {
        return fmt::format("core {} comes to it and is not one of its cores; add it", core);
    }
    return {};
}

}  // namespace

MeetingPlan plan_meeting(const InstructionTemplate& instruction, std::int32_t cores) {
    const Attributes& attributes = instruction.attributes;
    if (instruction.op == Opcode::Sendrecv && cores > 1) {
        return {.cores = core_bit(attributes.send_to),
                .channel = static_cast<std::uint32_t>(attributes.pipe) + 1};
    }
    if (instruction.op != Opcode::CoreBarrier) {
        return {};
    }
    MeetingPlan all{.cores = core_bit(cores) - 1};
    if (!attributes.cores.empty()) {
        all.cores = 0;
        for (const std::int32_t core : attributes.cores) {
            all.cores |= core_bit(core);
        }
    }
    return all;
}

void check_meetings(const program::Program& program, std::int32_t core) {
    for (const program::Node& node : program.nodes) {
        if (node.kind != program::Node::Kind::Run) {
            continue;
        }
        const InstructionTemplate& instruction =
            program.templates[program.runs[node.index].instruction];
        const std::string what = fault(instruction, program.header.cores, core);
        if (!what.empty()) {
            throw ProgramError(fmt::format(
                "{}: {}: {}", program.source_text(instruction), name(instruction.op), what));
        }
    }
}

}  // namespace trnsim::lowering
