// SPDX-License-Identifier: Apache-2.0
// Loops around runs, and whether the walk has left an iteration.
#include "trnsim/lowering/analysis/runtime_iterations.hpp"

#include <algorithm>

namespace trnsim::lowering {

using program::Node;

RuntimeIterations::RuntimeIterations(const program::Program& program, const Policies& policies)
    : loops_(program.runs.size()) {
    if (!policies.drain_iterations) {
        return;
    }
    std::vector<std::uint32_t> open;
    for (const Node& node : program.nodes) {
        switch (node.kind) {
            case Node::Kind::Loop:
                open.push_back(node.index);
                break;
            case Node::Kind::End:
                open.pop_back();
                break;
            case Node::Kind::Run: {
                const auto last = std::find_if(open.rbegin(), open.rend(), [&](std::uint32_t loop) {
                    return program.loops[loop].kind == program::LoopKind::Runtime;
                });
                loops_[node.index].assign(open.begin(), last.base());
                has_any_ = has_any_ || !loops_[node.index].empty();
                break;
            }
            case Node::Kind::Alloc:
                break;
        }
    }
}

std::int64_t RuntimeIterations::ended_before(const program::Step& step) {
    const std::vector<std::uint32_t>& loops = loops_[step.run];
    if (loops.empty() && around_.empty()) {
        return ended_;
    }
    const auto iterations = step.iterations.first(loops.size());
    const bool stays = around_.size() <= loops.size() &&
                       std::equal(around_.begin(), around_.end(), loops.begin()) &&
                       std::equal(iterations_.begin(), iterations_.end(), iterations.begin());
    around_ = loops;
    iterations_.assign(iterations.begin(), iterations.end());
    ended_ += stays ? 0 : 1;
    return ended_;
}

}  // namespace trnsim::lowering
