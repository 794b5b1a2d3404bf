# SPDX-License-Identifier: Apache-2.0
# nki.isa of the 0.1 dialect: gpsimd, statistics, search, shuffles, random numbers.
"""The less common instructions. [NKI-ISA-2.26]"""

from __future__ import annotations

from typing import Any

from trnsim.errors import IllegalInstruction, ProgramError, UserError
from trnsim.frontend import source
from trnsim.frontend.dtypes import dtype as dtype_of
from trnsim.frontend.dtypes import float32, uint32
from trnsim.frontend.legacy.elementwise import is_number, require_number
from trnsim.frontend.legacy.emit import (Role, as_tile, produce, produce_clipped, produce_per_row,
                                         result_dtype)
from trnsim.frontend.legacy.index import ArrayIndex, Index, as_integer, values_of
from trnsim.frontend.legacy.isa_vector import into, vector
from trnsim.frontend.legacy.keywords import ignored
from trnsim.frontend.legacy.mask import Mask, rectangle
from trnsim.frontend.legacy.tensor import Tensor
from trnsim.frontend.legacy.transfer import brought_to_sbuf
from trnsim.frontend.nki.parameters import check_probability
from trnsim.frontend.operators import legacy_alu as alu
from trnsim.frontend.recorder import required
from trnsim.frontend.records.tensor import SBUF
from trnsim.frontend.shapes import sizes_of, whole_number, whole_numbers

STATISTICS, AGGREGATES, FOUND = 6, 2, 8
"""Values per partition that bn_stats, bn_aggr and max8 make. [NKI-ISA]"""
BIT_SCALE = 2.0 ** -32
"""What makes 32 random bits a number from 0 to 1."""
GATHER_PARTITIONS = 16
"""Partitions that share the indices of a gpsimd core. [NKI-ISA]"""


def iota(expr: Any, dtype: Any, *, mask: Any = None, **others: Any) -> Tensor:
    """A tile with the values of an index expression."""
    ignored(others)
    if isinstance(expr, ArrayIndex) or not isinstance(expr, Index):
        number = as_integer(expr)
        if number is None:
            raise ProgramError(f"{source.here()}: iota of {type(expr).__name__}, but the generator "
                               "takes an affine expression of nl.arange; simplify it")
        shape: tuple[int, ...] = (1, 1)
    else:
        shape = expr.shape if len(expr.shape) > 1 else (1, *expr.shape)
    return produce("iota", (), {}, shape, dtype_of(dtype), mask=mask,
                   immediates=_element_values(expr))


def affine_select(pred: Any, on_true_tile: Any, on_false_value: Any, *, mask: Any = None,
                  dtype: Any = None, **others: Any) -> Tensor:
    """on_true_tile where one affine predicate holds, else a constant."""
    ignored(others)
    tile = brought_to_sbuf(as_tile(on_true_tile, "on_true_tile of affine_select"),
                           "on_true_tile of affine_select")
    if isinstance(pred, Mask) and (pred.opaque or len(pred.predicates) != 1):
        raise IllegalInstruction(f"{source.here()}: affine_select: pred is not one comparison by "
                                 "<, <=, > or >=, which is what the engine evaluates; use nl.where")
    spans = pred.shape if isinstance(pred, (Mask, Index)) else ()
    if as_integer(pred) is None and not spans:
        raise UserError(f"{source.here()}: affine_select: pred is {type(pred).__name__}, but must "
                        "compare indices; use nl.where for tiles")
    if not is_number(on_false_value):
        raise UserError(f"{source.here()}: affine_select: on_false_value is "
                        f"{type(on_false_value).__name__}, but must be a number; use nl.where")
    if any(size not in (1, have) for size, have in zip(spans[::-1], tile.shape[::-1])):
        raise UserError(f"{source.here()}: affine_select: pred spans {list(spans)}, but "
                        f"on_true_tile is {list(tile.shape)}; the axes of both must be equal")
    return produce("affine_select", [("data", "read", tile)], {}, tile.shape,
                   result_dtype(dtype, tile.dtype), mask=mask,
                   immediates=(*_element_values(pred), 0, on_false_value))


def _element_values(expression: Any) -> tuple[Any, ...]:
    """What an index expression or a mask is for each element; only if values are computed."""
    if not required().has_values:
        return ()
    return None, values_of(True if expression is True else expression)


def bn_stats(data: Any, *, mask: Any = None, dtype: Any = None, **others: Any) -> Tensor:
    """Six statistics of each row."""
    ignored(others)
    tile = as_tile(data, "data of bn_stats")
    return _per_row("bn_stats", tile, STATISTICS, dtype, mask)


def bn_aggr(data: Any, *, mask: Any = None, dtype: Any = None, **others: Any) -> Tensor:
    """Mean and variance of each row from its statistics."""
    ignored(others)
    return _per_row("bn_aggr", as_tile(data, "data of bn_aggr"), AGGREGATES, dtype, mask)


def max8(*, src: Any, mask: Any = None, dtype: Any = None, **others: Any) -> Tensor:
    """The eight largest values of each row."""
    ignored(others)
    return _per_row("max8", as_tile(src, "src of max8"), FOUND, dtype, mask)


