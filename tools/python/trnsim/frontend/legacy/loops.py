# SPDX-License-Identifier: Apache-2.0
# Loop iterators of the 0.1 dialect; affine loops execute a few iterations and extrapolate.
"""nl.affine_range, nl.sequential_range, nl.static_range and the grid of programs.

AWS's compiler traced the body of an affine or sequential loop once, with a symbolic index. Here
such a loop executes its iterations until two successive ones are equal but for constant steps, then
the last one; those between are extrapolated. That is exact if the body depends on the index only
through affine positions, which LoopIndex watches, and the last iteration is compared with its
prediction. If it deviates, `Retrace` asks for the kernel to be traced again with all iterations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trnsim.frontend import loops, recorder, source
from trnsim.frontend.legacy.emit import Session, session
from trnsim.frontend.legacy.loop_index import Loop, LoopIndex
from trnsim.frontend.legacy.tensor import Tensor, clone
from trnsim.frontend.recorder import Frame, LoopOrigin


_origins: dict[tuple[source.Site, str], LoopOrigin] = {}


class Retrace(BaseException):
    """The extrapolation of a loop was refuted by its last iteration. Never leaves the package."""


class SampledRange(loops.LoopRange):
    """A range whose loop is extrapolated when that is exact."""

    __slots__ = ()

    def __init__(self, *bounds: Any, **_: Any) -> None:
        super().__init__(*(int(bound) for bound in bounds))

    def __iter__(self) -> Iterator[Any]:
        active = recorder.active()
        if active is None:
            return iter(self._range)
        return iterate(self._range, _origin(self.kind))


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


def _origin(kind: str) -> LoopOrigin:
    """What the trace says about the loop that the kernel begins."""
    site = source.site()
    origin = _origins.get((site, kind))
    if origin is None:
        origin = _origins[site, kind] = LoopOrigin(source.loop_variable(site) or "i", kind,
                                                   source.position(site))
    return origin


class _Mark:
    """What one iteration has changed outside of the recorder's folder; two marks are a step."""

    __slots__ = ("instances", "blocks", "born", "regions")

    def __init__(self, here: Session) -> None:
        self.instances = [buffer.instances for buffer in here.recorder.buffers]
        self.blocks = len(here.block_log)
        self.regions = len(here.region_log)
        self.born = here.born


def iterate(values: range, origin: LoopOrigin) -> Iterator[Any]:
    """The iterations of a loop that is being traced, or those of them that are executed."""
    here = session()
    active = here.recorder
    if len(values) == 0:
        return
    loop = Loop(min(values[0], values[-1]), max(values[0], values[-1]))
    frame = active.open_loop(origin)
    try:
        at, last, marks = 0, len(values) - 1, [_Mark(here)]
        while at <= last:
            loop.value = values[at]
            yield LoopIndex(values[at], {loop: 1})
            active.end_iteration(frame)
            at += 1
            if not here.samples or not loop.is_affine or at >= last:
                continue
            marks = [*marks[-2:], _Mark(here)]
            if _extrapolate(here, frame, marks, last - at):
                at = last
                yield from _verified(here, frame, loop, values[last])
                return
    finally:
        active.close_loop(frame)


def _verified(here: Session, frame: Frame, loop: Loop, value: int) -> Iterator[Any]:
    """The last iteration, compared with what the ones before predict."""
    folder = frame.folder
    assert folder is not None
    before = folder.count
    loop.value = value
    yield LoopIndex(value, {loop: 1})
    here.recorder.end_iteration(frame)
    if folder.count != before + 1 or not loop.is_affine:
        raise Retrace()


def _extrapolate(here: Session, frame: Frame, marks: list[_Mark], count: int) -> bool:
    """Adds `count` iterations like the last two; False if those two are no pattern."""
    if len(marks) < 3 or frame is not here.recorder.frame:
        return False
    folder = frame.folder
    assert folder is not None
    if folder.count < 2:
        return False
    steps = _instance_steps(marks)
    tiles = _block_steps(here, marks, count)
    if steps is None or tiles is None or not _regions_are_local(here, marks):
        return False
    folder.count += count
    folder.last = [value + count * delta for value, delta in zip(folder.last, folder.deltas)]
    for buffer, step in zip(here.recorder.buffers, steps):
        buffer.instances += step * count
    for table, number, tile, step in tiles:
        extra = clone(tile, step)
        table.adopt(number, extra)
        here.block_log.append((table, number, extra))
        for known in (here.zeros, here.filled):
            if id(tile.storage) in known:
                known[id(extra.storage)] = extra
    return True


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
    log = here.block_log
    first, second, third = (mark.blocks for mark in marks)
    if second - first != third - second:
        return None
    made = []
    for (table, number, tile), (other, later, last) in zip(log[first:second], log[second:third]):
        if table is not other or tile.storage.base is None or last.storage.base is None:
            return None
        step = last.storage.base - tile.storage.base
        for further in range(1, count + 1):
            target = later + further * (later - number)
            if later == number or not table.is_free(target):
                return None
            made.append((table, target, last, step * further))
    return made


def _regions_are_local(here: Session, marks: list[_Mark]) -> bool:
    """Whether all PSUM regions that the last iteration began lie in tiles that it made itself."""
    mark = marks[-2]
    return all(contents.born > mark.born for contents in here.region_log[mark.regions:])


def program_origin(axis: int, kernel: str) -> LoopOrigin:
    """The loop over an axis of the launch grid."""
    return LoopOrigin(f"program_{axis}", "affine", source.UNKNOWN)
