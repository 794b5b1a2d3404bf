# SPDX-License-Identifier: Apache-2.0
# Views whose start, or the start of each of whose rows, is read from a tensor.
"""Gather and scatter: what a view with `indices` reaches. [NKI-ISA, dma_copy]

`indices` here are the values of the view's, in the order of the rows they select.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from trnsim.errors import ProgramError
from trnsim.frontend import source
from trnsim.frontend.records.tensor import Indirection, View, position_of, split_operand
from trnsim.frontend.values.casting import Array, cast
from trnsim.frontend.values.garbage import Garbage
from trnsim.frontend.values.memory import Memory, layout_of


def _parts(indices: Array, memory: Memory, view: View, at: source.Site,
           skips: bool) -> Iterator[tuple[Any, int]]:
    """(place in the result, elements to add to the start) for each index that is in bounds."""
    how: Indirection = view.indirection
    values = [int(one) for one in indices.reshape(-1)]
    if how.kind == "scalar":
        values = values[:1]
    elif len(values) < view.form.shape[0]:
        raise ProgramError(f"{source.position(at)}: {view.name!r} is indexed by {len(values)} "
                           f"elements, but the access has {view.form.shape[0]} rows")
    for row, value in enumerate(values[:view.form.shape[0]]):
        place: Any = Ellipsis if how.kind == "scalar" else row
        moved = value * how.step + (view.form.strides[0] * row if how.kind == "added" else 0)
        first, end = _reach(view, place, moved)
        if 0 <= value < how.limit and first >= 0 and end <= memory.raw.size:
            yield place, moved
        elif not skips:
            what = (f"lets an access of shape {list(view.form.shape)} leave"
                    if 0 <= value < how.limit else "selects from")
            raise ProgramError(
                f"{source.position(at)}: index {value} (element {row} of "
                f"{view.indices.name!r}) {what} {view.name!r}, "
                f"which has {how.limit} there; keep it in bounds; a DMA skips it with "
                "oob_mode=skip")


def _reach(view: View, place: Any, moved: int) -> tuple[int, int]:
    """First and end byte of one part."""
    form = view.form
    layout = layout_of(form)
    size = form.dtype.itemsize
    start = layout.start + (split_operand(view.position)[0] + moved) * size
    first = 0 if place is Ellipsis else 1
    ends = [step * (count - 1) for step, count in zip(layout.strides[first:], form.shape[first:])]
    return (start + sum(one for one in ends if one < 0),
            start + sum(one for one in ends if one > 0) + size)


def _part(memory: Memory, view: View, place: Any, moved: int, flags: bool = False) -> Array:
    """The bytes of one part: the whole shape, or that without its first dimension."""
    form = view.form
    layout = layout_of(form)
    size = form.dtype.itemsize
    start = layout.start + (split_operand(view.position)[0] + moved) * size
    first = 0 if place is Ellipsis else 1
    shape, strides = form.shape[first:], layout.strides[first:]
    if flags:
        if memory.unwritten is None:
            return np.zeros(shape, dtype=bool)
        grain = memory.grain(size)
        return np.ndarray((*shape, size // grain), np.bool_, memory.unwritten, start // grain,
                          (*(stride // grain for stride in strides), 1))
    return np.ndarray(shape, layout.dtype, memory.raw, start, strides)


def selected(indices: Array, memory: Memory, view: View, at: source.Site) -> Array:
    """Which elements of an indirect view are in bounds."""
    kept = np.zeros(view.form.shape, dtype=bool)
    for place, _ in _parts(indices, memory, view, at, True):
        kept[place] = True
    return kept


def _columns(indices: Array, view: View, at: source.Site, group: int) -> Array:
    """The column of each element of a view with tensor indirection. [NKI-LANGUAGE, indirect]

    A group of partitions shares its indices, which go down the partitions first.
    """
    partitions, count = view.form.shape[0], view.form.free_elements
    table = indices.astype(np.int64).reshape(partitions, -1)
    columns = np.empty((partitions, count), dtype=np.int64)
    for first in range(0, partitions, group):
        columns[first:first + group] = table[first:first + group].T.reshape(-1)[:count]
    if columns.min() < 0 or columns.max() >= view.indirection.limit:
        raise ProgramError(f"{source.position(at)}: {view.indices.name!r} selects columns "
                           f"{columns.min()} to {columns.max()} of {view.name!r}, which has "
                           f"{view.indirection.limit}; keep the indices in bounds")
    return columns


def _rows(memory: Memory, view: View, flags: bool = False) -> Array:
    """All columns of the partitions of a view with tensor indirection."""
    form = view.form
    whole = form.buffer.form((form.shape[0], view.indirection.limit), (form.strides[0], 1),
                             form.partition,
                             None if form.dtype is form.buffer.dtype else form.dtype)
    seen = type(view)(view.storage, whole, view.position)
    return memory.flags(seen).any(axis=-1) if flags else memory.view(seen)


def gather(indices: Array, memory: Memory, view: View, at: source.Site, skips: bool,
           group: int = 16) -> tuple[Array, Array | None]:
    """The elements that an indirect view selects, and which of them nothing has written (None:
    all are); those that are skipped are zero."""
    flags = None
    if view.indirection.kind == "columns":
        columns = _columns(indices, view, at, group)
        if memory.unwritten is not None:
            flags = np.take_along_axis(_rows(memory, view, True), columns, axis=1)
        return np.take_along_axis(_rows(memory, view), columns, axis=1), flags
    result = np.zeros(view.form.shape, dtype=layout_of(view.form).dtype)
    if memory.unwritten is not None:
        flags = np.zeros(view.form.shape, dtype=bool)
    for place, moved in _parts(indices, memory, view, at, skips):
        result[place] = _part(memory, view, place, moved)
        if flags is not None:
            flags[place] = _part(memory, view, place, moved, True).any(axis=-1)
    return result, flags


def _element(view: View, row: int, column: int) -> View:
    """One element of a view with tensor indirection."""
    form = view.form
    one = form.buffer.form((1, 1), (form.strides[0], 1), form.partition + row,
                           None if form.dtype is form.buffer.dtype else form.dtype)
    offset, partition, _, _ = split_operand(view.position)
    return View(view.storage, one, position_of(offset + column, partition + row))


def scatter(indices: Array, memory: Memory, view: View, values: Array, at: source.Site,
            kept: Array | None, skips: bool, group: int = 16,
            garbage: Garbage | None = None) -> None:
    """Writes the elements that an indirect view selects, where `kept` holds. Those that come from
    `garbage` count as not written."""
    doubtful = None if garbage is None else garbage.rows(view)
    if view.indirection.kind == "columns":
        columns = _columns(indices, view, at, group)
        written = np.ones(columns.shape, bool) if kept is None else kept.reshape(columns.shape)
        rows = np.nonzero(written)[0]
        _rows(memory, view)[rows, columns[written]] = cast(values, view.form.dtype).reshape(
            columns.shape)[written]
        for row, chosen in enumerate(columns):
            for column in np.unique(chosen[written[row]]):
                memory.mark(_element(view, row, int(column)))
        if doubtful is not None and garbage is not None:
            for row, column in np.argwhere(doubtful.reshape(columns.shape) & written):
                memory.unmark(_element(view, int(row), int(columns[row, column])), True,
                              garbage.origin, at)
        return
    elements = np.broadcast_to(cast(values, view.form.dtype).reshape(view.form.shape)
                               if values.size == view.form.elements else values, view.form.shape)
    memory.is_modified = True
    if doubtful is not None and garbage is not None:
        memory.doubt(garbage.origin, at)
    for place, moved in _parts(indices, memory, view, at, skips):
        part = _part(memory, view, place, moved)
        where = np.ones(part.shape, dtype=bool) if kept is None else kept[place]
        np.copyto(part, elements[place], where=where)
        if memory.unwritten is not None:
            flags = _part(memory, view, place, moved, True)
            np.copyto(flags, False if doubtful is None else doubtful[place][..., None],
                      where=where[..., None])
    if memory.unwritten is not None:
        memory.recount()
