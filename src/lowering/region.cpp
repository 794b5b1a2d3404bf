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

bool patterns_overlap(const Region& a, const Region& b) {
    return overlap(a.shape->pattern,
                   a.base_byte,
                   a.shape->element_bytes,
                   b.shape->pattern,
                   b.base_byte,
                   b.shape->element_bytes);
}

}  // namespace trnsim::lowering
