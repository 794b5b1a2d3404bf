# SPDX-License-Identifier: Apache-2.0
# Tensors of the `nki` API in other shapes: reshape, permute, rearrange, view.
"""Rearrangeable: other dimensions, orders and types of the same elements, without a copy.

On chip dimension 0 is the partitions: it is never dropped, moved, split or merged. [NKI-LANGUAGE]
"""

from __future__ import annotations

from math import prod
from typing import Any, Self
from collections.abc import Sequence

from trnsim.frontend.dtypes import dtype as dtype_of
from trnsim.frontend.loop_index import give_up
from trnsim.frontend.nki.indexing import Indexable
from trnsim.frontend.nki.reshaping import normalized_shape, parse_groups, reshaped_strides
from trnsim.frontend.records.tensor import View


class Rearrangeable(Indexable):
    """A view that has others of the same elements."""

    __slots__ = ()

    def slice(self, dim: int, start: int, end: int, step: int = 1) -> Self:
        """Elements start to end (exclusive) of one dimension."""
        key = [slice(None)] * self.ndim
        key[self._axis(dim)] = slice(start, end, step)
        return self._general_index(tuple(key))

    def permute(self, dims: Sequence[int]) -> Self:
        """Reorders the dimensions."""
        order = [self._axis(dim) for dim in dims]
        if sorted(order) != list(range(self.ndim)) or (self.form.is_on_chip and order[0] != 0):
            self._reject(f"is permuted by {tuple(dims)}, which must be a permutation of its "
                         f"{self.ndim} dimensions that leaves the partitions first")
        if order != sorted(order) and self._is_selected(1):
            self._reject(f"is permuted by {tuple(dims)}, but its columns are selected when the "
                         "kernel runs")
        return self._moved([self.form.shape[axis] for axis in order],
                           [self.form.strides[axis] for axis in order], self.indices)

    def broadcast(self, dim: int, size: int) -> Self:
        """Repeats a dimension of size 1."""
        axis = self._free_axis(dim, "broadcast")
        if self.form.shape[axis] != 1:
            self._reject(f"is broadcast in dimension {dim}, which has size "
                         f"{self.form.shape[axis]}, not 1")
        shape, strides = list(self.form.shape), list(self.form.strides)
        shape[axis], strides[axis] = size, 0
        return self._moved(shape, strides, self.indices)

    def broadcast_to(self, shape: Sequence[int]) -> Self:
        """Repeats dimensions of size 1 to a shape of the same rank."""
        sizes = tuple(shape)
        if len(sizes) != self.ndim or any(
                have not in (1, want) for have, want in zip(self.form.shape, sizes)):
            self._reject(f"has shape {list(self.shape)}, which does not broadcast to "
                         f"{list(sizes)}; equal ranks and sizes 1 do")
        if self.form.is_on_chip and sizes[0] != self.form.shape[0]:
            self._reject("is broadcast over partitions, which takes an instruction; use "
                         "nl.broadcast_to")
        strides = [stride if have == want else 0
                   for have, want, stride in zip(self.form.shape, sizes, self.form.strides)]
        return self._moved(sizes, strides, self.indices)

    def expand_dim(self, dim: int) -> Self:
        """Inserts a dimension of size 1."""
        axis = dim + self.ndim + 1 if dim < 0 else dim
        if not (1 if self.form.is_on_chip else 0) <= axis <= self.ndim:
            self._reject(f"is expanded at dimension {dim}, which is not possible")
        shape, strides = list(self.form.shape), list(self.form.strides)
        shape.insert(axis, 1)
        strides.insert(axis, strides[axis] * shape[axis + 1] if axis < self.ndim else 1)
        return self._moved(shape, strides, self.indices)

    def squeeze_dim(self, dim: int) -> Self:
        """Removes a dimension of size 1."""
        axis = self._free_axis(dim, "squeezed")
        if self.form.shape[axis] != 1:
            self._reject(f"is squeezed in dimension {dim}, which has size "
                         f"{self.form.shape[axis]}, not 1")
        shape, strides = list(self.form.shape), list(self.form.strides)
        del shape[axis], strides[axis]
        return self._moved(shape, strides, self.indices)

    def reshape_dim(self, dim: int, shape: Sequence[int]) -> Self:
        """Splits one dimension."""
        axis = self._axis(dim)
        sizes = normalized_shape(shape, self.form.shape[axis])
        if axis == 0 and self.form.is_on_chip and len(sizes) == 1:
            return self
        axis = self._free_axis(dim, "split")
        if prod(sizes) != self.form.shape[axis]:
            self._reject(f"has {self.form.shape[axis]} elements in dimension {dim}, which do not "
                         f"split into {list(sizes)}")
        inner = [self.form.strides[axis] * prod(sizes[k + 1:]) for k in range(len(sizes))]
        return self._moved([*self.form.shape[:axis], *sizes, *self.form.shape[axis + 1:]],
                           [*self.form.strides[:axis], *inner, *self.form.strides[axis + 1:]],
                           self.indices)

    def flatten_dims(self, start_dim: int, end_dim: int) -> Self:
        """Merges dimensions start to end (inclusive), which must be contiguous."""
        start, end = self._free_axis(start_dim, "flattened"), self._axis(end_dim)
        shape = self.form.shape
        return self.reshape((*shape[:start], prod(shape[start:end + 1]), *shape[end + 1:]))

    def reshape(self, shape: Any, *more: int) -> Self:
        """Another shape of the same elements, if no copy is needed."""
        given = shape if isinstance(shape, (tuple, list)) else (shape, *more)
        sizes = normalized_shape(given, self.form.elements)
        if prod(sizes) != self.form.elements:
            self._reject(f"has {self.form.elements} elements, which do not reshape to "
                         f"{list(sizes)}")
        keep = 1 if self.form.is_on_chip else 0
        if keep and (not sizes or sizes[0] != self.form.shape[0]):
            self._reject(f"has {self.form.shape[0]} partitions, but is reshaped to {list(sizes)}; "
                         "the first dimension stays")
        strides = reshaped_strides(self.form.shape[keep:], self.form.strides[keep:], sizes[keep:])
        if strides is None:
            self._reject(f"has strides {list(self.form.strides)}, which do not allow the shape "
                         f"{list(sizes)} without a copy")
        if keep and len(sizes) == 1:
            sizes, strides = (*sizes, 1), (1,)
        return self._moved(sizes, (*self.form.strides[:keep], *strides), self.indices)

    def rearrange(self, src_pattern: Any, dst_pattern: Any,
                  fixed_sizes: dict[str, int] | None = None) -> Self:
        """Splits, reorders and merges named dimensions."""
        source_groups, target_groups = parse_groups(src_pattern), parse_groups(dst_pattern)
        if len(source_groups) != self.ndim:
            self._reject(f"has {self.ndim} dimensions, but the pattern names "
                         f"{len(source_groups)}")
        sizes = dict(fixed_sizes or {})
        split: Self = self
        names: list[str] = []
        for group, size in zip(source_groups, self.form.shape):
            known = [sizes.get(name, -1) for name in group]
            parts = normalized_shape(known, size)
            sizes.update(zip(group, parts))
            if len(group) > 1:
                split = split.reshape_dim(len(names), parts)
            names += group
        flat = [name for group in target_groups for name in group]
        if sorted(flat) != sorted(names):
            self._reject(f"is rearranged from {names} to {flat}, which must be the same names")
        moved = split.permute([names.index(name) for name in flat])
        return moved.reshape(tuple(prod(sizes[name] for name in group)
                                   for group in target_groups))

    def view(self, dtype: Any) -> Self:
        """The same bytes as another data type; the last dimension is rescaled."""
        target = dtype_of(dtype)
        if isinstance(self.indices, View):
            self._reject(f"is viewed as {target} after {self.indices.name!r} has selected elements "
                         "of it, which is not possible")
        old, new = self.form.dtype.itemsize, target.itemsize
        shape, strides = list(self.form.shape), list(self.form.strides)
        if old == new:
            return self.derive(shape, strides, offset=self.element_offset,
                               partition=self.form.partition, dtype=target)
        start = self.element_offset * old
        give_up()
        if strides[-1] != 1 or shape[-1] * old % new or start % new or any(
                stride * old % new for stride in strides[:-1]):
            self._reject(f"is {self.form.describe()} with strides {strides}, which does not view "
                         f"as {target}; the last dimension must be contiguous and divisible")
        shape[-1] = shape[-1] * old // new
        strides = [stride * old // new for stride in strides[:-1]] + [1]
        return self.derive(shape, strides, offset=start // new, partition=self.form.partition,
                           dtype=target)

    reinterpret_cast = view
