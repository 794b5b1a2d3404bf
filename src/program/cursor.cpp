// SPDX-License-Identifier: Apache-2.0
// The walk over a program's executed steps.
#include "trnsim/program/cursor.hpp"

#include <array>
#include <tuple>

namespace trnsim::program {

Cursor::Cursor(const Program& program, Direction direction) : direction_(direction) {
    flatten(program);
    gather_terms(program);
    iterations_.resize(static_cast<std::size_t>(program.max_depth));
    position_ = direction == Direction::Forward ? 0 : nodes_.size();
}

void Cursor::flatten(const Program& program) {
    std::vector<std::size_t> open;
    for (std::uint32_t number = 0; number < program.nodes.size(); ++number) {
        const Node& node = program.nodes[number];
        FlatNode flat{.kind = node.kind, .node = number, .index = node.index};
        if (node.kind == Node::Kind::Run) {
            flat.first = static_cast<std::uint32_t>(at_.size());
            flat.size = static_cast<std::uint32_t>(program.runs[node.index].at.size());
            for (const Position& position : program.runs[node.index].at) {
                at_.push_back({.instance = position.instance.base,
                               .offset = position.offset.base,
                               .partition = position.partition.base});
            }
        } else if (node.kind == Node::Kind::Loop) {
            flat.count = program.loops[node.index].count;
            open.push_back(nodes_.size());
        } else if (node.kind == Node::Kind::End) {
            const std::size_t loop = open.back();
            open.pop_back();
            if (loop + 1 == nodes_.size()) {
                nodes_.pop_back();
                continue;
            }
            flat.count = nodes_[loop].count;
            flat.match = static_cast<std::uint32_t>(loop);
            nodes_[loop].match = static_cast<std::uint32_t>(nodes_.size());
        }
        nodes_.push_back(flat);
    }
}

void Cursor::gather_terms(const Program& program) {
    constexpr std::array kMembers{
        std::pair{&Position::instance, &Step::At::instance},
        std::pair{&Position::offset, &Step::At::offset},
        std::pair{&Position::partition, &Step::At::partition},
    };
    std::vector<std::vector<FlatTerm>> of_loop(nodes_.size());
    std::vector<std::size_t> open;
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
        const FlatNode& flat = nodes_[place];
        if (flat.kind == Node::Kind::Loop) {
            open.push_back(place);
        } else if (flat.kind == Node::Kind::End) {
            open.pop_back();
        } else if (flat.kind == Node::Kind::Run) {
            for (std::uint32_t i = 0; i < flat.size; ++i) {
                for (const auto& [affine, member] : kMembers) {
                    for (const auto& term : (program.runs[flat.index].at[i].*affine).terms) {
                        of_loop[open[static_cast<std::size_t>(term.depth)]].push_back(
                            {member, flat.first + i, term.coefficient});
                    }
                }
            }
        }
    }
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
        FlatNode& flat = nodes_[place];
        if (flat.kind == Node::Kind::Loop) {
            flat.first = static_cast<std::uint32_t>(terms_.size());
            flat.size = static_cast<std::uint32_t>(of_loop[place].size());
            terms_.insert(terms_.end(), of_loop[place].begin(), of_loop[place].end());
            nodes_[flat.match].first = flat.first;
            nodes_[flat.match].size = flat.size;
        }
    }
}

const Step* Cursor::next() {
    return direction_ == Direction::Forward ? next_forward() : next_backward();
}

const Step* Cursor::next_forward() {
    while (position_ < nodes_.size()) {
        const FlatNode& flat = nodes_[position_];
        ++position_;
        if (flat.kind == Node::Kind::Loop) {
            iterations_[depth_] = 0;
            ++depth_;
        } else if (flat.kind != Node::Kind::End) {
            return yield(flat);
        } else if (++iterations_[depth_ - 1] < flat.count) {
            advance(flat, 1);
            position_ = flat.match + 1U;
        } else {
            advance(flat, 1 - flat.count);
            --depth_;
        }
    }
    return nullptr;
}

const Step* Cursor::next_backward() {
    while (position_ > 0) {
        --position_;
        const FlatNode& flat = nodes_[position_];
        if (flat.kind == Node::Kind::End) {
            iterations_[depth_] = flat.count - 1;
            ++depth_;
            advance(flat, flat.count - 1);
        } else if (flat.kind != Node::Kind::Loop) {
            return yield(flat);
        } else if (--iterations_[depth_ - 1] >= 0) {
            advance(flat, -1);
            position_ = flat.match;
        } else {
            --depth_;
        }
    }
    return nullptr;
}

const Step* Cursor::yield(const FlatNode& flat) {
    step_.is_alloc = flat.kind == Node::Kind::Alloc;
    step_.node = flat.node;
    step_.run = flat.index;
    step_.at = {at_.data() + flat.first, flat.size};
    step_.iterations = {iterations_.data(), depth_};
    return &step_;
}

void Cursor::advance(const FlatNode& loop, std::int64_t iterations) {
    for (std::uint32_t i = loop.first; i < loop.first + loop.size; ++i) {
        const FlatTerm& term = terms_[i];
        at_[term.at].*term.member += iterations * term.coefficient;
    }
}

}  // namespace trnsim::program
