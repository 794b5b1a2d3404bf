// SPDX-License-Identifier: Apache-2.0
// Do two accesses meet?
#include "trnsim/lowering/dependencies/region.hpp"

#include "trnsim/base/rounding.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace trnsim::lowering {
namespace {

/// Whether bases and runs keep two regions apart whatever the counts of their outer pairs are: all
/// runs of either begin at the same place within pieces of a common divisor of their distances.
bool runs_pass_by(const Region& a, const Region& b) {
    const std::int64_t own = a.shape().run_divisor;  // Mostly the same one.
    const std::int64_t divisor =
        own == b.shape().run_divisor ? own : std::gcd(own, b.shape().run_divisor);
    if (divisor == 0) {
        return false;
    }
    const std::int64_t rest = (b.base_byte() - a.base_byte()) % divisor;
    const std::int64_t distance = rest < 0 ? rest + divisor : rest;
    return a.shape().run_bytes <= distance && distance + b.shape().run_bytes <= divisor;
}

/// Whether both have runs at one and the same distance, or a single one.
bool are_rows(const RegionShape& a, const RegionShape& b) {
    return a.run_count > 0 && b.run_count > 0 &&
           (a.run_stride == b.run_stride || a.run_count == 1 || b.run_count == 1);
}

/// Whether a run of one meets one of the other: number i of `a` and j of `b` do if i - j is in an
/// interval.
bool rows_meet(const Region& a, const Region& b) {
    const std::int64_t stride = std::max(a.shape().run_stride, b.shape().run_stride);
    const std::int64_t distance = b.begin() - a.begin();
    const std::int64_t first = floor_divide(distance - a.shape().run_bytes, stride) + 1;
    const std::int64_t last = floor_divide(distance + b.shape().run_bytes - 1, stride);
    return std::max(first, 1 - b.shape().run_count) <= std::min(last, a.shape().run_count - 1);
}

}  // namespace

RegionShape::RegionShape(const Operand& operand)
    : pattern(operand.pattern),
      partitions(operand.partitions),
      element_bytes(size_bytes(operand.dtype)),
      lowest_byte(operand.pattern.lowest() * element_bytes),
      end_byte((operand.pattern.highest() + 1) * element_bytes),
      is_dense((end_byte - lowest_byte) / element_bytes <= operand.pattern.contiguous_run()),
      run_bytes(operand.pattern.contiguous_run() * element_bytes) {
    std::int64_t inside = pattern.elements() * element_bytes;  // Of a pair and those in it.
    for (const PatternDim& dim : pattern.dims()) {
        if (inside == run_bytes) {
            break;  // They are one run.
        }
        if (dim.count > 1) {
            const std::int64_t distance = std::abs(dim.stride) * element_bytes;
            inside /= dim.count;
            if (distance > 0) {
                run_count = run_divisor == 0 ? dim.count : 0;
                run_divisor = std::gcd(run_divisor, distance);
                run_stride = distance;
            }
        }
    }
}

bool is_same_pattern(const Region& a, const Region& b) {
    return a.base_byte() == b.base_byte() &&
           (&a.shape() == &b.shape() || (a.shape().element_bytes == b.shape().element_bytes &&
                                         a.shape().pattern == b.shape().pattern));
}

bool patterns_overlap(const Region& a, const Region& b) {
    if (runs_pass_by(a, b)) {
        return false;
    }
    return are_rows(a.shape(), b.shape()) ? rows_meet(a, b)
                                          : overlap(a.shape().pattern,
                                                    a.base_byte(),
                                                    a.shape().element_bytes,
                                                    b.shape().pattern,
                                                    b.base_byte(),
                                                    b.shape().element_bytes);
}

}  // namespace trnsim::lowering
