// SPDX-License-Identifier: Apache-2.0
// A program's nodes as a tree, for passes that rebuild loops.
#pragma once

#include "trnsim/program/program.hpp"

#include <cstdint>
#include <vector>

namespace trnsim::lowering {

/// A run, an alloc, or a loop with its body.
struct LoopTree {
    program::Node::Kind kind = program::Node::Kind::Run;
    std::uint32_t index = 0;       ///< Into runs, buffers or loops.
    std::vector<LoopTree> body{};  ///< Of a loop.

    [[nodiscard]] bool is_loop() const { return kind == program::Node::Kind::Loop; }
    [[nodiscard]] bool is_run() const { return kind == program::Node::Kind::Run; }
    [[nodiscard]] bool is_alloc() const { return kind == program::Node::Kind::Alloc; }
};

[[nodiscard]] std::vector<LoopTree> to_tree(const std::vector<program::Node>& nodes);
[[nodiscard]] std::vector<program::Node> to_nodes(const std::vector<LoopTree>& tree);

}  // namespace trnsim::lowering
