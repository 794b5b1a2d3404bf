// SPDX-License-Identifier: Apache-2.0
// Terms in order of depth.
#include "affine_terms.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace trnsim::lowering {

using program::Affine;

namespace {

/// Terms of the loops around `depth`.
std::vector<Affine::Term> outer_terms(const Affine& value, std::int32_t depth) {
    std::vector<Affine::Term> terms;
    std::ranges::copy_if(value.terms, std::back_inserter(terms), [depth](const Affine::Term& term) {
        return term.depth < depth;
    });
    return terms;
}

}  // namespace

std::int64_t coefficient(const Affine& value, std::int32_t depth) {
    for (const Affine::Term& term : value.terms) {
        if (term.depth == depth) {
            return term.coefficient;
        }
    }
    return 0;
}

bool has_inner_terms(const Affine& value, std::int32_t depth) {
    return std::ranges::any_of(value.terms,
                               [depth](const Affine::Term& term) { return term.depth > depth; });
}

bool same_base(const Affine& a, const Affine& b, std::int32_t depth) {
    return a.base == b.base && outer_terms(a, depth) == outer_terms(b, depth) &&
           coefficient(a, depth) == coefficient(b, depth);
}

void add_term(Affine& value, std::int32_t depth, std::int64_t coefficient) {
    if (coefficient == 0) {
        return;
    }
    const auto place = std::ranges::find_if(
        value.terms, [depth](const Affine::Term& term) { return term.depth >= depth; });
    if (place != value.terms.end() && place->depth == depth) {
        place->coefficient += coefficient;
        if (place->coefficient == 0) {
            value.terms.erase(place);
        }
    } else {
        value.terms.insert(place, {.depth = depth, .coefficient = coefficient});
    }
}

}  // namespace trnsim::lowering
