# SPDX-License-Identifier: Apache-2.0
# The operators of the vector and gpsimd engines.
"""ALU operators on numpy arrays. Arithmetic is in float32, comparisons give 1 and 0, bitwise
operators work on the bits of integers as they are. [NKI-SHARED]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trnsim.frontend.operators import BITVEC
from trnsim.frontend.values.casting import Array

Binary = Callable[[Array, Array], Array]

f32 = np.float32


def _abs_max(x: Array, y: Array) -> Array:
    return np.where(np.abs(x) > np.abs(y), x, y)


def _abs_min(x: Array, y: Array) -> Array:
    return np.where(np.abs(x) < np.abs(y), x, y)


def _truth(compare: Callable[..., Array]) -> Binary:
    return lambda x, y: compare(x, y).astype(np.float32)


def _logical(combine: Callable[..., Array]) -> Binary:
    return lambda x, y: combine(np.not_equal(x, 0), np.not_equal(y, 0)).astype(np.float32)


def _rsqrt(x: Array) -> Array:
    return f32(1.0) / np.sqrt(x)


def _reciprocal(x: Array) -> Array:
    return f32(1.0) / x


UNARY: dict[str, Callable[[Array], Array]] = {
    "abs": np.abs, "square": np.square, "relu": lambda x: np.maximum(x, f32(0.0)),
    "rsqrt": _rsqrt, "sqrt": np.sqrt, "reciprocal": _reciprocal, "negative": np.negative,
    "sign": np.sign, "logical_not": lambda x: np.equal(x, 0).astype(np.float32),
    "bypass": lambda x: x, "none": lambda x: x}
"""Operators of one operand; in an instruction with two, the second is ignored."""

BINARY: dict[str, Binary] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "maximum": np.maximum, "minimum": np.minimum, "power": np.power, "mod": np.mod,
    "fmod": np.fmod, "abs_max": _abs_max, "abs_min": _abs_min,
    "equal": _truth(np.equal), "not_equal": _truth(np.not_equal), "less": _truth(np.less),
    "less_equal": _truth(np.less_equal), "greater": _truth(np.greater),
    "greater_equal": _truth(np.greater_equal), "logical_and": _logical(np.logical_and),
    "logical_or": _logical(np.logical_or), "logical_xor": _logical(np.logical_xor),
    "average": lambda x, y: (x + y) * f32(0.5)}

IDENTITIES = {"add": 0.0, "subtract": 0.0, "average": 0.0, "multiply": 1.0, "maximum": -np.inf,
              "minimum": np.inf, "abs_max": 0.0, "abs_min": np.inf, "logical_and": 1.0,
              "logical_or": 0.0, "logical_xor": 0.0, "bitwise_or": 0, "bitwise_xor": 0,
              "bitwise_and": -1}
"""What an accumulator is reset to, and what a masked element counts as."""


def is_bitwise(op: str) -> bool:
    """Whether an operator works on bits."""
    return op in BITVEC


def apply(op: str, x: Array, y: Any, is_reversed: bool = False) -> Array:
    """`x op y`, or `y op x`, of float32 arrays or numbers."""
    unary = UNARY.get(op)
    if unary is not None:
        return unary(x)
    if isinstance(y, (int, float)):
        y = f32(y)
    return BINARY[op](y, x) if is_reversed else BINARY[op](x, y)


def apply_bitwise(op: str, x: Array, y: Any, is_reversed: bool = False) -> Array:
    """`x op y` on the bits of integers; the result has the type of `x`. Shifts are logical."""
    bits = np.dtype(f"u{x.dtype.itemsize}")
    width = 8 * bits.itemsize
    left = np.ascontiguousarray(x).view(bits)
    if op == "invert":
        return np.invert(left).view(x.dtype)
    right = (np.asarray(int(y) & ((1 << width) - 1), dtype=bits) if isinstance(y, (int, float))
             else y.astype(bits))
    if is_reversed:
        left, right = right, left
    if op in ("left_shift", "right_shift"):
        shift = np.left_shift if op == "left_shift" else np.right_shift
        result = np.where(right < width, shift(left, np.minimum(right, width - 1)), 0)
    else:
        result = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
                  "bitwise_xor": np.bitwise_xor}[op](left, right)
    return result.astype(bits).view(x.dtype)


def apply_integer(op: str, x: Array, y: Array) -> Array | None:
    """`x op y` in native 32-bit arithmetic that wraps, as gpsimd does it; None if it has no such.

    [NKI-ISA, tensor_tensor]
    """
    if op not in ("add", "subtract", "multiply", "maximum", "minimum", "equal", "not_equal", "less",
                  "less_equal", "greater", "greater_equal"):
        return None
    result = BINARY[op](x.astype(np.int64), y.astype(np.int64))
    if result.dtype.kind == "f":
        return result
    return result.astype(np.uint32).view(x.dtype)


def reduce(op: str, values: Array, axis: int = -1) -> Array:
    """The reduction of float32 values, or of integers by a bitwise operator, over an axis."""
    if is_bitwise(op):
        ufunc = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
                 "bitwise_xor": np.bitwise_xor}[op]
        return ufunc.reduce(values, axis=axis)
    if op == "average":
        return np.mean(values, axis=axis, dtype=np.float32)
    if op in ("add", "multiply", "maximum", "minimum", "subtract"):
        return BINARY[op].reduce(values, axis=axis)  # type: ignore[attr-defined]
    if op in ("logical_and", "logical_or", "logical_xor"):
        ufunc = getattr(np, op)
        return ufunc.reduce(np.not_equal(values, 0), axis=axis).astype(np.float32)
    moved = np.moveaxis(values, axis, 0)
    total = moved[0]
    for one in moved[1:]:
        total = BINARY[op](total, one)
    return total
