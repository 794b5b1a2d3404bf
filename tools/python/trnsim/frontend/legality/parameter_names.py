# SPDX-License-Identifier: Apache-2.0
# What programs call the operands of the trace's operations.
"""The parameter behind a role, for messages. Both APIs have the same. [NKI-ISA] [NKI-ISA-2.26]"""

from __future__ import annotations

_EVERYWHERE = {"reduce_result": "reduce_res"}
_OF_OPERATIONS: dict[str, dict[str, str]] = {
    "tensor_copy": {"data": "src"},
    "tensor_scalar": {"initial": "reduce_init"},
    "tensor_scalar_reduce": {"initial": "reduce_init"},
    "tensor_scalar_cumulative": {"data": "src", "operand0": "imm0", "operand1": "imm1"},
    "tensor_tensor_scan": {"data1": "data0", "data2": "data1"},
    "tensor_copy_predicated": {"data": "src"},
    "range_select": {"data": "on_true_tile"},
    "exponential": {"data": "src", "initial": "reduce_init"},
    "activate2": {"operand0": "imm0", "operand1": "imm1"},
    "max8": {"data": "src"},
    "nc_find_index8": {"values": "vals"},
    "nc_match_replace8": {"values": "vals", "dst_index": "dst_idx"},
    "nc_stream_shuffle": {"data": "src"},
    "dropout": {"operand0": "prob"},
    "rand2": {"operand0": "min", "operand1": "max"},
    "rand_set_state": {"data": "src_seeds"},
    "set_rng_seed": {"data": "src_seeds"},
    "quantize_mx": {"data": "src"},
    "affine_select": {"data": "on_true_tile"},
    "local_gather": {"data": "src_buffer"},
    "nc_n_gather": {"index": "indices"},
    "sequence_bounds": {"data": "segment_ids"},
    "nonzero_with_count": {"data": "src"},
    "topk": {"dst": "val_dst", "data": "src", "dst_index": "idx_dst"},
    "core_barrier": {"dst": "data"},
    "register_load": {"data": "src"},
}


def called(op: str, role: str) -> str:
    """The parameter of an operation that becomes an operand with this role."""
    return _OF_OPERATIONS.get(op, {}).get(role) or _EVERYWHERE.get(role, role)
