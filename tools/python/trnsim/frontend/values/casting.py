# SPDX-License-Identifier: Apache-2.0
# How values become elements of a data type, and back.
"""numpy types of NKI's data types, rounding and saturation.

Floats round to the nearest, ties to even, and overflow to infinity (NaN in float8_e4m3fn, which has
none). [NKI-ISA, range_select] Integers round the same way and saturate; NaN becomes 0. [ASSUMED]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from trnsim.frontend.dtypes import DType

Array = Any
"""A numpy array."""

_cache: dict[str, np.dtype[Any]] = {}
TF32_DROPPED = 13
"""Bits of a float32's fraction that tfloat32 does not have."""


def storage_type(kind: DType) -> np.dtype[Any]:
    """The numpy type that elements are stored in; packed elements are their bits."""
    found = _cache.get(kind.name)
    if found is None:
        if kind.is_packed:
            found = np.dtype(kind.dtype[0])
        else:
            found = np.dtype(np.float32 if kind.name == "tfloat32" else kind.dtype)
        _cache[kind.name] = found
    return found


def shown(values: Array, kind: DType) -> Array:
    """Stored elements in the type that users see: only packed ones differ."""
    return values.view(kind.dtype) if kind.is_packed else values


def to_float32(values: Array) -> Array:
    """The values as the engines compute with them."""
    return values if values.dtype == np.float32 else values.astype(np.float32)


def cast(values: Array, kind: DType) -> Array:
    """Results (float32, integers or booleans) as elements of `kind`."""
    target = storage_type(kind)
    if values.dtype == target and kind.name != "tfloat32":
        return values
    if kind.name == "bool":
        return values != 0
    if kind.is_integer:
        return _to_integer(values, target)
    if kind.name == "tfloat32":
        return _to_tfloat32(values)
    if values.dtype.kind in "iub" or values.dtype == np.float64:
        values = values.astype(np.float32)
    if values.dtype.itemsize == target.itemsize == 1:
        values = values.astype(np.float32)  # numpy has no casts between some types of 8 bits
    return values.astype(target)


def _to_integer(values: Array, target: np.dtype[Any]) -> Array:
    limits = np.iinfo(target)
    if values.dtype.kind in "iub":
        return np.clip(values.astype(np.int64), limits.min, limits.max).astype(target)
    wide = np.rint(values.astype(np.float64))
    wide = np.where(np.isnan(wide), 0.0, np.clip(wide, limits.min, limits.max))
    return wide.astype(np.int64).astype(target)


def _to_tfloat32(values: Array) -> Array:
    bits = np.ascontiguousarray(values.astype(np.float32)).view(np.uint32).astype(np.uint64)
    odd = (bits >> TF32_DROPPED) & 1
    rounded = (bits + (1 << (TF32_DROPPED - 1)) - 1 + odd) >> TF32_DROPPED << TF32_DROPPED
    result = rounded.astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(values), result, values).astype(np.float32)


def from_array(value: Any, kind: DType) -> Array:
    """An argument (numpy, torch or jax) as a contiguous array of the stored type."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if "bfloat16" in str(value.dtype) or "float8" in str(
            value.dtype) else value
        value = value.numpy()
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        value = np.from_dlpack(value)
    array = np.asarray(value)
    target = storage_type(kind)
    if array.dtype != target:
        same_bits = array.dtype.itemsize == target.itemsize and kind.is_packed
        array = array.view(target) if same_bits else cast(array, kind)
    return np.ascontiguousarray(array)


def update(given: Any, result: Array) -> None:
    """Puts what a kernel has written into its argument: numpy's and torch's can be changed."""
    if isinstance(given, np.ndarray):
        if given.flags.writeable:
            np.copyto(given, result, casting="unsafe")
    elif hasattr(given, "detach") and hasattr(given, "copy_"):
        plain = result if result.dtype.kind in "iubf" else to_float32(result)
        given.detach().copy_(sys.modules["torch"].from_numpy(np.ascontiguousarray(plain)))


def random_array(kind: DType, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """Contents for an argument that was given without: standard normal, or small integers."""
    target = storage_type(kind)
    if kind.name == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if kind.name == "float8_e8m0":
        return generator.integers(120, 132, shape).astype(np.uint8).view(target)
    if kind.name.endswith("_x4"):
        mask = 0x3F3F3F3F if target.itemsize == 4 else 0xFFFF
        return (generator.integers(0, 2**32, shape, dtype=np.uint64) & mask).astype(target)
    if kind.is_integer:
        return generator.integers(0, 64, shape).astype(target)
    return cast(generator.standard_normal(shape, dtype=np.float32), kind)
