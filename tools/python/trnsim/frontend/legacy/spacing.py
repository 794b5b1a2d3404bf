# SPDX-License-Identifier: Apache-2.0
# Whether the tiles of a tensor with block dimensions are at equal distances.
"""The tile that a loop's index names in an iteration that is not executed: where it is, is known if
the tiles of blocks at equal distances are at equal distances themselves."""

from __future__ import annotations

from functools import lru_cache

from trnsim.frontend.records.tensor import Shape, row_major


LONGEST_PERIOD = 8
"""Iterations of a loop that are looked at as one. [ASSUMED]"""


class Spacing:
    """Learns from one block after the other how far tiles are apart along each dimension."""

    __slots__ = ("_first", "_number", "_sizes", "_steps", "is_even", "known")

    def __init__(self, shape: Shape) -> None:
        self._sizes = tuple(zip(row_major(shape), shape))
        self._steps: list[int | None] = [None] * len(shape)
        self.known = 0
        """Dimensions along which the distance is known."""
        self._number = -1
        self._first = 0
        self.is_even = True
        """Whether no block contradicts the others."""

    def add(self, number: int, place: int) -> bool:
        """A block and where it is; False if it is too early to say whether that fits the others."""
        if self._number < 0:
            self._number, self._first = number, place
            return True
        rest, unknown, distance = place - self._first, -1, 0
        for axis, (stride, size) in enumerate(self._sizes):
            along = number // stride % size - self._number // stride % size
            step = self._steps[axis]
            if along and step is None:
                if unknown >= 0:
                    return False
                unknown, distance = axis, along
            elif along:
                rest -= along * step  # type: ignore[operator]
        if unknown >= 0:
            self._steps[unknown], rest = divmod(rest, distance)
            self.known += 1
        self.is_even = self.is_even and rest == 0
        return True

    def add_run(self, number: int, place: int, count: int, number_step: int,
                place_step: int) -> bool:
        """`count` blocks with constant steps between their numbers and between their places.

        Where no dimension overflows on the way, they are on a line, and two points determine it.
        """
        if count > 2 and not self._is_line(number, count, number_step):
            half = count // 2
            return (self.add_run(number, place, half, number_step, place_step)
                    and self.add_run(number + half * number_step, place + half * place_step,
                                     count - half, number_step, place_step))
        return self.add(number, place) and (
            count == 1 or self.add(number + number_step, place + place_step))

    def _is_line(self, number: int, count: int, number_step: int) -> bool:
        """Whether such blocks are at equal distances along each dimension."""
        for stride, size in self._sizes:
            start = number // stride % size
            step = (number + number_step) // stride % size - start
            if not 0 <= start + (count - 1) * step < size:
                return False
        return True


@lru_cache(maxsize=64)
def periods(shape: Shape, places: tuple[int, ...]) -> tuple[int, ...]:
    """Along each dimension, how far blocks are from those that are at a constant distance.

    `places` are those of all blocks in row-major order. 1 where all blocks along a dimension are at
    equal distances, 2 where every other one is; 0 where that repeats in no period that matters.
    """
    return tuple(_period(stride, size, places)
                 for stride, size in zip(row_major(shape), shape))


def _period(stride: int, size: int, places: tuple[int, ...]) -> int:
    for period in range(1, min(size, LONGEST_PERIOD + 1)):
        reach = period * stride
        distances = {places[number + reach] - place for number, place in enumerate(places)
                     if number // stride % size + period < size}
        if len(distances) == 1:
            return period
    return 1 if size == 1 else 0