def _per_row(op: str, tile: Tensor, values: int, dtype: Any, mask: Any) -> Tensor:
    """An instruction that makes a few values of each row; a mask clips what is read."""
    return produce_per_row(op, [("data", "read", tile)], {}, (tile.shape[0], values),
                           result_dtype(dtype, tile.dtype), masked=tile,
                           bounds=rectangle(op, mask, tile.shape))


def nc_find_index8(*, data: Any, vals: Any, mask: Any = None, dtype: Any = None,
                   **others: Any) -> Tensor:
    """The columns of eight values in each row."""
    ignored(others)
    tile, values = as_tile(data, "data of nc_find_index8"), as_tile(vals, "vals")
    return produce_per_row(
        "nc_find_index8", [("data", "read", tile), ("values", "read", values)], {},
        (tile.shape[0], FOUND), result_dtype(dtype, uint32), masked=tile,
        bounds=rectangle("nc_find_index8", mask, tile.shape))


def nc_match_replace8(*, data: Any, vals: Any, imm: Any, dst_idx: Any = None, mask: Any = None,
                      dtype: Any = None, **others: Any) -> Tensor:
    """The data with the first match of each of eight values replaced; columns in dst_idx."""
    ignored(others)
    tile, values = as_tile(data, "data of nc_match_replace8"), as_tile(vals, "vals")
    require_number(imm, "imm of nc_match_replace8", "a number")
    operands = [("data", "read", tile), ("values", "read", values)]
    if dst_idx is not None:
        operands.append(("dst_index", "write", as_tile(dst_idx, "dst_idx of nc_match_replace8")))
    return produce_per_row("nc_match_replace8", operands, {}, tile.shape,
                           result_dtype(dtype, tile.dtype), masked=tile,
                           bounds=rectangle("nc_match_replace8", mask, tile.shape),
                           immediates=(imm,))


def nc_stream_shuffle(src: Any, dst: Any, shuffle_mask: Any, *, dtype: Any = None,
                      mask: Any = None, **others: Any) -> None:
    """dst = src with the partitions of each quadrant reordered."""
    ignored(others)
    tile = as_tile(src, "src of nc_stream_shuffle")
    into(dst, "nc_stream_shuffle", [("data", "read", tile)],
         {"mask": whole_numbers(shuffle_mask, "shuffle_mask")}, mask)


def local_gather(src_buffer: Any, index: Any, num_elem_per_idx: int = 1,
                 num_valid_indices: Any = None, *, mask: Any = None, **others: Any) -> Tensor:
    """Elements by index; 16 partitions share their indices."""
    ignored(others)
    tile, indices = as_tile(src_buffer, "src_buffer of local_gather"), as_tile(index, "index")
    columns = indices.form.free_elements
    group = whole_number(num_elem_per_idx, "num_elem_per_idx")
    count = whole_number(num_valid_indices or columns * GATHER_PARTITIONS, "num_valid_indices")
    gathered = (count,) if count % columns else (columns, count // columns)
    shape = (tile.shape[0], *gathered, group)
    if rectangle("local_gather", mask, indices.shape) is not None:
        raise IllegalInstruction(f"{source.here()}: local_gather: the mask leaves out some of the "
                                 "indices; say how many are valid with num_valid_indices")
    return produce("local_gather", [("data", "read", tile), ("index", "read", indices)],
                   {"elements_per_index": group, "indices": count}, shape, tile.dtype)


def tensor_partition_reduce(op: Any, data: Any, *, mask: Any = None, dtype: Any = None,
                            **others: Any) -> Tensor:
    """A reduction over the partitions."""
    ignored(others)
    tile = as_tile(data, "data of tensor_partition_reduce", spaces=(SBUF,))
    shape, kind = (1, *tile.shape[1:]), result_dtype(dtype, tile.dtype)
    bounds = rectangle("tensor_partition_reduce", mask, tile.shape)
    return produce_clipped("tensor_partition_reduce", [("data", "read", tile)],
                           {"op": alu(op, "op")}, shape, kind,
                           bounds and (((0, 1), *bounds[1:]), bounds))


def sequence_bounds(*, segment_ids: Any, dtype: Any = None, **others: Any) -> Tensor:
    """Start and end of each element's segment."""
    ignored(others)
    tile = as_tile(segment_ids, "segment_ids of sequence_bounds", spaces=(SBUF,))
    return produce("sequence_bounds", [("data", "read", tile)], {},
                   (tile.shape[0], 2, *tile.shape[1:]), result_dtype(dtype, tile.dtype))


def dropout(data: Any, prob: Any, *, mask: Any = None, dtype: Any = None, **others: Any) -> Tensor:
    """The data with elements zeroed at random."""
    ignored(others)
    tile = as_tile(data, "data of dropout")
    check_probability(prob)
    probability = vector("operand0", prob, tile, is_needed=True)
    return produce("dropout", [("data", "read", tile), *probability], {}, tile.shape,
                   result_dtype(dtype, tile.dtype), mask=mask, immediates=(prob,))


def random_tile(shape: Any, dtype: Any) -> Tensor:
    """Uniform random numbers: random bits, scaled."""
    bits = produce("rng", (), {}, sizes_of(shape), uint32)
    operands: list[Role] = [("data", "read", bits)]
    return produce("tensor_scalar", operands, {"op0": "multiply"}, bits.shape,
                   result_dtype(dtype, float32), immediates=(BIT_SCALE,))
