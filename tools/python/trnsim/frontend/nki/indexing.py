# SPDX-License-Identifier: Apache-2.0
# Indexing of tensors of the `nki` API: `t[a:b, i, ...]`.
"""Indexable: integers, slices and `...` select a part, and an assignment writes one. [NKI-LANGUAGE]

On chip dimension 0 is the partitions: an integer keeps it, steps are errors, and a tensor has at
least two dimensions. In HBM an integer drops its dimension, down to one dimension.
"""

from __future__ import annotations

from operator import index as as_integer
from typing import Any, Self
from collections.abc import Iterator, Sequence

from trnsim.frontend.loop_index import LoopIndex
from trnsim.frontend.loops import LoopRange
from trnsim.frontend.nki.assignment import assign
from trnsim.frontend.nki.view import TensorView
from trnsim.frontend.records.tensor import Form, View


class Indexable(TensorView):
    """A view whose parts are views."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Self]:
        """The parts along the first dimension."""
        return (self[index] for index in range(self.form.shape[0]))

    def __getitem__(self, key: Any) -> Self:
        form = self.form
        if type(key) is tuple and self.indices is None and len(key) == len(form.shape):
            rank = len(key)
            if rank == 2:
                rows, columns = key
                return self._plane(rows, columns, form)
            if rank == 3 and form.is_on_chip:
                return self._box(key, form)
            if not form.is_on_chip:
                return self._volume(key, form)
        return self._general_index(key)

    def _plane(self, rows: Any, columns: Any, form: Form) -> Self:
        """Two plain slices of two dimensions: the key that matters most for speed."""
        if type(rows) is not slice or type(columns) is not slice:
            return self._general_index((rows, columns))
        height, width = form.shape
        first, last = rows.start, rows.stop
        if first is None:
            first = 0
        if last is None:
            last = height
        left, right = columns.start, columns.stop
        if left is None:
            left = 0
        if right is None:
            right = width
        if (rows.step is not None or columns.step is not None or type(first) is not int
                or type(last) is not int or type(left) is not int or type(right) is not int
                or not 0 <= first < last <= height or not 0 <= left < right <= width):
            if LoopIndex.open_loops and LoopIndex in map(type, (first, last, left, right)):
                return self._plane(settled(rows), settled(columns), form)
            return self._general_index((rows, columns))
        cached = (last - first, right - left, first if form.is_on_chip else 0)
        child = form.children.get(cached)
        if child is None:
            child = form.children[cached] = self._indexed_form(
                ((last - first, 1), (right - left, 1)), first)
        down, across = form.steps
        return type(self)(self.storage, child, self.position + first * down + left * across)

    def _box(self, key: tuple[Any, ...], form: Form) -> Self:
        """Three dimensions on chip; keys come again often, so the result is remembered."""
        rows, middle, columns = key
        raw: tuple[Any, ...]
        if type(rows) is not slice or type(columns) is not slice:
            return self._general_index(key)
        if type(middle) is int:
            first, last, left, right = rows.start, rows.stop, columns.start, columns.stop
            raw = (first, last, rows.step, middle, left, right, columns.step)
            if (type(first) is type(last) is type(left) is type(right) is int
                    and rows.step is columns.step is None):
                found = form.children.get(raw)
                if found is not None:
                    return type(self)(self.storage, found[0], self.position + found[1])
        elif type(middle) is slice:
            raw = (rows.start, rows.stop, rows.step, middle.start, middle.stop, middle.step,
                   columns.start, columns.stop, columns.step)
        elif type(middle) is LoopIndex:
            return self._box((rows, settled(middle), columns), form)
        else:
            return self._general_index(key)
        if LoopIndex.open_loops and LoopIndex in map(type, raw):
            return self._box(tuple(map(settled, key)), form)
        found = form.children.get(raw)
        if found is None:
            view = self._general_index(key)
            form.children[raw] = (view.form, view.position - self.position)
            return view
        child, moved = found
        return type(self)(self.storage, child, self.position + moved)

    def _volume(self, key: tuple[Any, ...], form: Form) -> Self:
        """Plain slices and integers in HBM."""
        position = self.position
        counts: list[int] = []
        for item, size, step in zip(key, form.shape, form.steps):
            if type(item) is slice:
                start = item.start
                stop = item.stop
                if (item.step is not None or type(start) is not int or type(stop) is not int
                        or not 0 <= start < stop <= size):
                    if LoopIndex in (type(start), type(stop)):
                        return self._volume(tuple(map(settled, key)), form)
                    return self._general_index(key)
                position += start * step
                counts.append(stop - start)
            elif type(item) is int and 0 <= item < size:
                position += item * step
                counts.append(-1)
            elif type(item) is LoopIndex:
                return self._volume(tuple(map(settled, key)), form)
            else:
                return self._general_index(key)
        cached = tuple(counts)
        child = form.children.get(cached)
        if child is None:
            child = form.children[cached] = self._indexed_form([(one, 1) for one in counts], 0)
        return type(self)(self.storage, child, position)

    def _general_index(self, key: Any) -> Self:
        """Any key: ellipsis, missing dimensions, negative and open slices, steps."""
        if LoopIndex.open_loops:
            key = tuple(settled(item) for item in (key if type(key) is tuple else (key,)))
        items = self._complete(key if type(key) is tuple else (key,))
        position = self.position
        selected: list[tuple[int, int]] = []
        first = 0
        for axis, (item, size) in enumerate(zip(items, self.form.shape)):
            start, count, step = self._selection(item, size, axis)
            if axis == 0:
                first = start
                if self.form.is_on_chip and step != 1 and count != 1:
                    self._reject(f"slices the partitions with step {step}, but an access takes "
                                 "consecutive partitions")
            if (count, step) != (size, 1) and self._is_selected(axis):
                self._reject(f"is sliced or selected in dimension {axis}, of which "
                             f"{self.indices.name!r} selects elements when the kernel runs")
            position += start * self.form.steps[axis]
            selected.append((count, step))
        form = self._indexed_form(selected, first)
        view = type(self)(self.storage, form, position, self.indices)
        if isinstance(self.indices, View):
            view.indirection = self.indirection
        return view

    def _complete(self, key: tuple[Any, ...]) -> list[Any]:
        """The key with one item per dimension."""
        ndim = len(self.form.shape)
        given = sum(1 for item in key if item is not Ellipsis)
        if given > ndim or len(key) - given > 1:
            hint = (", and None adds none; use expand_dim() of the view"
                    if any(item is None for item in key) else "")
            self._reject(f"is indexed with {given} items, but has {ndim} dimensions{hint}")
        items: list[Any] = []
        for item in key:
            if item is Ellipsis:
                items += [slice(None)] * (ndim - given)
            else:
                items.append(item)
        return items + [slice(None)] * (ndim - len(items))

    def _selection(self, item: Any, size: int, axis: int) -> tuple[int, int, int]:
        """Start, count (-1 for an integer) and step of one item of a key; a range is a slice."""
        if isinstance(item, (slice, LoopRange)):
            step = 1 if item.step is None else as_integer(item.step)
            start = 0 if item.start is None else as_integer(item.start)
            stop = size if item.stop is None else as_integer(item.stop)
            start += size if start < 0 else 0
            stop += size if stop < 0 else 0
            if step < 1 or not 0 <= start < stop <= size:
                why = ("steps are at least 1" if step < 1 else
                       "a slice has at least one" if 0 <= stop <= start <= size else
                       f"that dimension has {size} elements")
                self._reject(f"is sliced {_written(item)} in dimension {axis}, but {why}")
            return start, -(-(stop - start) // step), step
        if isinstance(item, View):
            self._reject(f"is indexed with tensor {item.name!r} in dimension {axis}; select with "
                         f"one element of it, .select({axis}, {item.name})")
        try:
            start = as_integer(item)
        except TypeError:
            self._reject(f"is indexed with {item!r} in dimension {axis}, but takes integers, "
                         "slices, `...` and nl.ds"
                         f"{', not a range to loop over' if isinstance(item, LoopRange) else ''}")
        start += size if start < 0 else 0
        if not 0 <= start < size:
            self._reject(f"is indexed with {item} in dimension {axis}, but that dimension has "
                         f"{size} elements")
        return start, -1, 1

    def _indexed_form(self, selected: Sequence[tuple[int, int]], first: int) -> Form:
        """The form after selecting (count, step) per dimension; count -1 drops the dimension."""
        form = self.form
        shape: list[int] = []
        strides: list[int] = []
        for axis, ((count, step), stride) in enumerate(zip(selected, form.strides)):
            if count >= 0:
                shape.append(count)
                strides.append(stride * step)
            elif axis == 0 and form.is_on_chip:
                shape.append(1)
                strides.append(stride)
        partition = 0
        if form.is_on_chip:
            partition = form.partition + first
        if len(shape) < (2 if form.is_on_chip else 1):
            shape.append(1)
            strides.append(1)
        return self._form(shape, strides, partition)

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self[key]
        if isinstance(value, View) and value.storage is target.storage and (
                value.position == target.position and value.form is target.form):
            return
        assign(target, value)


def settled(item: Any) -> Any:
    """An item of a key with this iteration's values of loop indices, if all others are like it.

    A slice keeps its length and an index its sign; otherwise the index is asked for its value.
    """
    if type(item) is LoopIndex:
        return item.value if item.is_at_least(0) else item.ask()
    if type(item) is not slice:
        return item
    start, stop = item.start, item.stop
    if type(start) is not LoopIndex and type(stop) is not LoopIndex:
        return item
    if (type(start) is LoopIndex and type(stop) is LoopIndex and type(stop - start) is int
            and start.is_at_least(0)):
        return slice(start.value, stop.value, item.step)
    return slice(start.ask() if type(start) is LoopIndex else start,
                 stop.ask() if type(stop) is LoopIndex else stop, item.step)


def _written(item: Any) -> str:
    """A slice as the kernel has it."""
    parts = [item.start, item.stop] if item.step is None else [item.start, item.stop, item.step]
    return ":".join("" if part is None else str(part) for part in parts)
