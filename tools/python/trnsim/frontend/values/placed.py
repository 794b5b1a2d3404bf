# SPDX-License-Identifier: Apache-2.0
# Tiles at fixed addresses that take each other's bytes.
"""Every tile has a memory of its own (D-25). Where the program fixes addresses, a tile that is
written into the bytes of another one takes them from it: they count as not written there then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from trnsim.frontend import source
from trnsim.frontend.records.tensor import Storage, View
from trnsim.frontend.values.memory import layout_of, memory_of, row_bytes

_PAGE = 2048
"""Bytes of a partition that are looked up together."""


class _Place(NamedTuple):
    """Partitions and bytes of each, up to but not including the last."""

    first_partition: int
    last_partition: int
    first: int
    last: int

    def meets(self, other: _Place) -> bool:
        return (self.first < other.last and other.first < self.last
                and self.first_partition < other.last_partition
                and other.first_partition < self.last_partition)


class Placed:
    """The tiles of a core at fixed addresses that hold something."""

    def __init__(self) -> None:
        self._pages: dict[tuple[str, int], dict[int, Storage]] = {}

    def write(self, view: View, at: source.Site) -> None:
        """Takes what an instruction writes from all other tiles."""
        storage = view.storage
        space, place = storage.buffer.space, _place_of(storage)
        own = self._pages.get((space, place.first // _PAGE), {}).get(id(storage))
        if own is None:
            for page in _pages(place):
                self._pages.setdefault((space, page), {})[id(storage)] = storage
        written = _written_by(view, place)
        for other in self._near(space, written, storage):
            _overwrite(other, view, written, at)
            if memory_of(other).is_unwritten:
                for page in _pages(_place_of(other)):
                    del self._pages[space, page][id(other)]

    def _near(self, space: str, written: _Place, storage: Storage) -> list[Storage]:
        """The other tiles with bytes in a place."""
        found = {id(one): one for page in _pages(written)
                 for one in self._pages[space, page].values()
                 if one is not storage and _place_of(one).meets(written)}
        return list(found.values())


def _pages(place: _Place) -> Iterator[int]:
    yield from range(place.first // _PAGE, (place.last - 1) // _PAGE + 1)


def _place_of(storage: Storage) -> _Place:
    """Where a tile lies."""
    buffer = storage.buffer
    assert buffer.extent is not None
    partition = buffer.extent.partition
    return _Place(partition, partition + buffer.shape[0], storage.place,
                  storage.place + row_bytes(buffer))


def _written_by(view: View, place: _Place) -> _Place:
    """Where the elements of a view lie, and what is between them."""
    form = view.form
    size, layout = form.dtype.itemsize, layout_of(form)
    reach = sum((count - 1) * stride for count, stride in zip(form.shape[1:], layout.strides[1:]))
    first = place.first + _column(view)
    partition = place.first_partition + form.partition
    return _Place(partition, partition + form.shape[0], first, first + reach + size)


def _column(view: View) -> int:
    """The byte of each partition of its tile at which a view starts."""
    return view.element_offset * view.form.dtype.itemsize


def _overwrite(other: Storage, view: View, written: _Place, at: source.Site) -> None:
    """Takes the bytes of a view from another tile."""
    place, form = _place_of(other), view.form
    partitions = range(max(written.first_partition, place.first_partition),
                       min(written.last_partition, place.last_partition))
    first, last = max(written.first, place.first), min(written.last, place.last)
    row = np.zeros(written.last - written.first, dtype=bool)
    strides = (*layout_of(form).strides[1:], 1)
    np.ndarray((*form.shape[1:], form.dtype.itemsize), np.bool_, row, 0, strides)[...] = True
    taken = np.zeros(row_bytes(other.buffer), dtype=bool)
    taken[first - place.first:last - place.first] = row[first - written.first:last - written.first]
    memory_of(other).take(
        slice(partitions.start - place.first_partition, partitions.stop - place.first_partition),
        taken, f"{source.position(at)}: {view.name!r} is written to bytes {first} to {last - 1} of "
        f"{other.buffer.space}, where {other.name or other.buffer.name!r} lies (place one of them "
        "elsewhere)", at)
