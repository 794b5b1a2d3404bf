// SPDX-License-Identifier: Apache-2.0
// Rebuilds loops by their plans.
#include "trnsim/lowering/analysis/iteration_merging.hpp"

#include "affine_terms.hpp"
#include "loop_coalescing.hpp"
#include "loop_merge_plan.hpp"
#include "loop_rerolling.hpp"
#include "loop_tree.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace trnsim::lowering {

using program::Affine;
using program::Node;
using program::Position;
using program::Program;

namespace {

/// Where a child of a loop goes, and what its terms become.
struct Strip {
    std::int32_t depth = 0;  ///< Of the loop.
    std::int64_t strip = 1;  ///< Iterations of it that one of the new loop does.
    std::int64_t merge = 1;  ///< That one instruction does.
    bool is_inner = false;   ///< In a loop of its own over the rest.
};

/// The same place as before, in the new loops.
Affine strip_mined(const Affine& value, const Strip& strip) {
    Affine result{.base = value.base};
    for (const Affine::Term& term : value.terms) {
        if (term.depth < strip.depth) {
            add_term(result, term.depth, term.coefficient);
        } else if (term.depth > strip.depth) {
            add_term(result, term.depth + (strip.is_inner ? 1 : 0), term.coefficient);
        } else {
            add_term(result, term.depth, term.coefficient * strip.strip);
            if (strip.is_inner) {
                add_term(result, term.depth + 1, term.coefficient * strip.merge);
            }
        }
    }
    return result;
}

/// `strip` instances become one.
Affine expanded_instance(const Affine& value, const Strip& strip) {
    Affine result{.base = value.base / strip.strip};
    for (const Affine::Term& term : value.terms) {
        add_term(
            result, term.depth, term.depth == strip.depth ? 1 : term.coefficient / strip.strip);
    }
    return result;
}

/// The pattern without dimensions of one element, and of each that continues another.
AccessPattern joined(std::span<const PatternDim> dims) {
    std::vector<PatternDim> kept;
    for (const PatternDim& dim : dims) {
        if (dim.count == 1) {
            continue;
        }
        if (!kept.empty() && kept.back().stride == dim.stride * dim.count) {
            kept.back() = {.stride = dim.stride, .count = kept.back().count * dim.count};
        } else {
            kept.push_back(dim);
        }
    }
    AccessPattern pattern;
    for (const PatternDim& dim : kept) {
        pattern.push_back(dim);
    }
    return pattern;
}

/// A pattern with the iterations as one more dimension: the outermost, or inside of each of `rows`.
AccessPattern repeated(const AccessPattern& pattern, PatternDim iterations, std::int64_t rows) {
    std::vector<PatternDim> dims;
    std::span<const PatternDim> inside = pattern.dims();
    if (rows > 1) {
        const PatternDim& outer = inside.front();
        const std::int64_t of_row = outer.count / rows;
        dims.push_back({.stride = outer.stride * of_row, .count = rows});
        dims.push_back(iterations);
        dims.push_back({.stride = outer.stride, .count = of_row});
        inside = inside.subspan(1);
    } else {
        dims.push_back(iterations);
    }
    for (const PatternDim& dim : inside) {
        dims.push_back(dim);
    }
    return joined(dims);
}

class Rebuilder {
public:
    Rebuilder(Program program, const NeuronCoreSpec& core)
        : program_(std::move(program)), core_(core) {}

    Program run() {
        std::vector<LoopTree> tree = to_tree(program_.nodes);
        while (coalesce(program_, tree) || reroll(program_, tree)) {  // One lets the other.
            has_changed_ = true;
        }
        count(tree);
        for (LoopTree& item : tree) {
            visit(item, 0);
        }
        if (has_changed_) {
            program_.nodes = to_nodes(tree);
            program_.max_depth = 0;
            program_.instruction_count = instructions(tree, 0);
        }
        return std::move(program_);
    }

private:
    void count(const std::vector<LoopTree>& tree) {
        counts_.uses.resize(program_.buffers.size());
        counts_.allocs.resize(program_.buffers.size());
        for (const LoopTree& item : tree) {
            if (item.is_alloc()) {
                ++counts_.allocs[item.index];
            } else if (item.is_run()) {
                const auto instruction = program_.runs[item.index].instruction;
                for (const Operand& operand : program_.templates[instruction].operands) {
                    ++counts_.uses[operand.buffer];
                }
            }
            count(item.body);
        }
    }

    std::int64_t instructions(const std::vector<LoopTree>& tree, std::int32_t depth) {
        program_.max_depth = std::max(program_.max_depth, depth);
        std::int64_t sum = 0;
        for (const LoopTree& item : tree) {
            sum += item.is_run() ? 1 : 0;
            if (item.is_loop()) {
                sum += program_.loops[item.index].count * instructions(item.body, depth + 1);
            }
        }
        return sum;
    }

