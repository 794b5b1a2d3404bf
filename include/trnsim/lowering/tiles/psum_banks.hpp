// SPDX-License-Identifier: Apache-2.0
// Which banks of PSUM some bytes lie in, and how many bytes of them a tile takes.
#pragma once

#include "trnsim/base/rounding.hpp"
#include "trnsim/neuron_core/sbuf_spec.hpp"

#include <bit>
#include <cstdint>

namespace trnsim::lowering {

/// A bit for each bank that holds one of the bytes [begin, end) of a partition.
[[nodiscard]] inline std::uint64_t banks_of(const PsumSpec& psum,
                                            std::int64_t begin,
                                            std::int64_t end) {
    std::uint64_t banks = 0;
    for (std::int64_t bank = begin / psum.bank_bytes; bank * psum.bank_bytes < end; ++bank) {
        banks |= std::uint64_t{1} << bank;
    }
    return banks;
}

/// Whether one matmul may write the bytes [begin, end): v2 and v3 keep its result in one bank.
[[nodiscard]] inline bool takes_matmul(const PsumSpec& psum, std::int64_t begin, std::int64_t end) {
    return psum.matmul_spans_banks || std::popcount(banks_of(psum, begin, end)) <= 1;
}

/// Bytes of a tile that shares its bank: powers of two, so that none crosses into another; whole
/// banks of one that is larger.
[[nodiscard]] inline std::int64_t part_of_bank(const PsumSpec& psum, std::int64_t bytes) {
    return bytes >= psum.bank_bytes
               ? round_up(bytes, psum.bank_bytes)
               : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)));
}

}  // namespace trnsim::lowering
