// SPDX-License-Identifier: Apache-2.0
// Extent and contiguity of access patterns.
#include "trnsim/isa/access_pattern.hpp"

#include <algorithm>
#include <cassert>

namespace trnsim {

AccessPattern::AccessPattern(std::initializer_list<PatternDim> dims) {
    for (const PatternDim& dim : dims) {
        push_back(dim);
    }
}

void AccessPattern::push_back(PatternDim dim) {
    assert(rank_ < kMaxRank);
    dims_[static_cast<std::size_t>(rank_)] = dim;
    ++rank_;
}

std::int64_t AccessPattern::elements() const {
    std::int64_t product = 1;
    for (const PatternDim& dim : dims()) {
        product *= dim.count;
    }
    return product;
}

std::int64_t AccessPattern::lowest() const {
    std::int64_t sum = 0;
    for (const PatternDim& dim : dims()) {
        sum += std::min<std::int64_t>(dim.stride, 0) * (dim.count - 1);
    }
    return sum;
}

std::int64_t AccessPattern::highest() const {
    std::int64_t sum = 0;
    for (const PatternDim& dim : dims()) {
        sum += std::max<std::int64_t>(dim.stride, 0) * (dim.count - 1);
    }
    return sum;
}

std::int64_t AccessPattern::innermost_stride() const {
    for (int i = rank_ - 1; i >= 0; --i) {
        const PatternDim& dim = dims_[static_cast<std::size_t>(i)];
        if (dim.count > 1) {
            return dim.stride;
        }
    }
    return 1;
}

std::int64_t AccessPattern::contiguous_run() const {
    std::int64_t run = 1;
    for (int i = rank_ - 1; i >= 0; --i) {
        const PatternDim& dim = dims_[static_cast<std::size_t>(i)];
        if (dim.count == 1) {
            continue;
        }
        if (dim.stride != run) {
            break;
        }
        run *= dim.count;
    }
    return run;
}

bool operator==(const AccessPattern& a, const AccessPattern& b) {
    return std::ranges::equal(a.dims(), b.dims());
}

}  // namespace trnsim
