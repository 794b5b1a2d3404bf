// SPDX-License-Identifier: Apache-2.0
// Reading affine values and bounding them.
#include "affine_reader.hpp"

#include "limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace trnsim::program {
namespace {

const Loop& loop_at(const ReaderState& state, std::size_t depth) {
    return state.program.loops[state.program.nodes[state.open_loops[depth].node].index];
}

/// The depth of the open loop of that name; their number if there is none.
std::size_t depth_of(const ReaderState& state, std::string_view index) {
    std::size_t depth = 0;
    while (depth < state.open_loops.size() && loop_at(state, depth).index != index) {
        ++depth;
    }
    return depth;
}

[[noreturn]] void fail_unknown_loop(const ReaderState& state,
                                    const JsonValue& value,
                                    std::string_view index) {
    std::vector<std::string_view> names{"base"};
    for (std::size_t depth = 0; depth < state.open_loops.size(); ++depth) {
        names.push_back(loop_at(state, depth).index);
    }
    value.fail(fmt::format("an object with {}, which is no loop around this record{}",
                           in_quotes(index),
                           suggestion(index, names)));
}

void add_coefficient(const ReaderState& state,
                     const JsonValue& value,
                     std::string_view index,
                     JsonElement element,
                     Affine& affine) {
    const std::int64_t coefficient = value.entry(element).integer(-kMaxInteger, kMaxInteger);
    const auto depth = static_cast<std::int32_t>(depth_of(state, index));
    if (depth == static_cast<std::int32_t>(state.open_loops.size())) {
        fail_unknown_loop(state, value, index);
    }
    const auto place = std::ranges::lower_bound(affine.terms, depth, {}, &Affine::Term::depth);
    if (place != affine.terms.end() && place->depth == depth) {
        value.fail(fmt::format("an object with {} twice; keep one", in_quotes(index)));
    }
    affine.terms.insert(place, {depth, coefficient});
}

/// coefficient x (count - 1), or nothing if it is beyond the reach.
bool add_reach(std::int64_t coefficient, std::int64_t count, std::int64_t& end) {
    std::int64_t last = 0;
    return !__builtin_mul_overflow(coefficient, count - 1, &last) &&
           !__builtin_add_overflow(end, last, &end) && end <= kMaxReach && end >= -kMaxReach;
}

}  // namespace

Affine read_affine(const ReaderState& state, const JsonValue& value) {
    Affine affine;
    if (!value.is_object()) {
        affine.base = value.integer(-kMaxInteger, kMaxInteger);
        return affine;
    }
    bool has_base = false;
    for (const auto [key, element] : value.object()) {
        if (key != "base") {
            add_coefficient(state, value, key, element, affine);
        } else if (has_base) {
            value.fail("an object with \"base\" twice; keep one");
        } else {
            affine.base = value.entry(element).integer(-kMaxInteger, kMaxInteger);
            has_base = true;
        }
    }
    std::erase_if(affine.terms, [](const Affine::Term& term) { return term.coefficient == 0; });
    return affine;
}

Interval interval_of(const ReaderState& state, const Affine& affine, std::string_view key) {
    Interval interval{affine.base, affine.base};
    for (const Affine::Term& term : affine.terms) {
        const std::int64_t count = loop_at(state, static_cast<std::size_t>(term.depth)).count;
        std::int64_t& end = term.coefficient < 0 ? interval.low : interval.high;
        if (!add_reach(term.coefficient, count, end)) {
            state.place.fail(fmt::format(
                "\"{}\" reaches beyond 2^56 in the last iteration; correct its coefficients", key));
        }
    }
    return interval;
}

bool is_multiple(const ReaderState& state, const Affine& affine, std::int64_t divisor) {
    return affine.base % divisor == 0 &&
           std::ranges::all_of(affine.terms, [&](const Affine::Term& term) {
               return term.coefficient % divisor == 0 ||
                      loop_at(state, static_cast<std::size_t>(term.depth)).count == 1;
           });
}

}  // namespace trnsim::program
