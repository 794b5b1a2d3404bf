// SPDX-License-Identifier: Apache-2.0
// Sizes of buffers, and source positions as text.
#include "trnsim/program/program.hpp"

#include <functional>
#include <numeric>

namespace trnsim::program {

std::int64_t Buffer::partitions() const {
    return space == Space::Hbm ? 1 : shape.front();
}

std::int64_t Buffer::free_elements() const {
    const auto first = space == Space::Hbm ? shape.begin() : shape.begin() + 1;
    return std::accumulate(first, shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t Buffer::free_bytes() const {
    return free_elements() * size_bytes(dtype);
}

std::string Program::source_text(const std::vector<SourceFrame>& source) const {
    if (source.empty()) {
        return "?";
    }
    return files[source.front().file] + ":" + std::to_string(source.front().line);
}

std::string Program::source_text(const InstructionTemplate& instruction) const {
    if (instruction.source.empty()) {
        return "template " + std::to_string(&instruction - templates.data());
    }
    return source_text(instruction.source);
}

std::string Program::source_text(const Buffer& buffer) const {
    if (buffer.source.empty()) {
        return "buffer " + std::to_string(&buffer - buffers.data());
    }
    return source_text(buffer.source);
}

Program Program::of_core(std::int32_t core) const {
    Program result = *this;
    result.other_cores.clear();
    if (core > 0) {
        const Part& part = other_cores[static_cast<std::size_t>(core) - 1];
        result.nodes = part.nodes;
        result.instruction_count = part.instruction_count;
    }
    return result;
}

std::vector<std::int64_t> Program::executions() const {
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> around{1};  // Of the bodies of the open loops.
    for (const Node& node : nodes) {
        if (node.kind == Node::Kind::Loop) {
            // More than 64 bits hold are only loops around nothing, of which nobody asks.
            around.push_back(
                static_cast<std::int64_t>(static_cast<std::uint64_t>(around.back()) *
                                          static_cast<std::uint64_t>(loops[node.index].count)));
        }
        counts.push_back(around.back());
        if (node.kind == Node::Kind::End) {
            around.pop_back();
        }
    }
    return counts;
}

}  // namespace trnsim::program
