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
};

/// Bytes that an access touches: the same in each of its partitions.
struct Region {
    const RegionShape* shape = nullptr;  ///< Not owned.
    std::int32_t partition = 0;
    std::int64_t base_byte = 0;

    [[nodiscard]] std::int64_t begin() const { return base_byte + shape->lowest_byte; }
    [[nodiscard]] std::int64_t end() const { return base_byte + shape->end_byte; }
};

/// Whether two regions of the same memory have a byte in common; exact up to AccessPattern's bound.
[[nodiscard]] bool overlap(const Region& a, const Region& b);

/// Whether every byte of `inner` is certainly in `outer`.
[[nodiscard]] bool contains(const Region& outer, const Region& inner);

}  // namespace trnsim::lowering
