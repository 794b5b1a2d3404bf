# SPDX-License-Identifier: Apache-2.0
# Loop iterators of the 0.1 dialect; affine loops execute a few iterations and extrapolate.
"""nl.affine_range, nl.sequential_range, nl.static_range and the grid of programs.

AWS's compiler traced the body of an affine or sequential loop once, with a symbolic index. Here
such a loop executes its iterations until two successive ones are equal but for constant steps, then
the last one before the loop's horizon (see loop_index.py); those between are extrapolated, see
extrapolation.py. That is exact if the body depends on the index only through affine positions and
comparisons, which LoopIndex watches, and the iteration executed last is compared with its
prediction. If it deviates, `Retrace` asks for the kernel to be traced again with all iterations.
They are executed, too, where a range is no `for` statement's: a list of its indices, or what runs
beside it in a zip, would miss those that are left out.

Where a loop inside of another one runs again, one iteration of each of its pieces is executed, see
runs.py. Iterations that take turns are executed in rounds, see repetition.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from types import FrameType
from typing import Any

from trnsim.frontend import loops, recorder, source
from trnsim.frontend.bytecode import is_for_statement
from trnsim.frontend.legacy.allocation import ParDim, PsumRegion, SbufRegion
from trnsim.frontend.legacy.arange import Arange, MeshGrid
from trnsim.frontend.legacy.blocks import Blocks
from trnsim.frontend.legacy.extrapolation import (Pattern, TileMark, continues, extrapolate,
                                                  found, repeated)
from trnsim.frontend.legacy.index import ArrayIndex, Index
from trnsim.frontend.legacy.mask import Mask
from trnsim.frontend.legacy.session import Session, session
from trnsim.frontend.legacy.tensor import MaskedTensor, Tensor
from trnsim.frontend.legacy.typing import mutable_tensor, tensor
from trnsim.frontend.loop_index import Loop, LoopIndex
from trnsim.frontend.records.frame import Frame, LoopOrigin
from trnsim.frontend.sampling.counters import Counted, Watched, counters
from trnsim.frontend.sampling.proof import proven
from trnsim.frontend.sampling.reachable import add_plain
from trnsim.frontend.sampling.repetition import parts, repeat, step
from trnsim.frontend.sampling.runs import Jump, Place, Run, expected
from trnsim.frontend.sampling.sample import WATCHED, is_worth_reading
from trnsim.frontend.sampling.watch import calls_functions, watched
from trnsim.frontend.shapes import whole_number
from trnsim.frontend.shortcuts import Retrace

FEWEST = 3
"""Iterations of a loop below which none is left out: one shows a pattern that is known from before,
the last is checked."""

FEWEST_ROUNDS = 4
"""Rounds of iterations (repetition.py) below which all are executed."""

CALLS = 4
"""Calls in an iteration of a Python range, before anything is known about it. [ASSUMED]"""
FUNCTION_CALLS = 20
"""The same, where the kernel's own functions are called. [ASSUMED]"""

add_plain(Tensor, MaskedTensor, Blocks, ParDim, Index, ArrayIndex, Arange, MeshGrid, Mask,
          SbufRegion, PsumRegion, tensor, mutable_tensor)

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
            super().__init__(*(whole_number(bound, "a bound of the range") for bound in bounds))

    def __iter__(self) -> Iterator[Any]:
        active = recorder.active()
        if active is None:
            return iter(self._range)
        values = self._range
        if values.start == 0 and values.step > 0 and (
                not active.shortcuts.are_allowed or len(values) < 2):
            return active.loop(values, self._origin()) if len(values) else iter(values)
        frame = sys._getframe(1)
        if not is_for_statement(frame.f_code, frame.f_lasti):
            return iterate(values, self._origin(), leaves_none_out=True)
        return iterate(values, self._origin(), (frame.f_code, frame.f_lasti), counters(frame))

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
        super().__init__(*(whole_number(bound, "a bound of the range") for bound in bounds))


