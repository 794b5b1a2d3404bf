// SPDX-License-Identifier: Apache-2.0
// The fields of the Vector Engine.
#include "field.hpp"

namespace trnsim::spec {
namespace {

constexpr Range kRate{0.01, 64};
constexpr auto kRateUnit = "elements/cycle";

void list_copies(FieldList& list, VectorEngineSpec& spec) {
    list.number("copy_rate_16bit",
                spec.copy_rate_16bit,
                kRateUnit,
                kRate,
                "tensor_copy and tensor_scalar, SBUF to SBUF, BF16/FP16 to BF16/FP16, contiguous.");
    list.number("copy_rate_16bit_strided",
                spec.copy_rate_16bit_strided,
                kRateUnit,
                kRate,
                "The same, not contiguous.");
    list.number("copy_rate_16bit_psum",
                spec.copy_rate_16bit_psum,
                kRateUnit,
                kRate,
                "The same, contiguous, with one side in PSUM.");
    list.number("copy_rate_32bit",
                spec.copy_rate_32bit,
                kRateUnit,
                kRate,
                "tensor_copy and tensor_scalar, SBUF to SBUF, other types.");
    list.number("copy_rate_upcast",
                spec.copy_rate_upcast,
                kRateUnit,
                kRate,
                "The same where the result is wider than the source.");
    list.number("copy_rate_8bit_result",
                spec.copy_rate_8bit_result,
                kRateUnit,
                kRate,
                "The same from a 32-bit source to an 8-bit result.");
    list.flag("fp8_counts_as_16bit",
              spec.fp8_counts_as_16bit,
              "Whether FP8 takes part in the 16-bit modes.");
}

void list_tensors(FieldList& list, VectorEngineSpec& spec) {
    list.number("tensor_tensor_sbuf",
                spec.tensor_tensor_sbuf,
                kCostUnit,
                kCost,
                "tensor_tensor and scalar_tensor_tensor, both inputs in SBUF.");
    list.number("tensor_tensor_sbuf_16bit",
                spec.tensor_tensor_sbuf_16bit,
                kCostUnit,
                kCost,
                "The same with inputs and result BF16 or FP16.");
    list.flag("tensor_tensor_16bit_restricted",
              spec.tensor_tensor_16bit_restricted,
              "Whether the above needs contiguous BF16 and add, subtract or multiply.");
    list.number("tensor_tensor_psum",
                spec.tensor_tensor_psum,
                kCostUnit,
                kCost,
                "tensor_tensor and scalar_tensor_tensor, one input in PSUM.");
    list.number("reduce",
                spec.reduce,
                kCostUnit,
                kCost,
                "tensor_reduce and tensor_scalar_reduce, per input element.");
    list.number("reduce_16bit",
                spec.reduce_16bit,
                kCostUnit,
                kCost,
                "tensor_reduce add or max, BF16 to BF16.");
    list.number("cumulative", spec.cumulative, kCostUnit, kCost, "tensor_scalar_cumulative.");
    list.number("scan", spec.scan, kCostUnit, kCost, "tensor_tensor_scan.");
    list.number("copy_predicated_sbuf",
                spec.copy_predicated_sbuf,
                kCostUnit,
                kCost,
                "tensor_copy_predicated, source and predicate in SBUF.");
    list.number("copy_predicated_psum",
                spec.copy_predicated_psum,
                kCostUnit,
                kCost,
                "tensor_copy_predicated, source or predicate in PSUM.");
    list.number("copy_predicated_scalar",
                spec.copy_predicated_scalar,
                kCostUnit,
                kCost,
                "tensor_copy_predicated with a constant source.");
    list.number("select",
                spec.select,
                kCostUnit,
                kCost,
                "select_reduce, range_select, nc_stream_shuffle, max8, nc_find_index8, "
                "nc_match_replace8.");
}

void list_others(FieldList& list, VectorEngineSpec& spec) {
    list.number("reciprocal", spec.reciprocal, kCostUnit, kCost, "reciprocal.");
    list.number("exponential", spec.exponential, kCostUnit, kCost, "exponential.");
    list.number("memset", spec.memset, kCostUnit, kCost, "memset.");
    list.number("memset_zero_16bit",
                spec.memset_zero_16bit,
                kCostUnit,
                kCost,
                "memset of BF16/FP16 to zero.");
    list.number("bn_stats", spec.bn_stats, kCostUnit, kCost, "bn_stats.");
    list.number("bn_aggr", spec.bn_aggr, kCostUnit, kCost, "bn_aggr.");
    list.number(
        "quantize_mx", spec.quantize_mx, kCostUnit, kCost, "quantize_mx, per input element.");
    list.number("random", spec.random, kCostUnit, kCost, "rng and dropout.");
    list.number("random_xorwow", spec.random_xorwow, kCostUnit, kCost, "rand2.");
}

void list_extras(FieldList& list, VectorEngineSpec& spec) {
    list.number("memset_completion_cycles",
                spec.memset_completion_cycles,
                "cycles",
                kCycles,
                "Completion overhead of memset.");
    list.number("top8_extra_cycles",
                spec.top8_extra_cycles,
                "cycles",
                kCycles,
                "Added to the completion of max8, nc_find_index8 and nc_match_replace8.");
    list.number("accumulator_readout_cycles",
                spec.accumulator_readout_cycles,
                "cycles",
                kCycles,
                "Added by a reduce_result.");
    list.number("shuffle_mask_load_cycles",
                spec.shuffle_mask_load_cycles,
                "cycles",
                kCycles,
                "LOAD_MASK_SELECT before a shuffle with another mask.");
    list.number("transpose_interval_cycles",
                spec.transpose_interval_cycles,
                "cycles",
                kCycles,
                "Initiation interval of a 32x32 transpose.");
    list.number("transpose_regroup_cycles",
                spec.transpose_regroup_cycles,
                "cycles",
                kCycles,
                "The same where its partition quadrants differ from the previous instruction's.");
    list.number("transpose_completion_cycles",
                spec.transpose_completion_cycles,
                "cycles",
                kCycles,
                "Issue of a 32x32 transpose to its result.");
}

}  // namespace

void list_fields(FieldList& list, VectorEngineSpec& spec) {
    list.number("clock_ghz", spec.clock_ghz, "GHz", {0.1, 10}, "Clock of the Vector Engine.");
    list.number("issue_overhead_cycles",
                spec.issue_overhead_cycles,
                "cycles",
                kCycles,
                "Fixed part of an instruction's initiation interval.");
    list.number("completion_overhead_cycles",
                spec.completion_overhead_cycles,
                "cycles",
                kCycles,
                "Fixed part of the time from issue to the result.");
    list.number("vector_operand_cycles",
                spec.vector_operand_cycles,
                "cycles",
                kCycles,
                "Added by every operand that is one value per partition.");
    list_copies(list, spec);
    list_tensors(list, spec);
    list_others(list, spec);
    list_extras(list, spec);
}

}  // namespace trnsim::spec
