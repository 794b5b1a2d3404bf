# SPDX-License-Identifier: Apache-2.0
# One run of a loop that is proven or watched: which of its iterations are executed.
"""Executes a loop of the `nki` API until its iterations show a pattern; sample.py has the proof
that first and last determine those between.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any, NamedTuple

from trnsim.frontend.instances import adds, allocated, instance_steps, renewed
from trnsim.frontend.loop_index import Loop, LoopIndex
from trnsim.frontend.marks import Mark, are_one_run, leave_out
from trnsim.frontend.recorder import Recorder
from trnsim.frontend.records import psum
from trnsim.frontend.records.folding import Folder, LoopShape, ShapeTable
from trnsim.frontend.records.frame import RUNTIME, Frame
from trnsim.frontend.records.template import Template
from trnsim.frontend.records.tensor import PSUM, split_operand
from trnsim.frontend.sampling.progressions import are_progressions
from trnsim.frontend.sampling.watch import Watch
from trnsim.frontend.shortcuts import PATIENCE, Retrace
from trnsim.frontend.source import Site


class PsumMark(Mark):
    """The state between two iterations, with what is known of PSUM tiles."""

    __slots__ = ("adopted", "changes", "serial")

    def __init__(self, active: Recorder, folder: Folder) -> None:
        super().__init__(active, folder)
        self.adopted = len(active.adopted)
        self.changes = len(psum.changes)
        self.serial = psum.serial()

    def are_older_unchanged(self) -> bool:
        """Whether matmul results in tiles that are older than it are where they were."""
        return all(born >= self.serial for born in psum.changes[self.changes:])


class Pattern(NamedTuple):
    """What an iteration adds to the one before."""

    deltas: list[int] | None
    """To the values of its nodes; None if it has none."""
    instances: list[int]
    """To the instances of each buffer."""
    is_remembered: bool = False
    """Whether it is that of an earlier run of the loop."""


class Execution:
    """One run of a loop: its iterations, of which those that are not executed are predicted.

    `watch`: of a loop without a proof.
    """

    def __init__(self, active: Recorder, frame: Frame, values: range, site: Site,
                 watch: Watch | None = None) -> None:
        assert frame.folder is not None
        self._active = active
        self._shortcuts = active.shortcuts
        self._frame = frame
        self._folder = frame.folder
        self._site = site
        self._watch = watch
        self._last = len(values) - 1
        self._loop = Loop(values)
        self._loop.is_affine = site not in active.shortcuts.in_full
        self._marks: list[PsumMark] = []

    def iterations(self, at: int) -> Iterator[Any]:
        """The indices of the iterations that are executed, from number `at`."""
        loop, watch = self._loop, self._watch
        LoopIndex.open_loops.append(loop)
        self._marks = [self._mark()]
        try:
            while at <= self._last:
                index = self._begin(at)
                yield index
                self._active.end_iteration(self._frame)
                at += 1
                is_symbolic = type(index) is LoopIndex
                if self._may_show_pattern(at, is_symbolic):
                    at = yield from self._predicted(at, is_symbolic)
            if watch is not None and watch.leaves_indices():
                raise Retrace(site=self._site)
        finally:
            LoopIndex.open_loops.remove(loop)

    def _mark(self) -> PsumMark:
        return PsumMark(self._active, self._folder)

    def _begin(self, at: int) -> Any:
        """The index of iteration number `at`, from which the horizon is found anew."""
        loop = self._loop
        if at == self._last and self._watch is not None:
            self._watch.begin_last()
        loop.value = value = loop.values[at]
        loop.horizon = loop.values.stop
        loop.selections.clear()
        return LoopIndex(value, {loop: 1}) if loop.is_affine and at < self._last else value

    def _may_show_pattern(self, at: int, is_symbolic: bool) -> bool:
        """Whether the iteration before number `at` may tell those that follow; marks its end."""
        loop, watch = self._loop, self._watch
        if watch is not None and is_symbolic and not watch.is_alike(self._marks[-1].instances):
            if watch.may_hold(loop):
                raise Retrace(site=self._site)
            if at == 1:
                self._marks = [self._mark()]
                return False
            loop.is_affine = False
            self._shortcuts.failed("watch", self._site, PATIENCE)
        if not loop.is_affine:
            self._shortcuts.in_full.add(self._site)
        if at > self._last or not loop.is_affine:
            return False
        self._marks = [*self._marks[-2:], self._mark()]
        return self._frame is self._active.frame

    def _predicted(self, at: int, is_symbolic: bool) -> Generator[Any, None, int]:
        """The iteration behind those that can be predicted from number `at` on; returns the next.

        `is_symbolic`: whether the one before `at` had an index that is watched.
        """
        loop = self._loop
        values = loop.values
        end = min(self._last, (loop.horizon - 1 - values.start) // values.step)
        pattern = self._found()
        if pattern is not None and at < end:
            if not are_progressions(loop.selections, values.step, end - at + 1):
                loop.is_affine = False
                self._shortcuts.no_pattern(self._site)
                return at
            yield from self._extrapolated(pattern, at, end)
        elif pattern is None and at == 1 < end and is_symbolic and self._spans() and (
                are_progressions(loop.selections, values.step, end)):
            if end == self._last and self._repeats():
                return end + 1
            yield from self._spanned(end)
        else:
            if end < at:  # The next one decides otherwise than those before.
                self._marks = self._marks[-1:]
            return at
        if self._watch is not None:
            if not self._watch.is_alike(self._marks[-1].instances):
                raise Retrace(site=self._site)
            self._shortcuts.rewarding[self._site] = len(values)
        self._marks = [self._mark()]
        return end + 1

    def _extrapolated(self, pattern: Pattern, at: int, end: int) -> Iterator[Any]:
        """Leaves out the iterations from number `at`; number `end` is compared with the pattern."""
        folder = self._folder
        leave_out(self._active, folder, end - at, pattern.deltas, pattern.instances)
        expected = folder.count + (pattern.deltas is not None)
        yield from self._behind_gap(end)
        if folder.count != expected or not self._loop.is_affine:
            raise Retrace(pattern.is_remembered, None if self._watch is None else self._site)

    def _spans(self) -> bool:
        """Whether the first and the last iteration alone may tell those between.

        Not if the first was the first to access a tile that is older than the loop.
        """
        active, folder = self._active, self._folder
        before, after = self._marks[-2:]
        return (self._shortcuts.remembers and len(self._marks) == 2
                and (before.run, folder.count, after.run) == (0, 1, 1)
                and before.pieces == after.pieces == 0
                and adds(before.instances, after.instances, allocated(active, folder.shapes))
                and before.are_older_unchanged()
                and all(opened > self._frame.opened for opened in active.adopted[before.adopted:]))

    def _repeats(self) -> bool:
        """Adds all iterations that follow the first, if that is known to tell them.

        It is where nobody has looked at the index, and where it leaves nothing behind (watch.py).
        Instances that it has made are other ones each time, and nothing else is.
        """
        active, folder, watch = self._active, self._folder, self._watch
        before = self._marks[-2].instances
        if folder.origin.kind != RUNTIME or watch is None or (
                not watch.leaves_nothing(self._site[1], before)):
            return False
        steps = allocated(active, folder.shapes)
        deltas = renewed(active, folder.shapes, folder.first, before, steps)
        if deltas is None or self._moves_in_psum(deltas):
            return False
        leave_out(active, folder, self._last, deltas, steps)
        self._shortcuts.rewarding[self._site] = len(self._loop.values)
        return True

    def _spanned(self, end: int) -> Iterator[Any]:
        """The iteration number `end`, which with the first tells those between.

        The first had an index that is watched: all positions are affine in it, and a distance of
        both is so many steps.
        """
        active, folder = self._active, self._folder
        first, steps = folder.first, allocated(active, folder.shapes)
        leave_out(active, folder, end - 1, None, steps)
        before = self._mark()
        yield from self._behind_gap(end)
        moves = [divmod(delta, end) for delta in folder.deltas]
        deltas = [move for move, _ in moves]
        if (folder.count != 2 or not self._loop.is_affine or folder.first is not first
                or any(rest for _, rest in moves) or self._moves_in_psum(deltas)
                or not adds(before.instances, self._mark().instances, steps)):
            raise Retrace(remembers=True)
        folder.count, folder.deltas = end + 1, deltas

    def _behind_gap(self, at: int) -> Iterator[Any]:
        """The index of iteration number `at`, before which others were left out."""
        watch = self._watch
        if watch is not None:
            watch.gap.open()
        yield self._begin(at)
        self._active.end_iteration(self._frame)
        if watch is not None and watch.gap.is_bridged():
            raise Retrace(site=self._site)

    def _found(self) -> Pattern | None:
        """The pattern of the latest iteration; None if it shows none."""
        shortcuts, folder, marks = self._shortcuts, self._folder, self._marks
        before, after = marks[-2:]
        if not before.are_older_unchanged():
            return None
        key = ((self._site, self._loop.values.step, tuple(folder.shapes)) if folder.count
               else None)
        if len(marks) == 3 and are_one_run(marks):
            steps = instance_steps(self._active, folder.shapes,
                                   *(mark.instances for mark in marks))
            deltas = folder.deltas if after.run != before.run else None
            if steps is None or deltas is not None and self._moves_in_psum(deltas):
                shortcuts.no_pattern(self._site)
                return None
            if key is not None:
                shortcuts.patterns[key] = Pattern(deltas, steps, is_remembered=True)
            return Pattern(deltas, steps)
        if not shortcuts.remembers:
            return None
        if folder.count == after.run == 2 and before.run == 1 and before.pieces == after.pieces:
            return self._guessed()
        if folder.count != 1:
            return None
        pattern: Pattern | None = shortcuts.patterns.get(key)
        return pattern if pattern is not None and adds(
            before.instances, after.instances, pattern.instances) else None

    def _guessed(self) -> Pattern | None:
        """The pattern if the second iteration of a loop follows from the first as all others do.

        The first had no LoopIndex and may have made other decisions; the last tells, as it does
        where a pattern is remembered. None if it cannot be.
        """
        folder = self._folder
        before, after = self._marks[-2:]
        steps = allocated(self._active, folder.shapes)
        if not adds(before.instances, after.instances, steps) or (
                self._moves_in_psum(folder.deltas)):
            return None
        return Pattern(folder.deltas, steps, is_remembered=True)

    def _moves_in_psum(self, deltas: list[int]) -> bool:
        """Whether an instruction writes to another place of a PSUM tile in each iteration."""
        return moves_in_psum(self._folder.table, self._folder.shapes, deltas)


def moves_in_psum(table: ShapeTable, shapes: Sequence[int], deltas: Sequence[int]) -> bool:
    """Whether nodes with these distances write to another place of a PSUM tile each time."""
    place = 0
    for shape in shapes:
        entry = table.entries[shape]
        end = place + table.arity[shape]
        if isinstance(entry, LoopShape):
            if moves_in_psum(table, entry.body, deltas[place:end]):
                return True
        elif isinstance(entry, Template) and _writes_elsewhere(entry, deltas[place]):
            return True
        place = end
    return False


def _writes_elsewhere(entry: Template, delta: int) -> bool:
    """Whether an instruction that moves by a delta writes to another place of a PSUM tile."""
    for _, access, form, _ in entry.operands:
        offset, partition, instance, delta = split_operand(delta)
        is_moved = offset or partition or (instance and form.buffer.extent is not None)
        if access != "read" and form.space == PSUM and is_moved:
            return True
    return False
