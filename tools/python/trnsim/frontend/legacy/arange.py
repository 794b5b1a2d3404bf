# SPDX-License-Identifier: Apache-2.0
# nl.arange and nl.mgrid.
"""The makers of index expressions. What they return is cached: kernels make it anew every time."""

from __future__ import annotations

from typing import Any

from trnsim.errors import UserError
from trnsim.frontend import source
from trnsim.frontend.legacy.index import Index, as_integer, form, subscript


class Arange(Index):
    """What `nl.arange` returns: an index of one axis that remembers its placements."""

    __slots__ = ("_column", "_placed", "_row")

    def __init__(self, start: int, stop: int, step: int) -> None:
        super().__init__(start, form((len(range(start, stop, step)),), (step,)))
        self._placed: dict[tuple[int, int], Index] = {}
        self._column = subscript(self, (_WHOLE, None))
        self._row = subscript(self, (None, _WHOLE))

    def __getitem__(self, key: Any) -> Index:
        if type(key) is tuple:
            rank = len(key)
            if rank == 2:
                first, second = key
                if first is None and type(second) is slice and second == _WHOLE:
                    return self._row
                if second is None and type(first) is slice and first == _WHOLE:
                    return self._column
            position = 0
            while position < rank - 1 and key[position] is None:
                position += 1
            if key[position] == _WHOLE and all(one is None for one in key[position + 1:]):
                found = self._placed.get((rank, position))
                if found is None:
                    found = self._placed[rank, position] = subscript(self, key)
                return found
        return super().__getitem__(key)


_WHOLE = slice(None)

_simple: dict[int, Index] = {}
"""What `nl.arange(stop)` made."""
_aranges: dict[tuple[int, ...], Index] = {}


def arange(first: Any, stop: Any = None, step: Any = None) -> Index:
    """`nl.arange(stop)`, `nl.arange(start, stop)` or with a step: an index of one axis."""
    if stop is not None:
        return _arange(first, stop) if step is None else _arange(first, stop, step)
    if type(first) is not int:
        return _arange(first)
    if first not in _simple:
        _simple[first] = _arange(first)
    return _simple[first]


def _arange(*limits: Any) -> Index:
    for limit in limits:
        if type(limit) is not int:
            return _general_arange(limits)
    found = _aranges.get(limits)
    if found is None:
        whole = range(*limits)
        if len(whole) == 0:
            raise UserError(f"{source.here()}: nl.arange{limits} is empty; "
                            "a tile has at least one element")
        found = _aranges[limits] = Arange(whole.start, whole.stop, whole.step)
    return found


def _general_arange(limits: tuple[Any, ...]) -> Index:
    """An arange with loop indices or numpy integers as limits."""
    numbers = [as_integer(limit) for limit in limits]
    if any(number is None for number in numbers):
        raise UserError(f"{source.here()}: nl.arange takes integers, here "
                        f"{', '.join(type(limit).__name__ for limit in limits)}; its size is known "
                        "before the kernel runs")
    start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    step = int(numbers[2]) if len(numbers) == 3 else 1
    placed: Index = arange(0, int(stop - start), step) + start
    return placed


class MeshGrid(tuple[Index, ...]):
    """What `nl.mgrid[...]` returns: one index per axis, also as .p (partition), .x, .y, .z."""

    __slots__ = ()

    def _axis(self, number: int) -> Index:
        if number >= len(self):
            raise UserError(f"{source.here()}: nl.mgrid has {len(self)} axes here, but axis "
                            f"{number} is asked for; subscript it with as many slices")
        return self[number]

    @property
    def p(self) -> Index:
        """The index of the partition axis."""
        return self._axis(0)

    @property
    def x(self) -> Index:
        """The index of the first free axis."""
        return self._axis(1)

    @property
    def y(self) -> Index:
        """The index of the second free axis."""
        return self._axis(2)

    @property
    def z(self) -> Index:
        """The index of the third free axis."""
        return self._axis(3)

    @property
    def w(self) -> Index:
        """The index of the fourth free axis."""
        return self._axis(4)


_grids: dict[tuple[Any, ...], MeshGrid] = {}


class MeshGridMaker:
    """`nl.mgrid`: subscript it with one slice per axis."""

    def __getitem__(self, key: Any) -> MeshGrid:
        slices = key if isinstance(key, tuple) else (key,)
        if not all(isinstance(item, slice) and item.stop is not None for item in slices):
            raise UserError(f"{source.here()}: nl.mgrid takes a slice with an end for each axis, "
                            "as nl.mgrid[0:128, 0:512]")
        cache = tuple((item.start, item.stop, item.step) for item in slices)
        found = _grids.get(cache)
        if found is None:
            rank = len(slices)
            axes = []
            for axis, (start, stop, step) in enumerate(cache):
                placed = (None,) * axis + (slice(None),) + (None,) * (rank - axis - 1)
                axes.append(arange(0 if start is None else start, stop,
                                   1 if step is None else step)[placed])
            found = _grids[cache] = MeshGrid(axes)
        return found


mgrid = MeshGridMaker()
