// SPDX-License-Identifier: Apache-2.0
// Which sites can be split, and their positions then.
#include "trnsim/lowering/analysis/block_splitting.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace trnsim::lowering {

using program::Affine;
using program::Buffer;
using program::Node;
using program::Position;
using program::Program;

namespace {

/// Elements of a partition that one part of a tile has; 0: it has no parts.
std::int64_t part_elements(const Buffer& buffer) {
    return buffer.shape.size() < 3 || buffer.shape[1] < 2
               ? 0
               : buffer.free_elements() / buffer.shape[1];
}

class Splitter {
public:
    Splitter(Program program, const std::vector<bool>& sites)
        : program_(std::move(program)), parts_(program_.buffers.size()) {
        for (std::size_t site = 0; site < parts_.size(); ++site) {
            const Buffer& buffer = program_.buffers[site];
            if (sites[site] && buffer.space == Space::Sbuf && !buffer.address) {
                parts_[site] = part_elements(buffer);
            }
        }
        for_each_run([this](const program::Run& run) {
            const std::vector<Operand>& operands = program_.templates[run.instruction].operands;
            for (std::size_t i = 0; i < operands.size(); ++i) {
                const std::uint32_t site = operands[i].buffer;
                if (parts_[site] > 0 && !stays_in_part(operands[i], run.at[i].offset)) {
                    parts_[site] = 0;
                }
            }
        });
    }

    Program run() {
        for (program::Run& run : program_.runs) {
            const std::vector<Operand>& operands = program_.templates[run.instruction].operands;
            for (std::size_t i = 0; i < operands.size(); ++i) {
                if (const std::int64_t part = parts_[operands[i].buffer]; part > 0) {
                    split(run.at[i], part, program_.buffers[operands[i].buffer].shape[1]);
                }
            }
        }
        const std::vector<Node> nodes = std::exchange(program_.nodes, {});
        std::vector<std::uint32_t> open;
        for (const Node& node : nodes) {
            const std::int64_t copies = node.kind == Node::Kind::Alloc && parts_[node.index] > 0
                                            ? program_.buffers[node.index].shape[1]
                                            : 1;
            program_.nodes.insert(program_.nodes.end(), static_cast<std::size_t>(copies), node);
            const auto last = static_cast<std::uint32_t>(program_.nodes.size() - 1);
            if (node.kind == Node::Kind::Loop) {
                open.push_back(last);
            } else if (node.kind == Node::Kind::End) {
                program_.nodes[last].match = open.back();
                program_.nodes[open.back()].match = last;
                open.pop_back();
            }
        }
        for (std::size_t site = 0; site < parts_.size(); ++site) {
            if (parts_[site] > 0) {
                std::vector<std::int64_t>& shape = program_.buffers[site].shape;
                shape.erase(shape.begin() + 1);
            }
        }
        return std::move(program_);
    }

private:
    template <typename F>
    void for_each_run(F f) {
        for (const Node& node : program_.nodes) {
            if (node.kind == Node::Kind::Loop) {
                counts_.push_back(program_.loops[node.index].count);
            } else if (node.kind == Node::Kind::End) {
                counts_.pop_back();
            } else if (node.kind == Node::Kind::Run) {
                f(program_.runs[node.index]);
            }
        }
    }

    [[nodiscard]] bool stays_in_part(const Operand& operand, const Affine& offset) const {
        const Buffer& buffer = program_.buffers[operand.buffer];
        const std::int64_t part = parts_[operand.buffer];
        if (operand.dtype != buffer.dtype || operand.indirect || offset.base < 0) {
            return false;
        }
        std::int64_t low = offset.base % part + operand.pattern.lowest();
        std::int64_t high = offset.base % part + operand.pattern.highest();
        for (const Affine::Term& term : offset.terms) {
            if (term.coefficient % part != 0) {
                const std::int64_t most =
                    term.coefficient * (counts_[static_cast<std::size_t>(term.depth)] - 1);
                low += std::min<std::int64_t>(most, 0);
                high += std::max<std::int64_t>(most, 0);
            }
        }
        return low >= 0 && high < part;
    }

    static void add(Affine& sum, std::int32_t depth, std::int64_t coefficient) {
        const auto place = std::ranges::lower_bound(sum.terms, depth, {}, &Affine::Term::depth);
        if (place != sum.terms.end() && place->depth == depth) {
            place->coefficient += coefficient;
            if (place->coefficient == 0) {
                sum.terms.erase(place);
            }
        } else {
            sum.terms.insert(place, {.depth = depth, .coefficient = coefficient});
        }
    }

    static void split(Position& at, std::int64_t part, std::int64_t parts) {
        at.instance.base = at.instance.base * parts + at.offset.base / part;
        for (Affine::Term& term : at.instance.terms) {
            term.coefficient *= parts;
        }
        at.offset.base %= part;
        for (const Affine::Term& term : at.offset.terms) {
            if (term.coefficient % part == 0) {
                add(at.instance, term.depth, term.coefficient / part);
            }
        }
        std::erase_if(at.offset.terms,
                      [part](const Affine::Term& term) { return term.coefficient % part == 0; });
    }

    Program program_;
    std::vector<std::int64_t> parts_;   ///< By site: elements of a part; 0: it stays whole.
    std::vector<std::int64_t> counts_;  ///< Of the open loops.
};

}  // namespace

Program split_blocks(Program program, const std::vector<bool>& sites) {
    return Splitter(std::move(program), sites).run();
}

}  // namespace trnsim::lowering
