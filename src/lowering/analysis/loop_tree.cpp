// SPDX-License-Identifier: Apache-2.0
// Flat nodes to tree and back.
#include "loop_tree.hpp"

namespace trnsim::lowering {

using program::Node;

namespace {

std::vector<LoopTree> items_of(const std::vector<Node>& nodes, std::size_t begin, std::size_t end) {
    std::vector<LoopTree> items;
    for (std::size_t i = begin; i < end; ++i) {
        LoopTree& item = items.emplace_back(LoopTree{nodes[i].kind, nodes[i].index, {}});
        if (item.is_loop()) {
            item.body = items_of(nodes, i + 1, nodes[i].match);
            i = nodes[i].match;
        }
    }
    return items;
}

void append(const std::vector<LoopTree>& items, std::vector<Node>& nodes) {
    for (const LoopTree& item : items) {
        const auto begin = static_cast<std::uint32_t>(nodes.size());
        nodes.push_back({.kind = item.kind, .index = item.index});
        if (item.is_loop()) {
            append(item.body, nodes);
            nodes[begin].match = static_cast<std::uint32_t>(nodes.size());
            nodes.push_back({.kind = Node::Kind::End, .index = item.index, .match = begin});
        }
    }
}

}  // namespace

std::vector<LoopTree> to_tree(const std::vector<Node>& nodes) {
    return items_of(nodes, 0, nodes.size());
}

std::vector<Node> to_nodes(const std::vector<LoopTree>& tree) {
    std::vector<Node> nodes;
    append(tree, nodes);
    return nodes;
}

}  // namespace trnsim::lowering
