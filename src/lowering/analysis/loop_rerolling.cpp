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
            Earlier earlier{.first = i};
            while (const auto more = with_one_more(items, i, depth, earlier)) {
                earlier = *more;
            }
            if (earlier.iterations > 0) {
                i = take_in(items, i, depth, earlier);
                has_changed = true;
            }
        }
        return has_changed;
    }

private:
    /// Iterations of a loop that stand before it.
    struct Earlier {
        std::size_t first = 0;  ///< Item.
        std::int64_t iterations = 0;
    };

    /// With the iteration, or the loop over some, that stands before those.
    [[nodiscard]] std::optional<Earlier> with_one_more(const std::vector<LoopTree>& items,
                                                       std::size_t loop,
                                                       std::int32_t depth,
                                                       const Earlier& known) const {
        const auto one_before = [&](const Affine& value) {
            return before_first(value, depth, known.iterations + 1);
        };
        const std::vector<LoopTree>& body = items[loop].body;
        if (const auto first = begin_of(items, body, known.first, one_before)) {
            return Earlier{.first = *first, .iterations = known.iterations + 1};
        }
        const std::size_t end = without_allocs_for_all(items, body, known.first);
        if (end == 0 || !items[end - 1].is_loop()) {
            return std::nullopt;
        }
        Loop some = program_.loops[items[loop].index];
        some.count = program_.loops[items[end - 1].index].count;
        const std::int64_t iterations = known.iterations + some.count;
        const auto so_many_before = [&](Affine value) {
            lowering::begin_earlier(value, depth, iterations);
            return value;
        };
        if (!is_loop_before(items[end - 1], some, body, so_many_before)) {
            return std::nullopt;
        }
        return Earlier{.first = end - 1, .iterations = iterations};
    }

    /// Where what does the same as the steps of `body` begins that ends at `end`, if all numbers
    /// there are `earlier`.
    template <typename OfValue>
    [[nodiscard]] std::optional<std::size_t> begin_of(const std::vector<LoopTree>& items,
                                                      const std::vector<LoopTree>& body,
                                                      std::size_t end,
                                                      const OfValue& earlier) const {
        std::size_t at = end;
        for (std::size_t left = body.size(); left > 0; --left) {
            at = without_allocs_for_all(items, body, at);
            if (at == 0 || !is_before(items[at - 1], body[left - 1], earlier)) {
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

    static std::size_t without_allocs_for_all(const std::vector<LoopTree>& items,
                                              const std::vector<LoopTree>& body,
                                              std::size_t end) {
        while (end > 0 && is_for_all(items[end - 1], body)) {
            --end;
        }
        return end;
    }

    /// Whether an item does what one of a body would do if all its numbers were `earlier`.
    template <typename OfValue>
    [[nodiscard]] bool is_before(const LoopTree& item,
                                 const LoopTree& of_body,
                                 const OfValue& earlier) const {
        if (item.kind != of_body.kind) {
            return false;
        }
        if (item.is_alloc()) {
            return item.index == of_body.index;
        }
        if (item.is_run()) {
            return is_run_before(program_.runs[item.index], program_.runs[of_body.index], earlier);
        }
        return is_loop_before(item, program_.loops[of_body.index], of_body.body, earlier);
    }

    template <typename OfValue>
    [[nodiscard]] bool is_loop_before(const LoopTree& item,
                                      const Loop& of_body,
                                      const std::vector<LoopTree>& body,
                                      const OfValue& earlier) const {
        const Loop& loop = program_.loops[item.index];
        return loop.kind == of_body.kind && loop.count == of_body.count &&
               loop.is_in_order == of_body.is_in_order &&
               std::ranges::equal(item.body, body, [&](const LoopTree& a, const LoopTree& b) {
                   return is_before(a, b, earlier);
               });
    }

    template <typename OfValue>
    static bool is_run_before(const Run& run, const Run& of_body, const OfValue& earlier) {
        return run.instruction == of_body.instruction && !run.has_edges() && !of_body.has_edges() &&
               run.value.has_value() == of_body.value.has_value() &&
               (!run.value || *run.value == earlier(*of_body.value)) &&
               std::ranges::equal(run.at, of_body.at, [&](const Position& a, const Position& b) {
                   return a.partition == earlier(b.partition) && a.offset == earlier(b.offset) &&
                          a.instance == earlier(b.instance);
               });
    }

    /// Makes what stands before a loop its first iterations; returns where the loop is then.
    std::size_t take_in(std::vector<LoopTree>& items,
                        std::size_t loop,
                        std::int32_t depth,
                        const Earlier& earlier) {
        const std::vector<LoopTree> body = items[loop].body;
        const auto begin = items.begin() + static_cast<std::ptrdiff_t>(earlier.first);
        const auto end = items.begin() + static_cast<std::ptrdiff_t>(loop);
        begin_earlier(items[loop], depth, earlier.iterations);
        Loop longer = program_.loops[items[loop].index];
        longer.count += earlier.iterations;
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
