# SPDX-License-Identifier: Apache-2.0
# Element-wise operations of the 0.1 dialect: which instruction each of them is.
"""Binary and unary operations on tiles.

Two tiles are a tensor_tensor, a tile and a number or one value per partition a tensor_scalar, a
function an activation. A tile with one partition is repeated over those of the other first.
[NKI-LANGUAGE-2.26]
"""

from __future__ import annotations

from typing import Any

from trnsim.errors import ProgramError, UserError
from trnsim.frontend import source
from trnsim.frontend.dtypes import DType, bool_, float32
from trnsim.frontend.legacy.blocks import Blocks
from trnsim.frontend.legacy.broadcast import broadcast_partitions
from trnsim.frontend.legacy.emit import (Role, as_tile, broadcast_free, is_vector, issue,
                                         no_broadcast, produce, promoted, result_dtype,
                                         type_of_number)
from trnsim.frontend.legacy.index import Index, as_integer
from trnsim.frontend.legacy.tensor import Tensor, release
from trnsim.frontend.legacy.transfer import in_sbuf
from trnsim.frontend.nki.parameters import check_bits
from trnsim.frontend.operators import COMPARISONS, LOGICAL
from trnsim.frontend.records.tensor import PSUM, Shape

_TRUTH = frozenset((*COMPARISONS, *LOGICAL))
_COMMUTATIVE = frozenset(("add", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or",
                          "bitwise_xor", "equal", "not_equal", "logical_and", "logical_or",
                          "logical_xor"))
_SWAPPED = {"less": "greater", "greater": "less", "less_equal": "greater_equal",
            "greater_equal": "less_equal"}


def is_number(value: Any) -> bool:
    """Whether an operand is a constant of the instruction."""
    if isinstance(value, (Tensor, Blocks, Index)):
        return False
    if as_integer(value) is not None:
        return True
    return hasattr(value, "__float__") and getattr(value, "size", 1) == 1


def require_number(value: Any, what: str, allowed: str) -> None:
    """UserError if `what` is no constant of the instruction. The index of a loop stays one."""
    if not is_number(value):
        raise UserError(f"{source.here()}: {what} is {type(value).__name__}, but must be {allowed}")


def binary(op: str, x: Any, y: Any, *, dtype: Any = None, mask: Any = None,
           dst: Tensor | None = None) -> Any:
    """`x op y`, element by element, into a fresh tile or `dst`."""
    if is_number(x) and is_number(y):
        raise ProgramError(f"{source.here()}: nl.{op} of two numbers; at least one must be a tile")
    if is_number(y):
        return _with_number(op, as_tile(x, f"x of nl.{op}"), y, False, dtype, mask, dst)
    if is_number(x):
        return _with_number(op, as_tile(y, f"y of nl.{op}"), x, True, dtype, mask, dst)
    a, b = as_tile(x, f"x of nl.{op}"), as_tile(y, f"y of nl.{op}")
    a, b = _same_partitions(a, b)
    kind = kind_of(op, dtype, promoted(a.dtype, b.dtype))
    if a.shape != b.shape:
        swapped = is_vector(a, b.shape[0]) and not is_vector(b, a.shape[0])
        if swapped or is_vector(b, a.shape[0]):
            tile, vector = (b, a) if swapped else (a, b)
            return _tensor_scalar(op, tile, vector, swapped, kind, mask, dst)
    shape = dst.shape if dst is not None else _common(a.shape, b.shape)
    if a.form.space == PSUM and b.form.space == PSUM and a is not dst:
        a = in_sbuf(a)
    elif a.form.space == PSUM and b.form.space == PSUM:
        b = in_sbuf(b)
    operands = [("data1", "read", _fitted(a, shape)), ("data2", "read", _fitted(b, shape))]
    return _done("tensor_tensor", operands, {"op": op}, shape, kind, mask, dst)


