# SPDX-License-Identifier: Apache-2.0
# Which bytes of a PSUM tile hold matmul results: decides whether a matmul overwrites.
"""Accumulation state of one PSUM storage.

A matmul that writes bytes which no matmul wrote since their allocation, or since their last write
by another instruction, overwrites; one that writes bytes which all hold matmul results accumulates.
[NKI-ISA]
"""

from __future__ import annotations

from collections.abc import Callable

from trnsim.errors import IllegalInstruction
from trnsim.frontend.records.tensor import Form, View, split_operand


def free_mask(form: Form, offset: int) -> int:
    """The bytes of a partition that a view starting at element `offset` touches, one bit each."""
    size = form.dtype.itemsize
    mask = (1 << size) - 1
    start = offset * size
    for stride, count in reversed(form.pattern):
        step = abs(stride) * size
        if stride < 0:
            start += stride * (count - 1) * size
        have = 1
        while have < count and step:
            more = min(have, count - have)
            mask |= mask << (step * more)
            have += more
    return mask << start


changes: list[int] = []
"""The `born` of the tile, for every change of what a tile holds: see proven_loop.py."""
_born = 0


def serial() -> int:
    """Tiles that come into being from now on have a `born` of at least this."""
    return _born


class MatmulRegions:
    """The bytes that hold matmul results, as (first partition, end partition) -> bit mask."""

    __slots__ = ("born", "known", "_recent", "_written")

    def __init__(self) -> None:
        global _born
        self.born = _born
        _born += 1
        self.known: set[tuple[int, Form]] = set()
        """(position, form) of regions written by matmuls and by nothing else since."""
        self._recent: list[View] = []
        self._written: dict[tuple[int, int], int] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no matmul has written the tile."""
        return not self._recent and not self._written

    def is_like(self, other: MatmulRegions) -> bool:
        """Whether the same bytes of another tile hold matmul results, where it is easy to see."""
        return (self.known == other.known and self._written == other._written
                and len(self._recent) == len(other._recent)
                and all((one.position, one.form) == (another.position, another.form)
                        for one, another in zip(self._recent, other._recent)))

    def coverage(self, view: View) -> str:
        """How much of the region holds matmul results: `none`, `all` or `some`."""
        if (view.position, view.form) in self.known:
            return "all"
        self._merge()
        low, high, mask = _region(view)
        missing = [mask] * (high - low)
        for (first, end), written in self._written.items():
            for partition in range(max(low, first), min(high, end)):
                missing[partition - low] &= ~written
        if all(one == mask for one in missing):
            return "none"
        return "some" if any(missing) else "all"

    def add(self, view: View) -> None:
        """A matmul has written the region."""
        changes.append(self.born)
        self.known.add((view.position, view.form))
        self._recent.append(view)

    def overwrite(self, view: View) -> None:
        """Another instruction has written the region."""
        changes.append(self.born)
        self._merge()
        self.known.clear()
        low, high, mask = _region(view)
        split: dict[tuple[int, int], int] = {}
        for (first, end), written in self._written.items():
            middle = (max(first, low), min(end, high))
            parts = ((((first, middle[0]), written), (middle, written & ~mask),
                      ((middle[1], end), written))
                     if middle[0] < middle[1] else (((first, end), written),))
            for part, kept in parts:
                if part[0] < part[1] and kept:
                    split[part] = split.get(part, 0) | kept
        self._written = split

    def _merge(self) -> None:
        for view in self._recent:
            low, high, mask = _region(view)
            self._written[low, high] = self._written.get((low, high), 0) | mask
        self._recent.clear()


def hold_alike(regions: MatmulRegions | None, others: MatmulRegions | None) -> bool:
    """Whether two tiles hold matmul results in the same places."""
    if regions is None or others is None:
        return regions is others
    return regions.is_like(others)


def _region(view: View) -> tuple[int, int, int]:
    """First and end partition, and the bytes within each."""
    form = view.form
    offset = split_operand(view.position)[0]
    return form.partition, form.partition + form.shape[0], free_mask(form, offset)


def begins_group(view: View, accumulate: bool | None, where: Callable[[], object],
                 adds_to_others: Callable[[bool], bool] = lambda _: False) -> bool:
    """Whether a matmul into `view` overwrites it; remembers that it has been written.

    `accumulate` is what the program says; None means that the compiler finds out. `where` gives
    the user's position for a message. `adds_to_others(all)` says whether the chip accumulates onto
    what other instructions wrote, all of it or a part.
    IllegalInstruction if it cannot, or if the program accumulates onto undefined contents.
    """
    storage = view.storage
    regions: MatmulRegions | None = storage.matmul_regions
    if regions is None:
        regions = storage.matmul_regions = MatmulRegions()
    if accumulate is False:
        regions.add(view)
        return True
    if (view.position, view.form) in regions.known:
        return False
    if accumulate is None and regions.is_empty:
        regions.add(view)
        return True
    coverage = regions.coverage(view)
    if coverage == "some" and accumulate is None:
        raise IllegalInstruction(
            f"{where()}: nc_matmul: part of dst {view.name!r} holds matmul results and part does "
            "not, so it can neither be overwritten nor accumulated; let a matmul write all of it "
            "first, or split this one")
    if coverage != "all" and accumulate and (
            storage.base is None or not adds_to_others(coverage == "none")):
        what = (f"part of dst {view.name!r} does" if coverage == "some" else
                f"dst {view.name!r} does")
        raise IllegalInstruction(
            f"{where()}: nc_matmul: accumulate=True, but {what} not hold the result of a matmul; "
            "pass accumulate=False for the first matmul that writes it")
    regions.add(view)
    return coverage == "none" and not accumulate
