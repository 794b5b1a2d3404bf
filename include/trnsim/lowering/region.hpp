// SPDX-License-Identifier: Apache-2.0
// The bytes of a tile or tensor that an access touches.
#pragma once

#include "trnsim/isa/access_pattern.hpp"
#include "trnsim/isa/instruction.hpp"

#include <cstdint>

namespace trnsim::lowering {

/// The part of a region that does not change from one execution to the next.
struct RegionShape {
    explicit RegionShape(const Operand& operand);

    AccessPattern pattern;
    std::int32_t partitions = 1;
    std::int32_t element_bytes = 1;
    std::int64_t lowest_byte = 0;  ///< Relative to the base.
    std::int64_t end_byte = 0;     ///< One past the highest.
    bool is_dense = true;          ///< Every byte between them is touched.
    std::int64_t run_bytes = 0;    ///< Of each of its unit-stride runs.
    std::int64_t run_divisor = 0;  ///< Of the distances between them, in bytes; 0: there is one.
};

/// Bytes that an access touches: the same in each of its partitions.
struct Region {
    const RegionShape* shape = nullptr;  ///< Not owned.
    std::int32_t partition = 0;
    std::int64_t base_byte = 0;

    [[nodiscard]] std::int64_t begin() const { return base_byte + shape->lowest_byte; }
    [[nodiscard]] std::int64_t end() const { return base_byte + shape->end_byte; }
};

/// overlap() where one region has gaps and their spans have a byte in common.
[[nodiscard]] bool patterns_overlap(const Region& a, const Region& b);

/// Whether two regions of the same memory have a byte in common; exact up to AccessPattern's bound.
[[nodiscard]] inline bool overlap(const Region& a, const Region& b) {
    return a.begin() < b.end() && b.begin() < a.end() &&
           a.partition < b.partition + b.shape->partitions &&
           b.partition < a.partition + a.shape->partitions &&
           ((a.shape->is_dense && b.shape->is_dense) || patterns_overlap(a, b));
}

/// Whether every byte of `inner` is certainly in `outer`.
[[nodiscard]] inline bool contains(const Region& outer, const Region& inner) {
    return outer.begin() <= inner.begin() && inner.end() <= outer.end() &&
           outer.partition <= inner.partition &&
           inner.partition + inner.shape->partitions <= outer.partition + outer.shape->partitions &&
           (outer.shape->is_dense ||
            (outer.shape->pattern == inner.shape->pattern && outer.base_byte == inner.base_byte &&
             outer.shape->element_bytes == inner.shape->element_bytes));
}

}  // namespace trnsim::lowering