    /// What a loop around it keeps in order stays apart.
    void visit(LoopTree& item, std::int32_t depth) {
        if (!item.is_loop() || program_.loops[item.index].is_in_order) {
            return;
        }
        for (LoopTree& inner : item.body) {
            visit(inner, depth + 1);
        }
        if (const auto plan = plan_merge(program_, counts_, core_, item, depth)) {
            rebuild(item, depth, *plan);
            has_changed_ = true;
        }
    }

    void rebuild(LoopTree& loop, std::int32_t depth, const LoopMergePlan& plan) {
        std::vector<LoopTree> old = std::exchange(loop.body, {});
        const program::Loop source = program_.loops[loop.index];
        loop.index = new_loop(source, source.count / plan.strip);
        for (const std::uint32_t site : plan.expanded) {
            loop.body.push_back({.kind = Node::Kind::Alloc, .index = site});
        }
        std::int64_t factor = plan.strip;  // Of the part that is being filled.
        std::vector<LoopTree> waiting;     // Allocs before their first use.
        for (std::size_t child = 0; child < old.size(); ++child) {
            LoopTree& item = old[child];
            if (item.is_alloc()) {
                if (!plan.expanded.contains(item.index)) {
                    waiting.push_back(std::move(item));
                }
                continue;
            }
            const std::int64_t merge = plan.merge[child];
            const bool is_inner = merge < plan.strip;
            if (is_inner && factor != merge) {
                loop.body.push_back(
                    {.kind = Node::Kind::Loop, .index = new_loop(source, plan.strip / merge)});
            }
            factor = merge;
            std::vector<LoopTree>& to = is_inner ? loop.body.back().body : loop.body;
            if (merge == 1) {
                std::ranges::move(waiting, std::back_inserter(to));
                waiting.clear();
            }
            rewrite(item,
                    {.depth = depth, .strip = plan.strip, .merge = merge, .is_inner = is_inner},
                    plan);
            to.push_back(std::move(item));
        }
        if (!waiting.empty()) {  // Of tiles that nobody uses.
            loop.body.push_back({.kind = Node::Kind::Loop,
                                 .index = new_loop(source, plan.strip),
                                 .body = std::move(waiting)});
        }
        for (const std::uint32_t site : plan.expanded) {
            program::Buffer& buffer = program_.buffers[site];
            buffer.shape = {buffer.shape.front(), plan.strip * buffer.free_elements()};
        }
    }

    std::uint32_t new_loop(program::Loop loop, std::int64_t count) {
        loop.count = count;
        program_.loops.push_back(std::move(loop));
        return static_cast<std::uint32_t>(program_.loops.size() - 1);
    }

    void rewrite(LoopTree& item, const Strip& strip, const LoopMergePlan& plan) {
        for (LoopTree& inner : item.body) {
            rewrite(inner, strip, plan);
        }
        if (!item.is_run()) {
            return;
        }
        program::Run run = program_.runs[item.index];
        InstructionTemplate instruction = program_.templates[run.instruction];
        const std::int64_t rows = rows_of(instruction);
        for (std::size_t i = 0; i < run.at.size(); ++i) {
            Operand& operand = instruction.operands[i];
            Position& at = run.at[i];
            std::int64_t step = coefficient(at.offset, strip.depth);
            const bool is_expanded = plan.expanded.contains(operand.buffer);
            at.partition = strip_mined(at.partition, strip);
            at.offset = strip_mined(at.offset, strip);
            if (is_expanded) {
                step = program_.buffers[operand.buffer].free_elements();
                at.instance = expanded_instance(at.instance, strip);
                add_term(at.offset, strip.depth + 1, strip.is_inner ? step * strip.merge : 0);
            } else {
                at.instance = strip_mined(at.instance, strip);
            }
            if (strip.merge > 1 && !is_broadcast(instruction, operand)) {
                operand.pattern = repeated(operand.pattern,
                                           {.stride = step, .count = strip.merge},
                                           operand.space == Space::Hbm ? rows : 1);
            }
        }
        if (strip.merge > 1) {
            program_.templates.push_back(std::move(instruction));
            run.instruction = static_cast<std::uint32_t>(program_.templates.size() - 1);
        }
        program_.runs.push_back(std::move(run));
        item.index = static_cast<std::uint32_t>(program_.runs.size() - 1);
    }

    Program program_;
    const NeuronCoreSpec& core_;
    BufferCounts counts_;
    bool has_changed_ = false;
};

}  // namespace

Program IterationMerging::apply(Program program) const {
    return Rebuilder(std::move(program), core_).run();
}

}  // namespace trnsim::lowering
