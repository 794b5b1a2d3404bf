# SPDX-License-Identifier: Apache-2.0
# Loop iterators of the 0.1 dialect; affine loops execute a few iterations and extrapolate.
"""nl.affine_range, nl.sequential_range, nl.static_range and the grid of programs.

AWS's compiler traced the body of an affine or sequential loop once, with a symbolic index. Here
such a loop executes its iterations until two successive ones are equal but for constant steps, then
the last one before the loop's horizon (see loop_index.py); those between are extrapolated. That is
exact if the body depends on the index only through affine positions and comparisons, which
LoopIndex watches, and the iteration executed last is compared with its prediction. If it deviates,
`Retrace` asks for the kernel to be traced again with all iterations.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from trnsim.frontend import loops, recorder, source
from trnsim.frontend.dialect import Retrace
from trnsim.frontend.folding import Folder
from trnsim.frontend.legacy.blocks import clone
from trnsim.frontend.loop_index import Loop, LoopIndex
from trnsim.frontend.legacy.session import Session, session
from trnsim.frontend.legacy.tensor import Tensor
from trnsim.frontend.recorder import LoopOrigin

FEWEST = 4
"""Iterations of a loop below which none is left out: three show two steps, the last is checked."""

_origins: dict[tuple[source.Site, str, bool], LoopOrigin] = {}


class SampledRange(loops.LoopRange):
    """A range whose loop is extrapolated when that is exact."""

    __slots__ = ("_is_in_order",)

    def __init__(self, *bounds: Any, directives: Any = (), **_: Any) -> None:
        several = directives if isinstance(directives, (list, tuple)) else [directives]
        self._is_in_order = any(getattr(one, "is_in_order", False) for one in several)
        if len(bounds) == 1 and type(bounds[0]) is int:
            self._range = range(bounds[0])
        else:
            super().__init__(*(int(bound) for bound in bounds))

    def __iter__(self) -> Iterator[Any]:
        active = recorder.active()
        if active is None:
            return iter(self._range)
        values = self._range
        if values.start == 0 and values.step > 0 and (len(values) < FEWEST
                                                      or not active.takes_shortcuts):
            return active.loop(values, self._origin()) if len(values) else iter(values)
        return iterate(values, self._origin())

    def _origin(self) -> LoopOrigin:
        """What the trace says about the loop."""
        site = source.site()
        origin = _origins.get((site, self.kind, self._is_in_order))
        if origin is None:
            origin = _origins[site, self.kind, self._is_in_order] = LoopOrigin(
                source.loop_variable(site) or "i", self.kind, source.position(site),
                self._is_in_order)
        return origin


class AffineRange(SampledRange):
    """`nl.affine_range`: iterations are independent of each other."""

    kind = "affine"
    __slots__ = ()


class SequentialRange(SampledRange):
    """`nl.sequential_range`: iterations depend on each other."""

    kind = "sequential"
    __slots__ = ()


class StaticRange(loops.StaticRange):
    """`nl.static_range`: unrolled, so its index is a plain integer."""

    __slots__ = ()

    def __init__(self, *bounds: Any, **_: Any) -> None:
        super().__init__(*(int(bound) for bound in bounds))


class _Mark:
    """The state between two iterations of a loop; the differences of three marks are two steps."""

    __slots__ = ("blocks", "clock", "indexed", "instances", "pieces", "regions", "run", "tables")

    def __init__(self, here: Session, folder: Folder) -> None:
        self.run = folder.count
        self.pieces = len(folder.pieces)
        self.instances = [buffer.instances for buffer in here.recorder.buffers]
        self.blocks = len(here.block_log)
        self.indexed = len(here.index_log)
        self.tables = here.tables
        self.clock = here.clock
        self.regions = len(here.region_log)


def iterate(values: range, origin: LoopOrigin) -> Iterator[Any]:
    """The iterations of a loop that is being traced, or those of them that are executed.

    A loop all of whose iterations are executed has plain integers as indices, if a glance at one
    tells whether it is the first (see loop_reduction.py): integers are faster.
    """
    here = session()
    active = here.recorder
    if len(values) == 0:
        return
    loop = Loop(values)
    frame = active.open_loop(origin)
    here.symbolic += 1
    folder = frame.folder
    assert folder is not None
    try:
        at, last, marks = 0, len(values) - 1, [_Mark(here, folder)]
        while at <= last:
            yield (values[at] if not loop.is_affine and values.start == 0 < values.step else
                   _index(loop, values[at]))
            active.end_iteration(frame)
            at += 1
            if not active.takes_shortcuts or not loop.is_affine or at >= last:
                continue
            marks = [*marks[-2:], _Mark(here, folder)]
            end = min(last, (loop.horizon - 1 - values.start) // values.step)
            if at >= end or frame is not active.frame:
                continue
            if _extrapolate(here, folder, marks, loop, end - at):
                grows = marks[-1].run - marks[-2].run
                before = folder.count
                yield _index(loop, values[end])
                active.end_iteration(frame)
                if folder.count != before + grows or not loop.is_affine:
                    raise Retrace
                at, marks = end + 1, [_Mark(here, folder)]
    finally:
        here.symbolic -= 1
        active.close_loop(frame)


def _index(loop: Loop, value: int) -> LoopIndex:
    """The index in the iteration with `value`, from which the horizon is found anew."""
    loop.value = value
    loop.horizon = loop.values.stop
    return LoopIndex(value, {loop: 1})


def _extrapolate(here: Session, folder: Folder, marks: list[_Mark], loop: Loop,
                 count: int) -> bool:
    """Adds `count` iterations like the last two; False if those two are no pattern."""
    if len(marks) < 3 or not _is_run(marks):
        return False
    steps = _instance_steps(marks)
    tiles = _block_steps(here, marks, count)
    if steps is None or tiles is None or not _regions_are_local(here, marks):
        return False
    if not all(table.is_regular() for table in _indexed(here, marks, loop)):
        loop.is_affine = False
        return False
    if marks[-1].run != marks[-2].run:
        folder.count += count
        folder.last = [value + count * delta
                       for value, delta in zip(folder.last, folder.deltas, strict=True)]
    for buffer, step in zip(here.recorder.buffers, steps, strict=True):
        buffer.instances += step * count
    for table, number, tile, step in tiles:
        extra = clone(tile, step)
        table.adopt(number, extra)
        here.block_log.append((table, number, extra))
        if id(tile.storage) in here.filled:
            here.filled[id(extra.storage)] = extra
        if id(tile.storage) in here.promised:
            here.promised[id(extra.storage)] = (extra, here.promised[id(tile.storage)][1])
    return True


def _is_run(marks: list[_Mark]) -> bool:
    """Whether the last two iterations are one run of the folder, or recorded nothing."""
    first, second, third = ((mark.run, mark.pieces) for mark in marks)
    if third[0] == second[0] + 1:
        return third[0] >= 2 and third[1] == second[1]
    return first == second == third


def _instance_steps(marks: list[_Mark]) -> list[int] | None:
    """Instances that each buffer got in the last iteration, if the one before was like it."""
    first, second, third = (mark.instances for mark in marks)
    if not len(first) <= len(second) == len(third):
        return None
    steps = [after - before for before, after in zip(second, third)]
    earlier = [after - before for before, after in zip(first, second)]
    return steps if steps[:len(earlier)] == earlier or len(first) < len(second) else None


def _block_steps(here: Session, marks: list[_Mark],
                 count: int) -> list[tuple[Any, int, Tensor, int]] | None:
    """The tiles of blocks that the extrapolated iterations would have made."""
    earlier, latest = (_outer_tiles(here, *pair) for pair in pairwise(marks))
    if len(earlier) != len(latest):
        return None
    made = []
    for (table, number, tile), (other, later, last) in zip(earlier, latest):
        if table is not other or tile.storage.base is None or last.storage.base is None:
            return None
        step = last.storage.base - tile.storage.base
        for further in range(1, count + 1):
            target = later + further * (later - number)
            if later == number or not table.is_free(target):
                return None
            made.append((table, target, last, step * further))
    return made


def _outer_tiles(here: Session, before: _Mark, after: _Mark) -> list[tuple[Any, int, Tensor]]:
    """The tiles that an iteration made of tensors that existed before it."""
    return [entry for entry in here.block_log[before.blocks:after.blocks]
            if entry[0].number <= before.tables]


def _indexed(here: Session, marks: list[_Mark], loop: Loop) -> set[Any]:
    """The tables of blocks that the last iterations subscripted with the loop's index."""
    return {table for table, index in here.index_log[marks[0].indexed:] if loop in index.terms}


def _regions_are_local(here: Session, marks: list[_Mark]) -> bool:
    """Whether all PSUM regions that the last iteration began lie in tiles that it made itself."""
    mark = marks[-2]
    return all(contents.clock > mark.clock for contents in here.region_log[mark.regions:])


def program_origin(axis: int) -> LoopOrigin:
    """The loop over an axis of the launch grid."""
    return LoopOrigin(f"program_{axis}", "affine", source.UNKNOWN)