def sample(frame: FrameType, values: range, origin: LoopOrigin) -> Iterator[Any] | None:
    """The executed iterations of a Python range, or of an nl.static_range; None for all of them.

    AWS executes them all: the body has to be proven or watched, as in the `nki` API.
    """
    shortcuts = recorder.required().shortcuts
    site = (id(frame.f_code), frame.f_lasti)
    if len(values) < FEWEST or values.step < 0 or site in shortcuts.in_full:
        return None
    watch = None
    if FUNCTION_CALLS * len(values) > WATCHED and calls_functions(frame, site):
        watch = watched(frame, site)
    if watch is None:
        if not is_worth_reading(frame.f_code.co_filename, site, CALLS * len(values)):
            return None
        if proven(frame, site) is None:
            shortcuts.no_pattern(site)
            return None
    shortcuts.has_sampled = True
    place = frame.f_code, frame.f_lasti
    return iterate(values, origin, place, None if watch is None else Watched(site, watch))


def iterate(values: range, origin: LoopOrigin, place: Place | None = None,
            counted: Counted | None = None, leaves_none_out: bool = False) -> Iterator[Any]:
    """The iterations of a loop that is being traced, or those of them that are executed.

    `place`: that of a `for` statement, which tells what it leaves behind (runs.leaks).
    `counted`: what its body may count, or leave behind, if it has no proof.
    """
    here = session()
    if len(values) == 0:
        return
    loop = Loop(values)
    frame = here.recorder.open_loop(origin)
    here.symbolic += 1
    outer = here.loops[-1] if here.loops else None
    here.loops.append(loop)
    try:
        with nullcontext() if counted is None else counted.listening(loop.give_up):
            execution = Execution(here, frame, loop, origin, outer, place, counted)
            if leaves_none_out:
                execution.leave_none_out()
            yield from execution.iterations()
    finally:
        loop.widen(0)
        here.loops.remove(loop)
        here.symbolic -= 1
        here.recorder.close_loop(frame)


