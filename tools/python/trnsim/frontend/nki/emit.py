# SPDX-License-Identifier: Apache-2.0
# What the lowerings of nl functions have in common: operands, results, the instruction.
"""Fresh tiles for results, and operands in the shape and memory that an instruction takes."""

from __future__ import annotations

from typing import Any
from collections.abc import Sequence

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.dtypes import DType, dtype as dtype_of, float32
from trnsim.frontend.nki.creation import fresh
from trnsim.frontend.recorder import Operand
from trnsim.frontend.records.tensor import HBM, PSUM, View


def emit(operation: str, result: View, operands: Sequence[Operand],
         immediates: tuple[Any, ...] = (), /, **attributes: Any) -> View:
    """Holds an instruction back whose dst is the fresh tile `result`."""
    every = (("dst", "write", result), *operands)
    return recorder.required().hold(operation, None, every, attributes, None, immediates)


def tile(value: Any, name: str) -> View:
    """`value` if it is a tensor on chip; IllegalInstruction otherwise."""
    if not isinstance(value, View) or value.space == HBM:
        what = value.form.describe() if isinstance(value, View) else repr(value)
        is_number = isinstance(value, (int, float))
        how = "compute with numbers in Python" if is_number else "load it first"
        raise IllegalInstruction(f"{source.here()}: {name}: an operand is {what}, but must be a "
                                 f"tile in sbuf or psum; {how}")
    return value


def result_dtype(dtype: Any, *operands: Any) -> DType:
    """The type asked for, or the widest of the operands, floats before integers."""
    if dtype is not None:
        return dtype_of(dtype)
    types = [one.dtype for one in operands if isinstance(one, View)]
    best = types[0]
    for other in types[1:]:
        if other is best:
            continue
        if other.is_float and best.is_float and other.itemsize == best.itemsize:
            best = float32
        elif (other.is_float, other.itemsize) > (best.is_float, best.itemsize):
            best = other
    return best


def broadcast_pair(x: View, y: View, name: str) -> tuple[View, View]:
    """Both tiles in one shape; free dimensions of size 1 are repeated by their access pattern."""
    if x.shape == y.shape:
        return x, y
    shape = common_shape((x, y), name)
    return repeated(x, shape), repeated(y, shape)


def common_shape(tiles: Sequence[View], name: str) -> tuple[int, ...]:
    """The shape to which tiles are repeated; IllegalInstruction if there is none."""
    shapes = [one.shape for one in tiles]
    largest = tuple(map(max, zip(*shapes)))
    if any(len(shape) != len(largest) for shape in shapes) or any(
            size not in (1, most) for shape in shapes for size, most in zip(shape, largest)):
        listed = ", ".join(str(list(shape)) for shape in shapes[:-1])
        raise IllegalInstruction(f"{source.here()}: {name}: shapes {listed} and "
                                 f"{list(shapes[-1])} do not broadcast; equal ranks and sizes that "
                                 "are equal or 1 do")
    return largest


def repeated(x: View, shape: tuple[int, ...]) -> View:
    """`x` with its free dimensions of size 1 repeated to `shape`."""
    strides = [stride if have == want else 0
               for have, want, stride in zip(x.shape, shape, x.strides)]
    return x.derive(shape, strides, offset=x.element_offset, partition=x.form.partition)


def copy(x: Any, dtype: Any = None) -> View:
    """A copy of a tile, cast if asked for."""
    data = tile(x, "copy")
    return emit("tensor_copy", fresh(data.shape, result_dtype(dtype, data)),
                (("data", "read", data),))


def in_sbuf(data: View) -> View:
    """The tile itself, or a copy of it in SBUF."""
    return copy(data) if data.space == PSUM else data


def dense(data: View) -> View:
    """The tile as [P, N] in SBUF: itself if it is there and contiguous, else a copy."""
    return flat(data if data.space != PSUM and data.form.is_contiguous() else copy(data))


def flat(data: View) -> View:
    """A contiguous tile as [P, N]."""
    columns = data.form.free_elements
    return data.derive((data.shape[0], columns), (columns, 1), offset=data.element_offset,
                       partition=data.form.partition)
