# SPDX-License-Identifier: Apache-2.0
# Functions of nl that take several instructions, and the makers of those that take one.
"""nl functions above the element-wise ones. [NKI-LANGUAGE-2.26]

The functions made here carry `operator_name`, so that `op=nl.add` names the operator.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, prod
from typing import Any

from trnsim.errors import IllegalInstruction, ProgramError
from trnsim.frontend import operators, source
from trnsim.frontend.dtypes import bool_, float32, int32
from trnsim.frontend.legacy import isa_dma, isa_gpsimd
from trnsim.frontend.legacy.broadcast import broadcast_to
from trnsim.frontend.legacy.elementwise import binary, is_number, kind_of, reciprocal, unary
from trnsim.frontend.legacy.emit import (as_tile, dropped, flush, fresh, issue, mask_bounds,
                                         produce, produce_clipped, produce_per_row, result_dtype)
from trnsim.frontend.legacy.keywords import ignored
from trnsim.frontend.legacy.mask import EMPTY, rectangle
from trnsim.frontend.legacy.matmul import matmul_tile
from trnsim.frontend.legacy.reductions import reduce
from trnsim.frontend.legacy.tensor import Tensor, release
from trnsim.frontend.legacy.transfer import copy, in_sbuf, load
from trnsim.frontend.nki.elementwise import REMAINDERS
from trnsim.frontend.recorder import required
from trnsim.frontend.records.tensor import HBM, PSUM, SBUF

_ROWS = 128  # That one transpose takes. [NKI-ISA]
_TILES = ("x", "y", "src")


def named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The public function of an operator, usable as `op=` too; extra arguments are accepted."""
    def operator(*arguments: Any, dtype: Any = None, mask: Any = None, **others: Any) -> Any:
        tiles = {key: others.pop(key) for key in _TILES if key in others} if others else {}
        ignored(others, name)
        return function(*arguments, dtype=dtype, mask=mask, **tiles)
    function.__name__ = function.__qualname__ = name
    operator.operator_name = name  # type: ignore[attr-defined]
    operator.__doc__ = function.__doc__
    return _public(operator, name)


