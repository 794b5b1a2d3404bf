# SPDX-License-Identifier: Apache-2.0
# nki.isa: operations of the gpsimd engine.
"""iota, affine_select, gathers, partition reductions. [NKI-ISA]"""

from __future__ import annotations

from math import prod
from typing import Any
from collections.abc import Sequence

from trnsim.errors import IllegalInstruction
from trnsim.frontend import source
from trnsim.frontend.legality.gpsimd import GATHER_PARTITIONS
from trnsim.frontend.nki import enums
from trnsim.frontend.nki.issue import NkiInstruction, issue, not_a_tensor
from trnsim.frontend.nki.parameters import check_int32, check_number, check_same_type
from trnsim.frontend.operators import COMPARISONS, alu, operator_name
from trnsim.frontend.records.tensor import View
from trnsim.frontend.shapes import whole_number

_any = enums.engine.unknown
PATTERN_MAX = 4
"""Dimensions of the affine pattern of iota and affine_select."""


def _check_pattern(op: str, dst: Any, pattern: Any, offset: Any, multiplier: Any) -> None:
    """The affine function, of integers of 32 bits; an offset may be a register's or a tensor's."""
    if not isinstance(dst, View):
        raise not_a_tensor(op, "dst", dst)
    try:
        counts = [whole_number(pair[1], "a count of pattern") for pair in pattern]
    except (TypeError, IndexError):
        raise IllegalInstruction(f"{source.here()}: {op}: pattern is {pattern!r}, but must be a "
                                 "list of [step, count], one for each dimension") from None
    for step, _ in pattern:
        check_int32(op, "a step of pattern", step)
    check_int32(op, "channel_multiplier", multiplier)
    if isinstance(offset, (int, float)):
        check_int32(op, "offset", offset)
    if len(counts) > PATTERN_MAX or prod(counts) != dst.form.free_elements:
        raise IllegalInstruction(
            f"{source.here()}: {op}: pattern {[list(pair) for pair in pattern]} has {prod(counts)} "
            f"elements in {len(counts)} dimensions, but dst has {dst.form.free_elements} elements "
            f"per partition and at most {PATTERN_MAX} dimensions are allowed; make them equal")


def iota(dst: Any, pattern: Sequence[Sequence[int]], offset: int = 0, channel_multiplier: int = 0,
         name: str | None = None) -> NkiInstruction:
    """dst = an affine function of its indices."""
    _check_pattern("iota", dst, pattern, offset, channel_multiplier)
    return issue("iota", (("dst", "write", dst),), {}, _any,
                 (pattern, offset, channel_multiplier))


def affine_select(dst: Any, pattern: Sequence[Sequence[int]], channel_multiplier: int,
                  on_true_tile: Any, on_false_value: Any, cmp_op: Any = "equal", offset: int = 0,
                  name: str | None = None) -> NkiInstruction:
    """dst = on_true_tile where an affine function of the indices compares to 0, else a constant."""
    _check_pattern("affine_select", dst, pattern, offset, channel_multiplier)
    check_number("affine_select", "on_false_value", on_false_value)
    if operator_name(cmp_op) not in COMPARISONS:
        raise IllegalInstruction(f"{source.here()}: affine_select: cmp_op {operator_name(cmp_op)} "
                                 f"does not compare; use one of {', '.join(COMPARISONS)}")
    return issue("affine_select", (("dst", "write", dst), ("data", "read", on_true_tile)), {},
                 _any, (pattern, offset, channel_multiplier, on_false_value, cmp_op))


def local_gather(dst: Any, src_buffer: Any, index: Any, num_elem_per_idx: int = 1,
                 num_valid_indices: int | None = None, name: str | None = None) -> NkiInstruction:
    """dst = elements of src_buffer by index; 16 partitions share their indices."""
    if not isinstance(index, View):
        raise not_a_tensor("local_gather", "index", index)
    indices = index.form.free_elements * GATHER_PARTITIONS
    if num_valid_indices is not None:
        indices = whole_number(num_valid_indices, "num_valid_indices")
    return issue("local_gather", (("dst", "write", dst), ("data", "read", src_buffer),
                                  ("index", "read", index)),
                 {"elements_per_index": whole_number(num_elem_per_idx, "num_elem_per_idx"),
                  "indices": indices})


def nc_n_gather(dst: Any, data: Any, indices: Any, name: str | None = None) -> NkiInstruction:
    """dst = elements of data by index, in each partition."""
    if not isinstance(dst, View):
        raise not_a_tensor("nc_n_gather", "dst", dst)
    check_same_type("nc_n_gather", data=data, dst=dst)
    return issue("nc_n_gather", (("dst", "write", dst), ("data", "read", data),
                                 ("index", "read", indices)),
                 {"elements_per_index": 1, "indices": dst.form.free_elements})


def tensor_partition_reduce(dst: Any, op: Any, data: Any,
                            name: str | None = None) -> NkiInstruction:
    """dst = the reduction of data over its partitions."""
    return issue("tensor_partition_reduce", (("dst", "write", dst), ("data", "read", data)),
                 {"op": alu(op, "op", ("average",))})


def sequence_bounds(dst: Any, segment_ids: Any, name: str | None = None) -> NkiInstruction:
    """dst = start and end of each element's segment."""
    return issue("sequence_bounds", (("dst", "write", dst), ("data", "read", segment_ids)), {})


def topk(val_dst: Any, idx_dst: Any, src: Any, n: int, sorted: bool = False,
         name: str | None = None) -> NkiInstruction:
    """val_dst, idx_dst = the largest elements of the first n of src, and where they are."""
    operands = (("dst", "write", val_dst), ("data", "read", src), ("dst_index", "write", idx_dst))
    for role, _, view in operands:
        if not isinstance(view, View):
            raise not_a_tensor("topk", role, view)
    count, n = val_dst.form.free_elements, whole_number(n, "n of topk")
    if not 8 <= n < 65536 or not count <= n <= src.form.free_elements * GATHER_PARTITIONS:
        raise IllegalInstruction(
            f"{source.here()}: topk: {count} of n = {n} elements, but n is 8 to 65535, at least "
            f"as many as are wanted, and src holds {src.form.free_elements * GATHER_PARTITIONS}")
    return issue("topk", operands, {"k": count, "n": n},
                 immediates=(bool(sorted),))


def nonzero_with_count(dst: Any, src: Any, index_offset: int = 0, padding_val: int = -1,
                       name: str | None = None) -> NkiInstruction:
    """dst = the indices of the non-zero elements and their number."""
    for name_, value in (("index_offset", index_offset), ("padding_val", padding_val)):
        check_int32("nonzero_with_count", name_, value)
    return issue("nonzero_with_count", (("dst", "write", dst), ("data", "read", src)), {}, _any,
                 (index_offset, padding_val))
