# SPDX-License-Identifier: Apache-2.0
# Loop iterators of the 0.1 dialect; affine loops execute a few iterations and extrapolate.
"""nl.affine_range, nl.sequential_range, nl.static_range and the grid of programs.

AWS's compiler traced the body of an affine or sequential loop once, with a symbolic index. Here
such a loop executes its iterations until two successive ones are equal but for constant steps, then
the last one before the loop's horizon (see loop_index.py); those between are extrapolated, see
extrapolation.py. That is exact if the body depends on the index only through affine positions and
comparisons, which LoopIndex watches, and the iteration executed last is compared with its
prediction. If it deviates, `Retrace` asks for the kernel to be traced again with all iterations.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

from trnsim.frontend import loops, recorder, source
from trnsim.frontend.dialect import Retrace
from trnsim.frontend.legacy.extrapolation import Mark, extrapolate, found
from trnsim.frontend.legacy.session import session
from trnsim.frontend.loop_index import Loop, LoopIndex
from trnsim.frontend.loop_proof import proven
from trnsim.frontend.recorder import LoopOrigin
from trnsim.frontend.sampling import is_worth_reading, refuse

FEWEST = 3
"""Iterations of a loop below which none is left out: one shows a pattern that is known from before,
the last is checked."""

CALLS = 4
"""Calls in an iteration of a Python range, before anything is known about it. [ASSUMED]"""

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


def sample(frame: FrameType, values: range, origin: LoopOrigin) -> Iterator[Any] | None:
    """The executed iterations of a Python range, or of an nl.static_range; None for all of them.

    AWS executes them all: the body has to be proven, as in the `nki` API.
    """
    active = recorder.required()
    site = (id(frame.f_code), frame.f_lasti)
    if len(values) < FEWEST or values.step < 0 or site in active.asking:
        return None
    if not is_worth_reading(frame.f_code.co_filename, site, CALLS * len(values)):
        return None
    if proven(frame, site) is None:
        refuse(active, site)
        return None
    active.has_sampled = True
    return iterate(values, origin)


def iterate(values: range, origin: LoopOrigin) -> Iterator[Any]:
    """The iterations of a loop that is being traced, or those of them that are executed.

    A loop all of whose iterations are executed has plain integers as indices, if a glance at one
    tells whether it is the first (see loop_reduction.py): integers are faster. So has the last
    iteration of a Python range: the kernel finds it after the loop.
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
        at, last, marks = 0, len(values) - 1, [Mark(here, folder)]
        kept = -1 if origin.kind in ("affine", "sequential") else last
        while at <= last:
            yield (values[at] if not loop.is_affine and values.start == 0 < values.step
                   or at == kept else _index(loop, values[at]))
            active.end_iteration(frame)
            at += 1
            if not active.takes_shortcuts or not loop.is_affine or at > last:
                continue
            marks = [*marks[-2:], Mark(here, folder)]
            end = min(last, (loop.horizon - 1 - values.start) // values.step)
            if frame is not active.frame:
                continue
            pattern = found(here, folder, marks, values.step)
            if pattern is not None and at < end and extrapolate(here, folder, marks, pattern, loop,
                                                                end - at):
                expected = folder.count + (pattern.deltas is not None)
                yield values[end] if end == kept else _index(loop, values[end])
                active.end_iteration(frame)
                if folder.count != expected or not loop.is_affine:
                    raise Retrace(pattern.is_remembered)
                at, marks = end + 1, [Mark(here, folder)]
    finally:
        here.symbolic -= 1
        active.close_loop(frame)


def _index(loop: Loop, value: int) -> LoopIndex:
    """The index in the iteration with `value`, from which the horizon is found anew."""
    loop.value = value
    loop.horizon = loop.values.stop
    return LoopIndex(value, {loop: 1})


def program_origin(axis: int) -> LoopOrigin:
    """The loop over an axis of the launch grid."""
    return LoopOrigin(f"program_{axis}", "affine", source.UNKNOWN)
