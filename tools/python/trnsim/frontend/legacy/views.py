# SPDX-License-Identifier: Apache-2.0
# Views of a tensor in another shape or type.
"""reshape, expand_dims, view: the same bytes, seen otherwise."""

from __future__ import annotations

from math import prod
from typing import Any

from trnsim.errors import ProgramError
from trnsim.frontend import source
from trnsim.frontend.dtypes import DType
from trnsim.frontend.legacy.tensor import Tensor, release
from trnsim.frontend.records.tensor import PARTITION_UNIT, Form, Shape
from trnsim.frontend.shapes import whole_number


def with_form(tensor: Tensor, shape: Shape, strides: Shape) -> Tensor:
    """A view that starts where `tensor` does, of another shape."""
    release(tensor)
    form = tensor.form
    stored = None if form.dtype is form.buffer.dtype else form.dtype
    made = form.buffer.form(shape, strides, form.partition, stored)
    result = Tensor(tensor.storage, made, tensor.position, tensor.indices)
    if tensor.indices is not None:
        result.indirection = tensor.indirection
    return result


def reshape(tensor: Tensor, shape: Shape) -> Tensor:
    """The elements of `tensor` in row-major order as another shape, without moving them."""
    if -1 in shape:
        rest = prod(size for size in shape if size != -1)
        shape = tuple(tensor.size // rest if size == -1 else size for size in shape)
    first = 1 if tensor.form.is_on_chip else 0
    if prod(shape) != tensor.size or shape[:first] != tensor.shape[:first]:
        raise ProgramError(f"{source.here()}: a tensor of shape {list(tensor.shape)} is reshaped "
                           f"to {list(shape)}; the elements, and the partitions on chip, must be "
                           "equal")
    strides = _reshaped_strides(tensor.form, shape, first)
    if strides is None:
        raise ProgramError(f"{source.here()}: a strided view of shape {list(tensor.shape)} has no "
                           f"view of shape {list(shape)}; copy it first")
    return with_form(tensor, shape, strides)


def _reshaped_strides(form: Form, shape: Shape, first: int) -> Shape | None:
    pairs = list(form.pattern) or [(1, 1)]
    strides: list[int] = []
    for size in reversed(shape[first:]):
        if size == 1:
            strides.append(0)
            continue
        stride, count = pairs[-1] if pairs else (0, 1)
        if count % size:
            return None
        strides.append(stride)
        pairs[-1] = (stride * size, count // size)
        if count == size:
            pairs.pop()
    return (0,) * first + tuple(reversed(strides))


def expand_dims(data: Tensor, axis: Any) -> Tensor:
    """The tile with axes of size 1 at the given places of the result, as numpy counts them."""
    given = [whole_number(one, "axis of expand_dims")
             for one in (axis if isinstance(axis, (list, tuple)) else (axis,))]
    shape, strides = list(data.shape), list(data.form.strides)
    rank = len(shape) + len(given)
    places = sorted(one + rank if one < 0 else one for one in given)
    if len(set(places)) < len(places) or places and (places[0] < 0 or places[-1] >= rank):
        raise ProgramError(f"{source.here()}: expand_dims at axis {axis} of a tile with "
                           f"{len(shape)} axes, but the result has {rank}, {-rank} to {rank - 1}; "
                           "name some of them, each once")
    for at in places:
        if at == 0 and data.form.is_on_chip:
            raise ProgramError(f"{source.here()}: expand_dims at axis 0, which is the partition "
                               "axis of a tile; use a free axis")
        shape.insert(at, 1)
        strides.insert(at, 0)
    return with_form(data, tuple(shape), tuple(strides))


def view_as(tensor: Tensor, dtype: DType) -> Tensor:
    """The bytes of `tensor` as another type; its last dimension is contiguous."""
    release(tensor)
    old, new = tensor.form.dtype.itemsize, dtype.itemsize
    shape, strides = tensor.shape, tensor.form.strides
    if old != new and (strides[-1] not in (0, 1) or shape[-1] * old % new
                       or any(stride * old % new for stride in strides[:-1])):
        raise ProgramError(f"{source.here()}: a view of {tensor.form.dtype} elements with strides "
                           f"{list(strides)} cannot be seen as {dtype}; make it contiguous")
    form = tensor.form
    sizes = shape[:-1] + (shape[-1] * old // new,)
    steps = tuple(stride * old // new for stride in strides[:-1]) + (strides[-1],)
    stored = None if dtype is form.buffer.dtype else dtype
    offset = tensor.element_offset * old // new
    made = form.buffer.form(sizes, steps, form.partition, stored)
    lane = form.partition * PARTITION_UNIT if form.is_on_chip else 0
    return Tensor(tensor.storage, made, offset + lane, tensor.indices)
