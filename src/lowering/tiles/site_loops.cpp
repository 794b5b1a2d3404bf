// SPDX-License-Identifier: Apache-2.0
// One walk over the nodes.
#include "site_loops.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

namespace trnsim::lowering {
namespace {

/// Tiles of a site: more than any memory has bytes.
constexpr std::int64_t kMost = std::int64_t{1} << 30;

}  // namespace

std::vector<Around> what_is_around(const program::Program& program) {
    std::vector<Around> sites(program.buffers.size(), Around::Nothing);
    std::vector<Around> open{Around::Nothing};  ///< By open loop.
    for (const program::Node& node : program.nodes) {
        if (node.kind == program::Node::Kind::Loop) {
            const bool is_unrolled = program::is_unrolled(program.loops[node.index].kind);
            open.push_back(
                std::max(open.back(), is_unrolled ? Around::PythonLoops : Around::Loops));
        } else if (node.kind == program::Node::Kind::End) {
            open.pop_back();
        } else if (node.kind == program::Node::Kind::Alloc) {
            sites[node.index] = std::max(sites[node.index], open.back());
        }
    }
    return sites;
}

std::vector<std::int64_t> tiles_per_iteration(const program::Program& program) {
    struct Open {
        std::optional<std::size_t> loop{};  ///< The innermost that the compiler sees.
        std::int64_t times = 1;             ///< Iterations of Python's loops in it.
    };
    std::vector<Open> open(1);
    std::map<std::pair<std::size_t, std::uint32_t>, std::int64_t> tiles;  ///< By loop and site.
    for (std::size_t place = 0; place < program.nodes.size(); ++place) {
        const program::Node& node = program.nodes[place];
        if (node.kind == program::Node::Kind::Loop) {
            const program::Loop& loop = program.loops[node.index];
            Open inner = open.back();
            if (program::is_unrolled(loop.kind)) {
                inner.times = std::min(kMost, inner.times * std::min(kMost, loop.count));
            } else {
                inner = {.loop = place};
            }
            open.push_back(inner);
        } else if (node.kind == program::Node::Kind::End) {
            open.pop_back();
        } else if (node.kind == program::Node::Kind::Alloc && open.back().loop) {
            tiles[{*open.back().loop, node.index}] += open.back().times;
        }
    }
    std::vector<std::int64_t> most(program.buffers.size());
    for (const auto& [where, count] : tiles) {
        most[where.second] = std::max(most[where.second], count);
    }
    return most;
}

}  // namespace trnsim::lowering
