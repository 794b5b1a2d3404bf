# SPDX-License-Identifier: Apache-2.0
# numpy behind the names of neuronxcc.nki.language, as far as random programs use them.
"""The text of a kernel of the 0.1 API runs with `nl` and `nisa` of this module as numpy code."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

Array = Any


class Kept:
    """A result of which a mask keeps some elements."""

    def __init__(self, values: Array, mask: Array) -> None:
        self.values = values
        self.mask = mask


class Tile:
    """An array whose subscripts are tiles; one of a tensor in HBM also says where it is."""

    def __init__(self, values: Array, whole: Array = None, key: Any = None) -> None:
        self.values = values
        self.whole = whole
        self.key = key

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def __getitem__(self, key: Any) -> Tile:
        return Tile(self.values[key], self.values, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.values[key] = written(self.values[key], value)

    def __iadd__(self, value: Tile) -> Tile:
        self.values = self.values + value.values
        return self


def written(old: Array, value: Any) -> Array:
    """What a tile holds after `value` has been assigned to it."""
    if isinstance(value, Kept):
        return np.where(value.mask, value.values, old)
    return values_of(value)


def values_of(operand: Any) -> Any:
    return operand.values if isinstance(operand, Tile) else operand


def result(values: Array, mask: Array) -> Any:
    values = np.asarray(values, np.float32)
    return Tile(values) if mask is None else Kept(values, mask)


def elementwise(function: Callable[..., Array]) -> Callable[..., Any]:
    def apply(*operands: Any, mask: Array = None) -> Any:
        return result(function(*map(values_of, operands)), mask)
    return apply


def reduction(function: Callable[..., Array]) -> Callable[..., Tile]:
    return lambda data, axis, keepdims: Tile(function(data.values, axis=axis, keepdims=keepdims))


def store(target: Tile, value: Any, mask: Array = None) -> None:
    target.whole[target.key] = written(target.values, value if mask is None
                                       else Kept(value.values, mask))


def matmul(left: Tile, right: Tile, transpose_x: bool = True) -> Tile:
    return Tile((left.values.T if transpose_x else left.values) @ right.values)


FUNCTIONS: dict[str, Callable[..., Array]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum,
    "minimum": np.minimum, "tanh": np.tanh, "sin": np.sin, "copy": np.positive}
nl = SimpleNamespace(
    arange=np.arange, float32=np.float32, psum=None, hbm=None, shared_hbm=None,
    par_dim=lambda size: size, affine_range=range, sequential_range=range, static_range=range,
    ndarray=lambda shape, dtype, buffer=None: Tile(np.full(shape, np.nan, dtype)),
    zeros=lambda shape, dtype, buffer=None: Tile(np.zeros(shape, dtype)),
    full=lambda shape, value, dtype: Tile(np.full(shape, value, dtype)),
    load=elementwise(np.array), store=store, matmul=matmul, transpose=elementwise(np.transpose),
    sum=reduction(np.sum), max=reduction(np.max), mean=reduction(np.mean),
    **{name: elementwise(function) for name, function in FUNCTIONS.items()})


def activation(op: Any, data: Tile, scale: float, bias: Any = 0.0, mask: Array = None) -> Any:
    return op(Tile(data.values * scale + values_of(bias)), mask=mask)


def tensor_scalar(data: Tile, op0: Any, operand0: Any, op1: Any, operand1: Any,
                  mask: Array = None) -> Any:
    return op1(op0(data, operand0), operand1, mask=mask)


def affine_select(pred: Array, on_true_tile: Tile, on_false_value: float) -> Any:
    return result(np.where(pred, on_true_tile.values, on_false_value), None)


nisa = SimpleNamespace(
    activation=activation, tensor_scalar=tensor_scalar, affine_select=affine_select,
    nc_matmul=matmul, nc_transpose=nl.transpose,
    tensor_tensor=lambda a, b, op, mask=None: op(a, b, mask=mask))
