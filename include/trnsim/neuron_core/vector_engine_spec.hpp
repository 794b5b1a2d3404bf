// SPDX-License-Identifier: Apache-2.0
// Immutable numbers of one Vector Engine.
#pragma once

#include "trnsim/base/units.hpp"

namespace trnsim {

/// One Vector Engine. An instruction of N elements per partition occupies it for
/// issue_overhead + vector_operand x k + cycles_per_element x N, and its result is visible after
/// completion_overhead instead of issue_overhead; k counts [P,1] operands.
struct VectorEngineSpec {
    Gigahertz clock_ghz{0.96};
    Cycles issue_overhead_cycles{64};
    Cycles completion_overhead_cycles{150};
    Cycles vector_operand_cycles{58};

    // Elements per cycle of tensor_copy and tensor_scalar by the fast modes.
    double copy_rate_16bit = 1.0;          ///< SBUF to SBUF, BF16/FP16, contiguous ("4x").
    double copy_rate_16bit_strided = 1.0;  ///< The same, not contiguous ("2x").
    double copy_rate_16bit_psum = 1.0;     ///< BF16/FP16 contiguous with one side in PSUM ("2x").
    double copy_rate_32bit = 1.0;          ///< SBUF to SBUF, any other pair of types.
    double copy_rate_upcast = 1.0;         ///< SBUF to SBUF, the result wider than the source.
    double copy_rate_8bit_result = 1.0;    ///< SBUF to SBUF, 32-bit source and 8-bit result.
    bool fp8_counts_as_16bit = false;      ///< FP8 takes part in the 16-bit modes (v4).

    // Cycles per element of the rest.
    double tensor_tensor_sbuf = 1.0;        ///< Both inputs in SBUF.
    double tensor_tensor_sbuf_16bit = 1.0;  ///< Both inputs in SBUF and all three BF16/FP16.
    bool tensor_tensor_16bit_restricted =
        false;                        ///< The above needs add, subtract or multiply (v2).
    double tensor_tensor_psum = 1.0;  ///< One input in PSUM.
    double reduce = 1.0;
    double reduce_16bit = 1.0;  ///< BF16 to BF16 add or max.
    double cumulative = 1.0;    ///< tensor_scalar_cumulative.
    double scan = 2.0;
    double reciprocal = 8.0;
    double memset = 1.0;
    double memset_zero_16bit = 1.0;
    Cycles memset_completion_cycles{100};  ///< Instead of completion_overhead.
    double copy_predicated_sbuf = 2.0;     ///< Source and predicate in SBUF.
    double copy_predicated_psum = 1.0;     ///< One of them in PSUM.
    double copy_predicated_scalar = 1.0;   ///< Constant source.
    double bn_stats = 1.0;
    double bn_aggr = 13.0 / 3.0;
    double exponential = 1.0;               ///< v4.
    double quantize_mx = 1.0;               ///< v4; input elements.
    double random = 1.0;                    ///< rng, dropout.
    double random_xorwow = 1.0;             ///< rand2 (v4).
    double select = 1.0;                    ///< select_reduce, range_select, shuffle, top 8.
    Cycles top8_extra_cycles{8};            ///< max8, nc_find_index8, nc_match_replace8.
    Cycles accumulator_readout_cycles{64};  ///< reduce_result of tensor_scalar_reduce and the like.
    Cycles shuffle_mask_load_cycles{12};    ///< LOAD_MASK_SELECT when the mask changes.
    Cycles transpose_interval_cycles{89};   ///< 32x32 STREAM_TRANSPOSE, steady.
    Cycles transpose_regroup_cycles{225};   ///< When the quadrant pair changes.
    Cycles transpose_completion_cycles{224};
};

}  // namespace trnsim
