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
    std::int64_t run_stride = 0;   ///< The distance, if it is one and the same;
    std::int64_t run_count = 1;    ///< how many they are then, or else 0.
};

/// Bytes that an access touches: the same in each of its partitions.
class Region {
public:
    Region() = default;
    /// The shape is not owned. `base_byte`: of its pattern's origin.
    explicit Region(const RegionShape& shape,
                    std::int32_t partition = 0,
                    std::int64_t base_byte = 0)
        : begin_(base_byte + shape.lowest_byte),
          end_(base_byte + shape.end_byte),
          partition_(partition),
          end_partition_(partition + shape.partitions),
          shape_(&shape) {}

    [[nodiscard]] const RegionShape& shape() const { return *shape_; }
    [[nodiscard]] std::int64_t begin() const { return begin_; }
    [[nodiscard]] std::int64_t end() const { return end_; }
    [[nodiscard]] std::int64_t base_byte() const { return begin_ - shape_->lowest_byte; }
    [[nodiscard]] std::int32_t partition() const { return partition_; }
    /// One behind the last.
    [[nodiscard]] std::int32_t end_partition() const { return end_partition_; }

    /// The same region some bytes further on.
    [[nodiscard]] Region moved_by(std::int64_t bytes) const {
        return Region(*shape_, partition_, base_byte() + bytes);
    }

private:
    std::int64_t begin_ = 0;
    std::int64_t end_ = 0;
    std::int32_t partition_ = 0;
    std::int32_t end_partition_ = 0;
    const RegionShape* shape_ = nullptr;
};

/// overlap() where one region has gaps and their spans have a byte in common.
[[nodiscard]] bool patterns_overlap(const Region& a, const Region& b);

/// Whether two regions of the same memory have a byte in common; exact up to AccessPattern's bound.
[[nodiscard]] inline bool overlap(const Region& a, const Region& b) {
    return a.begin() < b.end() && b.begin() < a.end() && a.partition() < b.end_partition() &&
           b.partition() < a.end_partition() &&
           ((a.shape().is_dense && b.shape().is_dense) || patterns_overlap(a, b));
}

/// Whether two regions are the same bytes of a partition, reached in the same way.
[[nodiscard]] bool is_same_pattern(const Region& a, const Region& b);

/// Whether every byte of `inner` is certainly in `outer`.
[[nodiscard]] inline bool contains(const Region& outer, const Region& inner) {
    return outer.begin() <= inner.begin() && inner.end() <= outer.end() &&
           outer.partition() <= inner.partition() &&
           inner.end_partition() <= outer.end_partition() &&
           (outer.shape().is_dense || is_same_pattern(outer, inner));
}

}  // namespace trnsim::lowering
