// SPDX-License-Identifier: Apache-2.0
// One walk over the nodes.
#include "site_loops.hpp"

#include <algorithm>

namespace trnsim::lowering {

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

}  // namespace trnsim::lowering
