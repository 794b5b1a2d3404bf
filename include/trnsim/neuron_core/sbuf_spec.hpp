// SPDX-License-Identifier: Apache-2.0
// Immutable numbers of the two on-chip memories.
#pragma once

#include <cstdint>

namespace trnsim {

/// State Buffer: software-managed SRAM of 128 partitions. An innermost stride up to
/// full_rate_stride_bytes costs nothing, from half_rate_stride_bytes on an element takes twice as
/// long; between them the cost rises linearly.
struct SbufSpec {
    std::int64_t partitions = 128;
    std::int64_t partition_kib = 192;
    std::int64_t usable_partition_kib = 176;  ///< What a compiler may allocate of it.
    bool vector_gpsimd_exclusive = false;     ///< v2: the two never access SBUF at the same time.
    bool fast_modes_share_bus = false;  ///< v3/v4: VectorE fast modes share a bus with GpSimd.
    std::int64_t full_rate_stride_bytes = 16;  ///< Longest innermost stride at full rate.
    std::int64_t half_rate_stride_bytes = 17;  ///< Shortest innermost stride at half rate.
};

/// Partial Sum Buffer: accumulators behind the PE array.
struct PsumSpec {
    std::int64_t partitions = 128;
    std::int64_t banks = 8;
    std::int64_t bank_bytes = 2048;        ///< Per partition.
    bool vector_scalar_exclusive = false;  ///< v2: the two never access PSUM at the same time.
    bool same_bank_halves_rate = false;    ///< v3/v4: two readers of one bank alternate.
    bool matmul_spans_banks = false;       ///< v4: one matmul may write more than one bank.
};

}  // namespace trnsim
