// SPDX-License-Identifier: Apache-2.0
// Two loops at a time.
#include "loop_coalescing.hpp"

#include "affine_terms.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace trnsim::lowering {

using program::Affine;
using program::Loop;
using program::Program;
using program::Run;

namespace {

/// Calls a function with every number of a run that changes from iteration to iteration.
template <typename OfRun, typename Function>
void for_each_number(OfRun& run, const Function& function) {
    for (auto& at : run.at) {
        function(at.partition);
        function(at.offset);
        function(at.instance);
    }
    if (run.value) {
        function(*run.value);
    }
    if (run.producer) {
        function(*run.producer);
    }
    for (auto& producer : run.depends_on) {
        function(producer);
    }
}

/// Without the loop at `depth`: the one inside of it counts for both.
void drop_outer(Affine& value, std::int32_t depth) {
    std::erase_if(value.terms, [depth](const Affine::Term& term) { return term.depth == depth; });
    for (Affine::Term& term : value.terms) {
        term.depth -= term.depth > depth ? 1 : 0;
    }
}

class Coalescing {
public:
    explicit Coalescing(Program& program) : program_(program) {}

    bool visit(std::vector<LoopTree>& items, std::int32_t depth) {
        bool has_changed = false;
        for (LoopTree& item : items) {
            has_changed = visit(item.body, depth + 1) || has_changed;
            if (count_as_one(item, depth)) {
                join(item, depth);
                has_changed = true;
            }
        }
        return has_changed;
    }

private:
    [[nodiscard]] bool count_as_one(const LoopTree& item, std::int32_t depth) const {
        if (!item.is_loop() || item.body.size() != 1 || !item.body.front().is_loop()) {
            return false;
        }
        const Loop& outer = program_.loops[item.index];
        const Loop& inner = program_.loops[item.body.front().index];
        return outer.kind == program::LoopKind::Affine && inner.kind == outer.kind &&
               !outer.is_in_order && !inner.is_in_order &&
               moves_on(item.body.front(), depth, inner.count);
    }

    /// Whether all numbers move in an iteration of the loop at `depth` by as much as in `count` of
    /// the one inside of it.
    [[nodiscard]] bool moves_on(const LoopTree& item,
                                std::int32_t depth,
                                std::int64_t count) const {
        bool does = std::ranges::all_of(
            item.body, [&](const LoopTree& inner) { return moves_on(inner, depth, count); });
        if (item.is_run()) {
            for_each_number(program_.runs[item.index], [&](const Affine& value) {
                does = does && coefficient(value, depth) == count * coefficient(value, depth + 1);
            });
        }
        return does;
    }

    void join(LoopTree& item, std::int32_t depth) {
        LoopTree inner = std::move(item.body.front());
        Loop both = program_.loops[item.index];
        both.count *= program_.loops[inner.index].count;
        program_.loops.push_back(std::move(both));
        item.index = static_cast<std::uint32_t>(program_.loops.size() - 1);
        item.body = std::move(inner.body);
        rewrite(item, depth);
    }

    void rewrite(const LoopTree& item, std::int32_t depth) {
        if (item.is_run()) {
            for_each_number(program_.runs[item.index],
                            [depth](Affine& value) { drop_outer(value, depth); });
        }
        for (const LoopTree& inner : item.body) {
            rewrite(inner, depth);
        }
    }

    Program& program_;
};

}  // namespace

bool coalesce(Program& program, std::vector<LoopTree>& tree) {
    return Coalescing(program).visit(tree, 0);
}

}  // namespace trnsim::lowering
