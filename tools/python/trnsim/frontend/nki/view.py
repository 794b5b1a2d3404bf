# SPDX-License-Identifier: Apache-2.0
# What all views of tensors of the `nki` API share.
"""TensorView: new forms of the same storage, and errors that say which tensor they are about."""

from __future__ import annotations

from math import prod
from typing import NoReturn, Self
from collections.abc import Sequence

from trnsim.errors import IllegalInstruction
from trnsim.frontend import source
from trnsim.frontend.nki.arithmetic import WithoutOperators
from trnsim.frontend.records.tensor import Form, Indirection, View


class TensorView(WithoutOperators, View):
    """A view that makes others of its own class."""

    __slots__ = ()

    def _form(self, shape: Sequence[int], strides: Sequence[int], partition: int) -> Form:
        buffer = self.form.buffer
        stored = None if self.form.dtype is buffer.dtype else self.form.dtype
        return buffer.form(tuple(shape), tuple(strides), partition, stored)

    def _moved(self, shape: Sequence[int], strides: Sequence[int],
               indices: View | None, how: Indirection | None = None) -> Self:
        """The same start with another shape; `how` is what new indices mean."""
        form = self.form
        if how is None and self._is_selected(0) and (
                shape[0] != form.shape[0] or strides[0] != form.strides[0]
                or form.is_on_chip and prod(shape) != form.elements):
            self._reject(f"becomes {list(shape)}, but {self.indices.name!r} selects elements of it "
                         "when the kernel runs, whose dimensions stay")
        view = type(self)(self.storage, self._form(shape, strides, self.form.partition),
                          self.position, indices)
        if isinstance(indices, View):
            view.indirection = how or self.indirection
        return view

    def _is_selected(self, axis: int) -> bool:
        """Whether indices select along a dimension, one for each of its elements."""
        if not isinstance(self.indices, View):
            return False
        kind = self.indirection.kind
        return kind == "columns" or kind == "vector" and axis == 0

    def _selected_once(self) -> None:
        if self.indices is not None:
            self._reject("is selected dynamically twice, which is not possible; flatten the "
                         "dimensions and select once")

    def _axis(self, dim: int) -> int:
        axis = dim + self.ndim if dim < 0 else dim
        if not 0 <= axis < self.ndim:
            self._reject(f"has {self.ndim} dimensions, but dimension {dim} is named")
        return axis

    def _free_axis(self, dim: int, verb: str) -> int:
        axis = self._axis(dim)
        if axis == 0 and self.form.is_on_chip:
            self._reject(f"is {verb} in dimension 0, the partitions, which is not possible")
        return axis

    def _reject(self, what: str) -> NoReturn:
        raise IllegalInstruction(
            f"{source.here()}: {self.form.space} tensor {self.name!r} of shape {list(self.shape)} "
            f"{what}; change the index or the shape")
