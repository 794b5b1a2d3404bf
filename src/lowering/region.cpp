// SPDX-License-Identifier: Apache-2.0
// Do two accesses meet?
#include "trnsim/lowering/region.hpp"

namespace trnsim::lowering {

RegionShape::RegionShape(const Operand& operand)
    : pattern(operand.pattern),
      partitions(operand.partitions),
      element_bytes(size_bytes(operand.dtype)),
      lowest_byte(operand.pattern.lowest() * element_bytes),
      end_byte((operand.pattern.highest() + 1) * element_bytes),
      is_dense((end_byte - lowest_byte) / element_bytes <= operand.pattern.contiguous_run()) {}

bool overlap(const Region& a, const Region& b) {
    const bool partitions_meet = a.partition < b.partition + b.shape->partitions &&
                                 b.partition < a.partition + a.shape->partitions;
    if (!partitions_meet || a.begin() >= b.end() || b.begin() >= a.end()) {
        return false;
    }
    if (a.shape->is_dense && b.shape->is_dense) {
        return true;
    }
    return overlap(a.shape->pattern,
                   a.base_byte,
                   a.shape->element_bytes,
                   b.shape->pattern,
                   b.base_byte,
                   b.shape->element_bytes);
}

bool contains(const Region& outer, const Region& inner) {
    const bool partitions_inside =
        outer.partition <= inner.partition &&
        inner.partition + inner.shape->partitions <= outer.partition + outer.shape->partitions;
    if (!partitions_inside || outer.begin() > inner.begin() || inner.end() > outer.end()) {
        return false;
    }
    return outer.shape->is_dense ||
           (outer.shape->pattern == inner.shape->pattern && outer.base_byte == inner.base_byte &&
            outer.shape->element_bytes == inner.shape->element_bytes);
}

}  // namespace trnsim::lowering
