// SPDX-License-Identifier: Apache-2.0
// First iterations.
#include "loop_rerolling.hpp"

#include "affine_terms.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

namespace trnsim::lowering {

using program::Affine;
using program::Loop;
using program::Position;
using program::Program;
using program::Run;

namespace {

/// The value `back` iterations before the first one of the loop at `depth`, outside of that loop.
Affine before_first(const Affine& value, std::int32_t depth, std::int64_t back) {
    Affine result{.base = value.base};
    for (const Affine::Term& term : value.terms) {
        if (term.depth == depth) {
            result.base -= back * term.coefficient;
        } else {
            add_term(result, term.depth - (term.depth > depth ? 1 : 0), term.coefficient);
        }
    }
    return result;
}

/// The value where the loop at `depth` begins so many iterations earlier.
void begin_earlier(Affine& value, std::int32_t depth, std::int64_t iterations) {
    value.base -= iterations * coefficient(value, depth);
}

class Rerolling {
public:
    explicit Rerolling(Program& program) : program_(program) {}

    bool visit(std::vector<LoopTree>& items, std::int32_t depth) {
        bool has_changed = false;
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (!items[i].is_loop()) {
                continue;
            }
            has_changed = visit(items[i].body, depth + 1) || has_changed;
            const Loop& loop = program_.loops[items[i].index];
            if (loop.kind != program::LoopKind::Affine || loop.is_in_order) {
                continue;
            }
            std::size_t first = i;
            std::int64_t count = 0;
            while (const auto earlier =
                       iteration_before(items, items[i].body, first, depth, count + 1)) {
                first = *earlier;
                ++count;
            }
            if (count > 0) {
                i = take_in(items, first, i, depth, count);
                has_changed = true;
            }
        }
        return has_changed;
    }

private:
    /// Where the iteration of a loop begins that ends at `end` and comes `back` before its first.
    [[nodiscard]] std::optional<std::size_t> iteration_before(const std::vector<LoopTree>& items,
                                                              const std::vector<LoopTree>& body,
                                                              std::size_t end,
                                                              std::int32_t depth,
                                                              std::int64_t back) const {
        std::size_t at = end;
        for (std::size_t left = body.size(); left > 0; --left) {
            while (at > 0 && is_for_all(items[at - 1], body)) {
                --at;
            }
            if (at == 0 || !is_iteration_before(items[at - 1], body[left - 1], depth, back)) {
                return std::nullopt;
            }
            --at;
        }
        return body.empty() ? std::nullopt : std::optional(at);
    }

    /// An alloc that the iterations of a loop do not have.
    static bool is_for_all(const LoopTree& item, const std::vector<LoopTree>& body) {
        return item.is_alloc() && std::ranges::none_of(body, [&](const LoopTree& other) {
                   return other.is_alloc() && other.index == item.index;
               });
    }

    /// Whether an item before the loop at `depth` does what one of its body would do `back`
    /// iterations before the first.
    [[nodiscard]] bool is_iteration_before(const LoopTree& item,
                                           const LoopTree& of_body,
                                           std::int32_t depth,
                                           std::int64_t back) const {
        if (item.kind != of_body.kind) {
            return false;
        }
        if (item.is_alloc()) {
            return item.index == of_body.index;
        }
        if (item.is_run()) {
            return is_run_before(
                program_.runs[item.index], program_.runs[of_body.index], depth, back);
        }
        const Loop& loop = program_.loops[item.index];
        const Loop& inner = program_.loops[of_body.index];
        return loop.kind == inner.kind && loop.count == inner.count &&
               loop.is_in_order == inner.is_in_order &&
               std::ranges::equal(
                   item.body, of_body.body, [&](const LoopTree& a, const LoopTree& b) {
                       return is_iteration_before(a, b, depth, back);
                   });
    }

    static bool is_run_before(const Run& run,
                              const Run& of_body,
                              std::int32_t depth,
                              std::int64_t back) {
        return run.instruction == of_body.instruction && !run.has_edges() && !of_body.has_edges() &&
               run.value.has_value() == of_body.value.has_value() &&
               (!run.value || *run.value == before_first(*of_body.value, depth, back)) &&
               std::ranges::equal(run.at, of_body.at, [&](const Position& a, const Position& b) {
                   return a.partition == before_first(b.partition, depth, back) &&
                          a.offset == before_first(b.offset, depth, back) &&
                          a.instance == before_first(b.instance, depth, back);
               });
    }

    /// Makes items[first, loop) the first iterations of the loop; returns where that is then.
    std::size_t take_in(std::vector<LoopTree>& items,
                        std::size_t first,
                        std::size_t loop,
                        std::int32_t depth,
                        std::int64_t iterations) {
        const std::vector<LoopTree> body = items[loop].body;
        const auto begin = items.begin() + static_cast<std::ptrdiff_t>(first);
        const auto end = items.begin() + static_cast<std::ptrdiff_t>(loop);
        begin_earlier(items[loop], depth, iterations);
        Loop longer = program_.loops[items[loop].index];
        longer.count += iterations;
        program_.loops.push_back(std::move(longer));
        items[loop].index = static_cast<std::uint32_t>(program_.loops.size() - 1);
        const auto kept = std::stable_partition(
            begin, end, [&](const LoopTree& item) { return is_for_all(item, body); });
        return static_cast<std::size_t>(items.erase(kept, end) - items.begin());
    }

    void begin_earlier(const LoopTree& item, std::int32_t depth, std::int64_t iterations) {
        if (item.is_run()) {
            Run& run = program_.runs[item.index];
            if (run.value) {
                lowering::begin_earlier(*run.value, depth, iterations);
            }
            for (Position& at : run.at) {
                lowering::begin_earlier(at.partition, depth, iterations);
                lowering::begin_earlier(at.offset, depth, iterations);
                lowering::begin_earlier(at.instance, depth, iterations);
            }
        }
        for (const LoopTree& inner : item.body) {
            begin_earlier(inner, depth, iterations);
        }
    }

    Program& program_;
};

}  // namespace

bool reroll(Program& program, std::vector<LoopTree>& tree) {
    return Rerolling(program).visit(tree, 0);
}

}  // namespace trnsim::lowering
