// SPDX-License-Identifier: Apache-2.0
// From the outermost loop in.
#include "split_loops.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trnsim::test {

using program::Affine;
using program::Node;
using program::Program;

namespace {

constexpr std::int64_t kInner = 2;

class Splitter {
public:
    explicit Splitter(const Program& program) : program_(program), result_(program) {
        result_.nodes.clear();
        result_.runs.clear();
    }

    Program run() {
        copy(0, program_.nodes.size());
        result_.max_depth = most_;
        return result_;
    }

private:
    void copy(std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const Node& node = program_.nodes[i];
            if (node.kind == Node::Kind::Run) {
                program::Run run = program_.runs[node.index];
                for (program::Position& at : run.at) {
                    at = {rewritten(at.instance), rewritten(at.offset), rewritten(at.partition)};
                }
                result_.runs.push_back(run);
                result_.nodes.push_back(
                    {.kind = node.kind,
                     .index = static_cast<std::uint32_t>(result_.runs.size() - 1)});
            } else if (node.kind == Node::Kind::Loop) {
                copy_loop(node, i);
                i = node.match;
            } else {
                result_.nodes.push_back(node);
            }
        }
    }

    void copy_loop(const Node& node, std::size_t at) {
        const program::Loop loop = program_.loops[node.index];
        const bool is_split = loop.count > kInner && loop.count % kInner == 0;
        is_split_.push_back(is_split);
        const std::size_t outer = open(loop, is_split ? loop.count / kInner : loop.count);
        const std::size_t inner = is_split ? open(loop, kInner) : outer;
        copy(at + 1, node.match);
        if (is_split) {
            close(inner);
        }
        close(outer);
        is_split_.pop_back();
    }

    std::size_t open(program::Loop loop, std::int64_t count) {
        loop.count = count;
        result_.loops.push_back(loop);
        result_.nodes.push_back({.kind = Node::Kind::Loop,
                                 .index = static_cast<std::uint32_t>(result_.loops.size() - 1)});
        most_ = std::max(most_, ++depth_);
        return result_.nodes.size() - 1;
    }

    void close(std::size_t begin) {
        result_.nodes[begin].match = static_cast<std::uint32_t>(result_.nodes.size());
        result_.nodes.push_back({.kind = Node::Kind::End,
                                 .index = result_.nodes[begin].index,
                                 .match = static_cast<std::uint32_t>(begin)});
        --depth_;
    }

    [[nodiscard]] Affine rewritten(const Affine& value) const {
        Affine result{.base = value.base};
        for (const Affine::Term& term : value.terms) {
            auto depth = term.depth;
            for (std::int32_t outer = 0; outer < term.depth; ++outer) {
                depth += is_split_[static_cast<std::size_t>(outer)] ? 1 : 0;
            }
            const bool is_split = is_split_[static_cast<std::size_t>(term.depth)];
            result.terms.push_back(
                {.depth = depth, .coefficient = term.coefficient * (is_split ? kInner : 1)});
            if (is_split) {
                result.terms.push_back({.depth = depth + 1, .coefficient = term.coefficient});
            }
        }
        return result;
    }

    const Program& program_;
    Program result_;
    std::vector<bool> is_split_;  ///< By depth: the loops around.
    std::int32_t depth_ = 0;
    std::int32_t most_ = 0;
};

}  // namespace

Program with_split_loops(const Program& program) {
    return Splitter(program).run();
}

}  // namespace trnsim::test