def _same_partitions(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Repeats the one tile that has a single partition."""
    if a.shape[0] != b.shape[0] and 1 in (a.shape[0], b.shape[0]):
        release(a)
        release(b)
        if a.shape[0] == 1:
            a = broadcast_partitions(a, b.shape[0])
        else:
            b = broadcast_partitions(b, a.shape[0])
    return a, b


def _common(a: Shape, b: Shape) -> Shape:
    if a == b:
        return a
    if len(a) != len(b) or any(m != n and 1 not in (m, n) for m, n in zip(a, b)):
        raise no_broadcast(b, a)
    return tuple(max(m, n) for m, n in zip(a, b))


def _fitted(tile: Tensor, shape: Shape) -> Tensor:
    """The tile as an operand of an instruction whose dst has `shape`."""
    if tile.shape == shape:
        return tile
    if tile.shape[0] != shape[0]:
        raise no_broadcast(tile.shape, shape)
    fitted = broadcast_free(tile, shape)
    fitted.excess = tile.excess
    return fitted


def kind_of(op: str, dtype: Any, default: DType) -> DType:
    """The type of a result: truth values, fractions of divided integers, else the default."""
    if op == "divide":
        default = fraction(default)
    return result_dtype(dtype, bool_ if op in _TRUTH else default)


def fraction(kind: DType) -> DType:
    """What a division of numbers of that type makes, as in numpy."""
    return kind if kind.is_float else float32


def _with_number(op: str, tile: Tensor, number: Any, swapped: bool, dtype: Any, mask: Any,
                 dst: Tensor | None) -> Any:
    kind = kind_of(op, dtype, promoted(tile.dtype, type_of_number(number)))
    return _tensor_scalar(op, tile, number, swapped, kind, mask, dst)


def _tensor_scalar(op: str, tile: Tensor, operand: Any, swapped: bool, kind: DType, mask: Any,
                   dst: Tensor | None) -> Any:
    """`tile op operand`; swapped, a comparison is mirrored, and others have a reverse flag."""
    operands: list[Role] = [("data", "read", tile)]
    check_bits(op, "an operand", operand, op)
    if isinstance(operand, Tensor):
        operand = as_vector(operand)
        operands.append(("operand0", "read", operand))
    operator = _SWAPPED.get(op, op) if swapped else op
    return _done("tensor_scalar", operands, {"op0": operator}, tile.shape, kind, mask, dst,
                 (operand, swapped and op not in _SWAPPED))


def as_vector(tile: Tensor) -> Tensor:
    """A tile with one value per partition as `[P, 1]`."""
    return tile if len(tile.shape) == 2 else tile.reshape((tile.shape[0], 1))


def _done(op: str, operands: list[Role], attributes: dict[str, Any], shape: Shape, kind: DType,
          mask: Any, dst: Tensor | None, immediates: tuple[Any, ...] = ()) -> Any:
    if dst is None:
        return produce(op, operands, attributes, shape, kind, mask=mask, immediates=immediates)
    for _, _, operand in operands:
        release(operand)
    issue(op, [("dst", "write", dst), *operands], attributes, mask=mask, immediates=immediates)
    return dst


def unary(function: str, x: Any, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """A function of the scalar engine, element by element."""
    tile = as_tile(x, f"x of nl.{function}")
    return produce("activation", [("data", "read", tile)], {"function": function}, tile.shape,
                   result_dtype(dtype, tile.dtype), mask=mask)


def reciprocal(x: Any, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """1 / x on the vector engine."""
    tile = as_tile(x, "x of nl.reciprocal")
    return produce("reciprocal", [("data", "read", tile)], {}, tile.shape,
                   result_dtype(dtype, fraction(tile.dtype)), mask=mask)


def divide(x: Any, y: Any, *, dtype: Any = None, mask: Any = None) -> Any:
    """x / y: by a number a tensor_scalar; a number by a tile a reciprocal and a product."""
    if is_number(x) and not is_number(y):
        tile = as_tile(y, "y of nl.divide")
        kind = kind_of("divide", dtype, promoted(tile.dtype, type_of_number(x)))
        if float(x) == 1.0:
            return reciprocal(tile, dtype=kind, mask=mask)
        inverse = reciprocal(tile, dtype=fraction(kind), mask=mask)
        return binary("multiply", inverse, x, dtype=kind, mask=mask)
    return binary("divide", x, y, dtype=dtype, mask=mask)