def _public(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    return operators.named(function, name, "trnsim.frontend.legacy.language")


def binary_function(name: str) -> Callable[..., Any]:
    """The public function of a binary operator."""
    def operator(x: Any, y: Any, dtype: Any = None, mask: Any = None, **others: Any) -> Any:
        ignored(others, name)
        return binary(name, x, y, dtype=dtype, mask=mask)
    operator.operator_name = name  # type: ignore[attr-defined]
    operator.__doc__ = f"{name} of two tiles, or of a tile and a number."
    return _public(operator, name)


def unary_function(name: str) -> Callable[..., Any]:
    """The public function of an activation function."""
    def function(x: Any, *, dtype: Any = None, mask: Any = None) -> Any:
        return unary(name, x, dtype=dtype, mask=mask)
    function.__doc__ = f"{name} of a tile."
    return named(function, name)


def reduction(name: str, operator: str, kind: Any = None) -> Callable[..., Any]:
    """The public function of a reduction; its results are of type `kind`, or the operand's."""
    def function(x: Any, axis: Any, *, dtype: Any = kind, mask: Any = None,
                 keepdims: bool = False, **others: Any) -> Tensor:
        ignored(others, name)
        return reduce(operator, x, axis, dtype=dtype, mask=mask, keepdims=keepdims)
    function.operator_name = operator  # type: ignore[attr-defined]
    function.__doc__ = f"{name} of a tile over free axes."
    return _public(function, name)


def with_constant(name: str, operator: str, constant: float) -> Callable[..., Any]:
    """A unary operator that is a binary one with a constant."""
    def function(x: Any, *, dtype: Any = None, mask: Any = None) -> Any:
        kind = kind_of(operator, dtype, as_tile(x, f"x of nl.{name}").dtype)
        return binary(operator, x, constant, dtype=kind, mask=mask)
    function.__doc__ = f"{name} of a tile, by {operator} with a constant."
    return named(function, name)


def invert(x: Any, *, dtype: Any = None, mask: Any = None) -> Any:
    """Every bit flipped. Those of truth values are bytes, so that they stay true."""
    tile = as_tile(x, "x of nl.invert")
    if tile.dtype is bool_:
        required().note("warning", "~ and nl.invert flip all bits of a truth value, which stays "
                                   "true, as NKI's known issues say; use nl.logical_not")
    return binary("bitwise_xor", tile, -1, dtype=tile.dtype if dtype is None else dtype, mask=mask)


def cosine(x: Any, *, dtype: Any = None, mask: Any = None) -> Any:
    """cos(x) as the sine of x + pi / 2."""
    shifted = flush(binary("add", x, pi / 2.0, dtype=float32, mask=mask))
    return unary("sin", shifted, dtype=dtype or x.dtype, mask=mask)


def tangent(x: Any, *, dtype: Any = None, mask: Any = None) -> Any:
    """tan(x) as sin(x) / cos(x)."""
    flush(x)
    inverse = flush(reciprocal(flush(cosine(x, dtype=float32, mask=mask)), mask=mask))
    sine = flush(unary("sin", x, dtype=float32, mask=mask))
    return binary("multiply", sine, inverse, dtype=dtype or x.dtype, mask=mask)


def rounding(name: str) -> Callable[..., Any]:
    """floor, ceil, trunc: x less a remainder, in one instruction."""
    operator, number = REMAINDERS[name]

    def function(x: Any, *, dtype: Any = None, mask: Any = None) -> Any:
        tile = flush(as_tile(x, f"x of nl.{name}"))
        if tile.space == PSUM:
            tile = flush(copy(tile, mask=mask))
        return produce("scalar_tensor_tensor", [("data", "read", tile), ("operand1", "read", tile)],
                       {"op0": operator, "op1": "subtract"}, tile.shape,
                       result_dtype(dtype, tile.dtype), mask=mask,
                       immediates=(number, False, True))
    function.__doc__ = f"{name} of a tile."
    return named(function, name)


def transpose(x: Any, *, dtype: Any = None, mask: Any = None, **others: Any) -> Tensor:
    """The transposed tile in SBUF: through PSUM by the tensor engine, then a copy."""
    ignored(others)
    tile = in_sbuf(as_tile(x, "x of nl.transpose"))
    if len(tile.shape) != 2:
        raise ProgramError(f"{source.here()}: nl.transpose of a tile with {len(tile.shape)} axes, "
                           "but it has two; reshape it")
    release(tile)
    kind, bounds = result_dtype(dtype, tile.dtype), rectangle("nl.transpose", mask, tile.shape)
    if bounds is None:
        return copy(flush(transpose_to_psum(tile)), dtype=kind)
    if bounds == EMPTY:
        return dropped((tile.shape[1], tile.shape[0]), kind, SBUF)
    turned = flush(transpose_to_psum(tile.clipped(bounds)))
    return produce_clipped("tensor_copy", [("data", "read", turned)], {},
                           (tile.shape[1], tile.shape[0]), kind, (bounds[::-1], None))


def transpose_to_psum(tile: Tensor) -> Tensor:
    """The transposed tile as the tensor engine leaves it."""
    return produce("nc_transpose", [("data", "read", tile)], {}, (tile.shape[1], tile.shape[0]),
                   tile.dtype, space=PSUM)


def matmul(x: Any, y: Any, *, transpose_x: bool = False, mask: Any = None, **others: Any) -> Tensor:
    """x @ y, or x.T @ y, in PSUM. An x that is not transposed yet is, first."""
    ignored(others)
    left = in_sbuf(as_tile(x, "x of nl.matmul"))
    release(left)
    right = in_sbuf(as_tile(y, "y of nl.matmul"))
    release(right)
    kind = _common_width(left, right)
    if not transpose_x:
        left = flush(transpose(left, dtype=kind))
    return matmul_tile(_as(left, kind), _as(right, kind), {}, mask=mask)


def _common_width(left: Tensor, right: Tensor) -> Any:
    """The type of the narrower operand if only one has 32 bits, which the engine does not mix."""
    widths = (left.dtype.itemsize, right.dtype.itemsize)
    if (widths[0] == 4) == (widths[1] == 4):
        return None
    required().note("assumption", f"nl.matmul of {left.dtype} and {right.dtype}: the 32-bit "
                                  "operand is converted to the type of the other")
    return left.dtype if widths[0] < 4 else right.dtype


def _as(tile: Tensor, kind: Any) -> Tensor:
    return tile if kind is None or tile.dtype.itemsize < 4 else flush(copy(tile, dtype=kind))


def load_transpose2d(src: Any, *, mask: Any = None, dtype: Any = None, **others: Any) -> Tensor:
    """A tile in SBUF with a matrix in HBM transposed.

    As neuronx-cc does it: by the DMA engines if its elements have 2 bytes or fewer, else loaded in
    blocks of rows that the tensor engine transposes. [KDA]
    """
    ignored(others)
    data = as_tile(src, "src of nl.load_transpose2d", spaces=(HBM,))
    if data.indices is not None:
        raise IllegalInstruction(f"{source.here()}: nl.load_transpose2d: src is indexed by a tile, "
                                 "but only nl.load and nisa.dma_copy gather; load it, and use "
                                 "nl.transpose")
    if data.dtype.itemsize < 4 or len(data.shape) != 2 or mask is not None:
        return isa_dma.dma_transpose(data, dtype=dtype, mask=mask)
    rows, columns = data.shape
    if rows <= _ROWS:
        return transpose(load(data), dtype=dtype)
    result = fresh((columns, rows), result_dtype(dtype, data.dtype))
    for first in range(0, rows, _ROWS):
        last = min(first + _ROWS, rows)
        turned = flush(transpose_to_psum(flush(load(data[first:last, 0:columns]))))
        issue("tensor_copy", [("dst", "write", result[0:columns, first:last]),
                              ("data", "read", turned)], {})
    return result


def gather_flattened(data: Any, indices: Any, *, mask: Any = None, dtype: Any = None,
                     **others: Any) -> Tensor:
    """Elements by index along the free axes of each partition."""
    ignored(others)
    tile = as_tile(data, "data of nl.gather_flattened", spaces=(SBUF,))
    index = as_tile(indices, "indices of nl.gather_flattened", spaces=(SBUF,))
    bounds = mask_bounds(mask, index.shape)
    count = index.form.free_elements if not bounds else prod(size for _, size in bounds[1:])
    return produce_per_row("nc_n_gather", [("data", "read", tile), ("index", "read", index)],
                           {"elements_per_index": 1, "indices": count}, index.shape,
                           result_dtype(dtype, tile.dtype), masked=index, bounds=bounds)


def atomic_rmw(dst: Any, value: Any, op: Any, *, mask: Any = None, **others: Any) -> None:
    """dst = dst op value in HBM, by the DMA engines."""
    ignored(others)
    target = as_tile(dst, "dst of nl.atomic_rmw", spaces=(HBM,))
    if is_number(value):
        value = produce("memset", (), {"value": float(value)}, target.shape, target.dtype)
    tile = flush(in_sbuf(as_tile(value, "value of nl.atomic_rmw")))
    isa_dma.read_modify_write("op of nl.atomic_rmw", op, target, tile, mask, {})


def dropout(x: Any, rate: Any, dtype: Any, mask: Any) -> Tensor:
    """The tile with elements zeroed at random; a rate tile of one element is repeated."""
    if not is_number(rate):
        tile = as_tile(x, "x of nl.dropout")
        release(tile)
        vector = as_tile(rate, "rate of nl.dropout")
        if vector.shape[0] != tile.shape[0]:
            rate = broadcast_to(vector, (tile.shape[0], 1))
    return isa_gpsimd.dropout(x, rate, dtype=dtype, mask=mask)


def random_seed(seed: Any) -> None:
    """Seeds the vector engine's random numbers."""
    if is_number(seed):
        seed = produce("memset", (), {"value": float(seed)}, (1, 1), int32)
    tile = flush(as_tile(seed, "seed of nl.random_seed"))
    issue("set_rng_seed", [("data", "read", tile)], {})
