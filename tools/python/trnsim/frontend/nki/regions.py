# SPDX-License-Identifier: Apache-2.0
# The elements that a grid selects: a box, tiles on chip, or what a step leaves of either.
"""Regions of tensors, counted in elements. [NKI-GRIDS]"""

from __future__ import annotations

from itertools import pairwise
from operator import index as as_integer
from typing import Any, Protocol
from collections.abc import Sequence

from trnsim.frontend.nki.tensor import NkiTensor

Shape = tuple[int, ...]
Runs = tuple[tuple[int, int], ...]
"""Elements of a dimension: where each stretch of them starts and ends."""


class Region(Protocol):
    """The elements that a grid selects. `key` has for each dimension an integer (of one before the
    tiles, which is dropped) or a slice of elements that starts with a tile."""

    @property
    def shape(self) -> Shape:
        """Elements in each dimension."""

    @property
    def tensor(self) -> NkiTensor:
        """The tensor that has the elements, and maybe others."""

    def narrowed(self, key: list[Any]) -> Region:
        """A part of the region."""

    def operand(self) -> NkiTensor | None:
        """The region as an operand; None if no tensor has just these elements."""


class Window:
    """A box of a tensor."""

    def __init__(self, tensor: NkiTensor) -> None:
        self.tensor = tensor

    @property
    def shape(self) -> Shape:
        """Elements in each dimension."""
        return self.tensor.shape

    def narrowed(self, key: list[Any]) -> Window:
        """A part of the box."""
        return Window(self.tensor[tuple(key)])

    def operand(self) -> NkiTensor:
        """The box as an operand."""
        return self.tensor


class Capacity:
    """Tiles of two dimensions side by side on chip, row after row, each with room for a whole tile.

    The order is [ASSUMED]: AWS calls it dense and of rank two.
    """

    def __init__(self, tensor: NkiTensor, tile: Shape, columns: int, at: Shape,
                 shape: Shape) -> None:
        self.tensor = tensor
        self.tile = tile
        self.columns = columns
        """Tiles in a row of the whole grid."""
        self.at = at
        """Row and column of the first tile."""
        self.shape = shape
        """Elements in each dimension."""

    def narrowed(self, key: list[Any]) -> Capacity:
        """Some of the tiles."""
        bounds = [(as_integer(item.start), as_integer(item.stop)) for item in key]
        at = tuple(first + start // size
                   for first, (start, _), size in zip(self.at, bounds, self.tile))
        return Capacity(self.tensor, self.tile, self.columns, at,
                        tuple(stop - start for start, stop in bounds))

    def operand(self) -> NkiTensor | None:
        """A row of tiles, or whole rows of whole tiles; None if no tensor has just these."""
        rows, width = self.shape
        height, tile_width = self.tile
        start = (self.at[0] * self.columns + self.at[1]) * tile_width
        if rows <= height:
            return self.tensor[0:rows, start:start + width]
        if rows % height != 0 or width != self.columns * tile_width:
            return None
        return self.tensor[0:height, start:start + rows // height * width]


class Spread:
    """Stretches of a region side by side: the cells that a slice with a step selects."""

    def __init__(self, inner: Region, runs: Sequence[Runs]) -> None:
        """`runs`: of each dimension."""
        self.inner = inner
        self.runs = tuple(runs)

    @property
    def shape(self) -> Shape:
        """Elements in each dimension, without those in between."""
        return tuple(sum(stop - start for start, stop in one) for one in self.runs)

    @property
    def tensor(self) -> NkiTensor:
        """The tensor that has the elements, and others."""
        return self.inner.tensor

    def distance(self, dimension: int, cell: int) -> int:
        """Elements of the region below from the first `cell` elements to the next ones."""
        first, *others = self.runs[dimension]
        return cell if first[1] - first[0] > cell or not others else others[0][0] - first[0]

    def narrowed(self, key: list[Any]) -> Region:
        """Some of the elements; no longer spread if they are one stretch in each dimension."""
        numbers = [place for place, item in enumerate(key) if not isinstance(item, slice)]
        runs = [_part(one, as_integer(item.start), as_integer(item.stop))
                if isinstance(item, slice) else _part(one, as_integer(item), as_integer(item) + 1)
                for one, item in zip(self.runs, key)]
        inner = self.inner
        if numbers:
            inner = inner.narrowed([runs[place][0][0] if place in numbers else slice(0, size)
                                    for place, size in enumerate(inner.shape)])
            runs = [one for place, one in enumerate(runs) if place not in numbers]
        if any(len(one) > 1 for one in runs):
            return Spread(inner, runs)
        return inner.narrowed([slice(*one[0]) for one in runs])

    def operand(self) -> NkiTensor | None:
        """The elements of a box, if they are single ones at equal distances; else None."""
        steps = [_step(one) for one in self.runs]
        if not isinstance(self.inner, Window) or None in steps:
            return None
        return self.inner.tensor[tuple(slice(one[0][0], one[-1][1], step)
                                       for one, step in zip(self.runs, steps))]


def every(region: Region, dimension: int, runs: Runs) -> Spread:
    """Of a dimension of a region only some elements."""
    of = region.runs if isinstance(region, Spread) else [((0, size),) for size in region.shape]
    inner = region.inner if isinstance(region, Spread) else region
    parts = [part for start, stop in runs for part in _part(of[dimension], start, stop)]
    return Spread(inner, [_joined(parts) if place == dimension else one
                          for place, one in enumerate(of)])


def _part(runs: Runs, start: int, stop: int) -> Runs:
    """The elements from one to before another, counted along the stretches."""
    found, before = [], 0
    for first, last in runs:
        low, high = max(start - before, 0) + first, min(stop - before + first, last)
        if low < high:
            found.append((low, high))
        before += last - first
    return tuple(found)


def _joined(runs: Sequence[tuple[int, int]]) -> Runs:
    """The same elements, stretches that follow one another as one."""
    found = [runs[0]]
    for start, stop in runs[1:]:
        if start == found[-1][1]:
            found[-1] = (found[-1][0], stop)
        else:
            found.append((start, stop))
    return tuple(found)


def _step(runs: Runs) -> int | None:
    """From each element to the next; None if that is not the same everywhere."""
    if len(runs) == 1:
        return 1
    steps = {later[0] - earlier[0] for earlier, later in pairwise(runs)}
    is_single = all(stop - start == 1 for start, stop in runs)
    return steps.pop() if is_single and len(steps) == 1 else None