class Execution:
    """One run of a loop: its iterations, of which those that are not executed are predicted.

    A loop all of whose iterations are executed has plain integers as indices, if a glance at one
    tells whether it is the first (see loop_reduction.py): integers are faster. So has the last
    iteration of a Python range: the kernel finds it after the loop.
    """

    def __init__(self, here: Session, frame: Frame, loop: Loop, origin: LoopOrigin,
                 outer: Loop | None, place: Place | None, counted: Counted | None) -> None:
        assert frame.folder is not None
        self._here = here
        self._shortcuts = here.recorder.shortcuts
        self._frame = frame
        self._folder = frame.folder
        self._loop = loop
        self._outer = outer
        self._last = len(loop.values) - 1
        self._kept = -1 if origin.kind in ("affine", "sequential") else self._last
        self._remembers = self._shortcuts.remembers
        self._counted = counted
        self._is_counting = False
        """Whether only the first iteration has been executed, and has changed what its body may
        count."""
        self._leaves_out = False
        """Whether there are iterations that were not executed."""
        self._has_left = False
        """Whether an iteration has left something in a list, an attribute or their like."""
        if counted is not None and counted.site in self._shortcuts.in_full:
            loop.give_up()
        self._run = Run(origin, len(loop.values))
        self._known = (expected(outer, origin, len(loop.values), place)
                       if self._remembers else None)
        if outer is not None:
            outer.runs.append(self._run)

    def leave_none_out(self) -> None:
        """All iterations are executed, each with a plain integer as its index."""
        self._loop.give_up()
        self._run.is_whole = False
        self._loop.is_counted = True

    def iterations(self) -> Iterator[Any]:
        """The indices of the iterations that are executed."""
        here, loop, folder, frame = self._here, self._loop, self._folder, self._frame
        active, values, last = here.recorder, loop.values, self._last
        at, marks, alike = 0, [TileMark(here, folder)], 0
        is_whole, self._run.is_whole = self._run.is_whole, False  # The kernel may break it off.
        while at <= last:
            known = self._known
            if known is not None and at in known.jumps:
                jump = known.jumps[at]
                yield from self._jump(jump, at, marks[-1])
                at = alike = at + 1 if self._known is None else jump.end + 1
                marks = [TileMark(here, folder)]
                continue
            is_alike = loop.begin(at, known, self._remembers and not self._is_counting)
            alike = known.alike[at] if known is not None else alike if is_alike else at
            loop.checks = at == last and self._outer is not None and self._outer.checks
            yield self._index(at)
            self._end_iteration(at, alike)
            at += 1
            if not loop.is_affine:
                if is_alike and known is None:
                    raise Retrace(remembers=True)
                left = last + 1 - at
                if (known is None and 1 < loop.period and self._shortcuts.are_allowed
                        and not self._is_counting and FEWEST_ROUNDS * loop.period <= left):
                    is_whole = False
                    yield from self._rounds(at)
                    at = last + 1 - left % loop.period
                    self._look_for_counters(at, alike)
                continue
            if not self._shortcuts.are_allowed or at > last and self._outer is None:
                continue
            marks = [*marks[-2:], TileMark(here, folder)]
            self._run.growth[at - 1] = (marks[-2].instances, marks[-1].instances)
            if known is not None or frame is not active.frame or self._is_counting:
                continue
            pattern = found(here, folder, marks, values.step)
            if pattern is None:
                continue
            is_empty = pattern.deltas is None
            start = at - 1 if is_empty else max(at - folder.count, alike)
            end = min(last, (loop.horizon - 1 - values.start) // values.step)
            if at < end and extrapolate(here, folder, marks, pattern, loop, end - at):
                self._leaves_out = True
                yield from self._compared(pattern, end, alike)
                at, marks = end + 1, [TileMark(here, folder)]
            if at - 1 > start and loop.is_affine:
                shapes = () if is_empty else tuple(folder.shapes)
                self._run.jumps[start] = Jump(at - 1, shapes, pattern)
        self._run.is_whole = is_whole and not self._has_left

    def _jump(self, jump: Jump, at: int, before: TileMark) -> Iterator[Any]:
        """The first iteration of a piece that is known, and the last if it is to be compared.

        The run is not known any more if the first is another than expected.
        """
        here, loop, folder, outer, known = (self._here, self._loop, self._folder, self._outer,
                                            self._known)
        assert outer is not None and known is not None
        alike = known.alike[at]
        loop.begin(at, known, self._remembers)
        loop.checks = False
        loop.widen(loop.values[jump.end] - loop.values[at])
        yield self._index(at)
        self._end_iteration(at, alike)
        loop.widen(0)
        if not loop.is_affine or self._has_left:
            raise Retrace(remembers=True)
        marks = [before, TileMark(here, folder)]
        self._run.growth[at] = (before.instances, marks[-1].instances)
        checks = outer.checks and jump.end == self._last
        left = jump.end - at - checks
        start = at if jump.pattern.deltas is None else max(at + 1 - folder.count, alike)
        if self._frame is not here.recorder.frame or not continues(
                here, folder, marks, jump, known.growth.get(at)) or (
                left and not extrapolate(here, folder, marks, jump.pattern, loop, left)):
            self._known = None
            loop.horizon = loop.value
            return
        self._shortcuts.has_rerun = self._leaves_out = True
        if checks:
            yield from self._compared(jump.pattern, jump.end, alike)
        else:
            self._run.inner[jump.end] = known.inner[jump.end]
            self._run.alike[jump.end] = alike
        self._run.jumps[start] = jump

    def _compared(self, pattern: Pattern, end: int, alike: int) -> Iterator[Any]:
        """An iteration that is executed and compared with what was predicted."""
        folder, loop = self._folder, self._loop
        count = folder.count + (pattern.deltas is not None)
        loop.begin(end, self._known, self._remembers)
        loop.checks = True
        self._open_gap()
        yield self._index(end)
        self._end_iteration(end, alike)
        self._close_gap()
        if folder.count != count or not loop.is_affine or (
                pattern.deltas is not None and folder.deltas != pattern.deltas):
            raise Retrace(pattern.is_remembered)

    def _rounds(self, at: int) -> Iterator[Any]:
        """Iterations from number `at` on in rounds of as many as the loop's period.

        Their indices are multiples of the period of the number of the round, and a constant: a
        round is what an iteration is elsewhere (repetition.py).
        """
        here, folder, loop = self._here, self._folder, self._loop
        period = loop.period
        self._leaves_out = True
        last = (self._last + 1 - at) // period
        rounds = Loop(range(last + 1))
        rounds.is_counted = loop.is_counted
        here.loops[here.loops.index(loop)] = rounds
        marks, states, number = [TileMark(here, folder)], [parts(folder)], 1
        try:
            while number <= last:
                rounds.begin(number, None, self._remembers)
                rounds.checks = number == last
                yield from self._round(rounds, at + (number - 1) * period, period)
                number += 1
                marks = [*marks[-2:], TileMark(here, folder)]
                states = [*states[-2:], parts(folder)]
                end = min(last, rounds.horizon - 1)
                if number >= end or len(marks) < 3 or not rounds.is_affine or (
                        self._frame is not here.recorder.frame):
                    continue
                found = repeated(here, marks)
                one = step(*states[-2:])
                if found is None or one is None or step(*states[:2]) != one or not extrapolate(
                        here, folder, marks, found, rounds, end - number):
                    continue
                repeat(folder, one, end - number)
                before = parts(folder)
                rounds.begin(end, None, self._remembers)
                rounds.checks = True
                self._open_gap()
                yield from self._round(rounds, at + (end - 1) * period, period)
                self._close_gap()
                if step(before, parts(folder)) != one or not rounds.is_affine:
                    raise Retrace(remembers=self._remembers)
                marks, states, number = [TileMark(here, folder)], [parts(folder)], end + 1
        finally:
            here.loops[here.loops.index(rounds)] = loop

    def _round(self, rounds: Loop, start: int, period: int) -> Iterator[Any]:
        """The iterations of a round."""
        values = self._loop.values
        for at in range(start, start + period):
            is_plain = at == self._kept or not rounds.is_affine
            yield (values[at] if is_plain
                   else LoopIndex(values[at], {rounds: period * values.step}))
            self._here.recorder.end_iteration(self._frame)

    def _open_gap(self) -> None:
        """What is executed next follows iterations that were left out."""
        if self._counted is not None:
            self._counted.gap.open()

    def _close_gap(self) -> None:
        """It is done: what it has left behind may not come from before the gap."""
        if self._counted is not None and self._counted.gap.is_bridged():
            raise Retrace(site=self._counted.site)

    def _index(self, at: int) -> Any:
        """The index of an iteration."""
        loop = self._loop
        value = loop.values[at]
        if at == self._kept or loop.is_counted and not loop.is_affine:
            return value
        return LoopIndex(value, {loop: 1})

    def _end_iteration(self, at: int, alike: int) -> None:
        """An iteration has been executed that takes the decisions of number `alike`."""
        self._look_for_counters(at, alike)
        self._has_left |= self._counted is not None and self._counted.has_left()
        self._here.recorder.end_iteration(self._frame)
        self._run.inner[at] = self._loop.runs
        self._run.alike[at] = alike

    def _look_for_counters(self, at: int, alike: int) -> None:
        """Whether an iteration has changed what its body may count: then all are executed.

        The first may have set what no other one changes: the second tells, before anything counts
        on it. A later one has the kernel traced again.
        """
        counted = self._counted
        if counted is None or self._loop.period == 0:
            return
        has_changed = counted.have_changed()
        if at == 0:
            self._is_counting = has_changed and self._known is None
            return
        self._is_counting = False
        if not has_changed:
            return
        if self._leaves_out or alike != at or self._known is not None:
            raise Retrace(site=counted.site)
        self._shortcuts.in_full.add(counted.site)
        self._loop.give_up()


def program_origin(axis: int) -> LoopOrigin:
    """The loop over an axis of the launch grid."""
    return LoopOrigin(f"program_{axis}", "affine", source.UNKNOWN)
