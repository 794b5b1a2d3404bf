# SPDX-License-Identifier: Apache-2.0
# Executes some iterations of a loop and predicts the others.
"""Loops of the `nki` API whose body is proven to repeat itself: from its source (loop_proof.py), or
by a look at all state that it reaches while it runs (watch.py).

After the first, which shows how long the loop is, iterations are executed until two successive ones
are equal but for constant steps; those up to the loop's horizon (loop_index.py) are predicted, the
last of them is executed and compared. If the second has the nodes of the first, its steps are tried
at once. A loop inside of a proven one runs many times: one iteration that has the same nodes as one
of an earlier run has its steps too, which again the last one is compared with. Where already the
first had an index that is watched, it and the last determine those between. The proof:

1. An iteration is a function of its index, of constant objects and of the recorder (loop_proof.py,
   watch.py).
2. Up to the horizon all comparisons of the index give the same answers, so the same calls are made;
   all positions in them are affine in the index, as every other use of it asks for its value and
   has the loop executed in full. So first and last determine those between.
3. Of the recorder, an iteration sees the numbers of instances, which advance by constant steps, and
   which regions of PSUM tiles hold matmul results. It may not change those of older tiles, and what
   it writes to PSUM may not move with the index: then all iterations see the same.
4. Lists that the index subscripts hold tensors at constant distances, as far as iterations are left
   out: that is looked at, so that positions are affine there, too.
5. Bounds of accesses are affine: inside at both ends, they are inside between.

The last iteration gets a plain integer, so that the kernel finds one after the loop. A proven body
only ends a loop early by an error: the kernel is then traced again with all iterations, so that the
error is that of the iteration at fault, even if the kernel handles it.
"""

from __future__ import annotations

from ast import For
from collections.abc import Iterator
from contextlib import nullcontext
from types import FrameType
from typing import Any, NamedTuple

from trnsim.frontend import psum, recorder
from trnsim.frontend.folding import Folder, LoopShape, ShapeTable
from trnsim.frontend.instances import adds, allocated, instance_steps
from trnsim.frontend.loop_index import Loop, LoopIndex
from trnsim.frontend.loop_proof import proven
from trnsim.frontend.loop_source import is_known, source_bytes, statement
from trnsim.frontend.marks import Mark, are_one_run, leave_out
from trnsim.frontend.progressions import are_progressions
from trnsim.frontend.recorder import Frame, LoopOrigin, Recorder, Template
from trnsim.frontend.shortcuts import PATIENCE, Retrace
from trnsim.frontend.source import Site
from trnsim.frontend.subscripts import subscripted
from trnsim.frontend.tensor import PSUM, split_operand
from trnsim.frontend.watch import Watch, calls_functions, watched

FEWEST = 3
"""Iterations of a loop inside of a proven one below which all are executed: one shows a pattern
that is known from before, the last is checked."""
LONG = 100
"""Calls of a loop behind its first iteration, beyond which a proof is worth the while. [ASSUMED]"""
BYTES_PER_CALL = 10
"""Bytes of source that are read in the time of a call. [ASSUMED]"""
WATCHED = 400
"""Calls of a loop behind its first iteration, beyond which it is watched if it has no proof: what
its iterations can reach has to be looked at. [ASSUMED]"""
FEWEST_WATCHED = 4
"""Iterations of a loop up to which it is not watched: three or four are executed anyway."""


_calls: dict[str, int] = {}
"""Calls in loops of files that have not been read, by path."""


class PsumMark(Mark):
    """The state between two iterations, with what is known of PSUM tiles."""

    __slots__ = ("changes", "serial")

    def __init__(self, active: Recorder, folder: Folder) -> None:
        super().__init__(active, folder)
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


class Proof(NamedTuple):
    """A proven loop that is being executed: its frame, and the loops in it that are proven."""

    frame: FrameType
    loops: frozenset[For]


def sample(frame: FrameType, values: range, origin: LoopOrigin) -> Iterator[Any] | None:
    """The executed iterations of a loop of the `nki` API; None for all of them."""
    active = recorder.required()
    site = (id(frame.f_code), frame.f_lasti)
    if len(values) < 2 or values.step < 0:
        return None
    proofs = active.shortcuts.proofs
    if proofs and proofs[-1].frame is frame and proofs[-1].loops:
        if len(values) < FEWEST or site in active.shortcuts.in_full:
            return None
        found = statement(frame, site)
        if found is not None and found.loop in proofs[-1].loops:
            return _inner(active, values, site, origin)
    return iterate(active, frame, site, values, origin)


def iterate(active: Recorder, user: FrameType, site: Site, values: range,
            origin: LoopOrigin) -> Iterator[Any]:
    """The iterations of a loop that are executed: all of them, unless it is long and proven."""
    shortcuts = active.shortcuts
    frame = active.open_loop(origin)
    folder = frame.folder
    assert folder is not None
    try:
        at, loops, watch = 0, None, None
        if len(values) >= shortcuts.rewarding.get(site, len(values) + 1) and (
                site not in shortcuts.in_full):
            watch = _watch(active, user, site)
        if watch is None:
            at = 1
            yield values[0]
            active.end_iteration(frame)
            calls = _calls_left(active, folder, len(values))
            is_long = (calls > WATCHED and len(values) > FEWEST_WATCHED
                       and site not in shortcuts.in_full)
            if is_long and calls_functions(user, site):
                watch = _watch(active, user, site)
            if watch is None and calls > LONG and is_worth_reading(user.f_code.co_filename, site,
                                                                   calls):
                loops = _proof(active, user, site)
            if watch is None and loops is None and is_long:
                watch = _watch(active, user, site)
        if loops is not None or watch is not None:
            shortcuts.proofs.append(Proof(user, loops or frozenset()))
            shortcuts.has_sampled = True
            shortcuts.unfinished += 1
            with nullcontext() if watch is None else watch.listening():
                yield from _proven(active, frame, values, site, at, watch)
            shortcuts.unfinished -= 1
            shortcuts.proofs.pop()
        else:
            for value in values[1:]:
                yield value
                active.end_iteration(frame)
    finally:
        active.close_loop(frame)


def _proof(active: Recorder, user: FrameType, site: Site) -> frozenset[For] | None:
    """The loops that are proven with one; it is not tried again and again."""
    loops = proven(user, site) if active.shortcuts.may_try("proof", site) else None
    if loops is None:
        active.shortcuts.failed("proof", site)
    return loops


def _watch(active: Recorder, user: FrameType, site: Site) -> Watch | None:
    """A watch of a loop that has no proof; it is not tried again and again."""
    watch = watched(user, site) if active.shortcuts.may_try("watch", site) else None
    if watch is None:
        active.shortcuts.failed("watch", site)
    return watch


def _inner(active: Recorder, values: range, site: Site, origin: LoopOrigin) -> Iterator[Any]:
    """The iterations that are executed of a proven loop inside of another one."""
    frame = active.open_loop(origin)
    try:
        yield from _proven(active, frame, values, site, 0)
    finally:
        active.close_loop(frame)


def _calls_left(active: Recorder, folder: Folder, count: int) -> int:
    """Calls of the iterations that follow, if all have as many as the first."""
    executed = active.table.executed
    return sum(executed[shape] for shape in folder.shapes) * (count - 1)


def is_worth_reading(path: str, site: Site, calls: int) -> bool:
    """Whether a source file has been read, or should be after so many more calls in its loops."""
    if is_known(site):
        return True
    made = _calls[path] = _calls.get(path, 0) + calls
    return made > source_bytes(path) // BYTES_PER_CALL


def _proven(active: Recorder, frame: Frame, values: range, site: Site, at: int,
            watch: Watch | None = None) -> Iterator[Any]:
    """The iterations that are executed, from number `at`, of a loop that is proven or watched."""
    folder = frame.folder
    assert folder is not None
    loop = Loop(values)
    loop.is_affine = site not in active.shortcuts.in_full
    LoopIndex.open_loops.append(loop)
    try:
        last, marks = len(values) - 1, [PsumMark(active, folder)]
        while at <= last:
            if at == last and watch is not None:
                watch.begin_last()
            index = _index(loop, at, last)
            yield index
            active.end_iteration(frame)
            at += 1
            if watch is not None and type(index) is LoopIndex and (
                    not watch.is_alike(marks[-1].instances)):
                if watch.may_hold(loop):
                    raise Retrace(site=site)
                if at == 1:
                    marks = [PsumMark(active, folder)]
                    continue
                loop.is_affine = False
                active.shortcuts.failed("watch", site, PATIENCE)
            if not loop.is_affine:
                active.shortcuts.in_full.add(site)
            if at > last or not loop.is_affine:
                continue
            marks = [*marks[-2:], PsumMark(active, folder)]
            end = min(last, (loop.horizon - 1 - values.start) // values.step)
            if frame is not active.frame:
                continue
            pattern = _found(active, folder, marks, site, values.step)
            if pattern is None and at == 1 < end and type(index) is LoopIndex and (
                    _spans(active, folder, marks)
                    and are_progressions(loop.selections, values.step, end)):
                if end == last and watch is not None:
                    watch.begin_last()
                yield from _spanned(active, frame, loop, end, marks[-2:])
            elif pattern is None or at >= end:
                continue
            elif not are_progressions(loop.selections, values.step, end - at + 1):
                loop.is_affine = False
                active.shortcuts.no_pattern(site)
                continue
            else:
                leave_out(active, folder, end - at, pattern.deltas, pattern.instances)
                expected = folder.count + (pattern.deltas is not None)
                if end == last and watch is not None:
                    watch.begin_last()
                yield _index(loop, end, last)
                active.end_iteration(frame)
                if folder.count != expected or not loop.is_affine:
                    raise Retrace(pattern.is_remembered, None if watch is None else site)
            at = end + 1
            if watch is not None and not watch.is_alike(marks[-1].instances):
                raise Retrace(site=site)
            if watch is not None:
                active.shortcuts.rewarding[site] = len(values)
            marks = [PsumMark(active, folder)]
        if watch is not None and watch.leaves_indices():
            raise Retrace(site=site)
    finally:
        LoopIndex.open_loops.remove(loop)


def _spans(active: Recorder, folder: Folder, marks: list[PsumMark]) -> bool:
    """Whether the first and the last iteration alone may tell those between."""
    before, after = marks[-2:]
    return (active.shortcuts.remembers and len(marks) == 2 and (before.run, folder.count, after.run) == (
        0, 1, 1) and before.pieces == after.pieces == 0 and adds(
            before.instances, after.instances, allocated(active, folder.shapes))
        and before.are_older_unchanged())


def _spanned(active: Recorder, frame: Frame, loop: Loop, end: int,
             marks: list[PsumMark]) -> Iterator[Any]:
    """The last iteration of those that follow from the first, which had an index that is watched.

    All positions are affine in the index: a distance of both is so many steps.
    """
    folder = frame.folder
    assert folder is not None
    first, steps = folder.first, allocated(active, folder.shapes)
    for buffer, step in zip(active.buffers, steps):
        buffer.instances += step * (end - 1)
    before = PsumMark(active, folder)
    yield _index(loop, end, len(loop.values) - 1)
    active.end_iteration(frame)
    moves = [divmod(delta, end) for delta in folder.deltas]
    deltas = [move for move, _ in moves]
    if (folder.count != 2 or not loop.is_affine or folder.first is not first
            or any(rest for _, rest in moves) or _moves_in_psum(folder.table, folder.shapes, deltas)
            or not adds(before.instances, PsumMark(active, folder).instances, steps)):
        raise Retrace(remembers=True)
    folder.count, folder.deltas = end + 1, deltas


def _index(loop: Loop, at: int, last: int) -> Any:
    """The index of an iteration, from which the horizon is found anew."""
    loop.value = value = loop.values[at]
    loop.horizon = loop.values.stop
    loop.selections.clear()
    return LoopIndex(value, {loop: 1}) if loop.is_affine and at < last else value


def _found(active: Recorder, folder: Folder, marks: list[PsumMark], site: Site,
           step: int) -> Pattern | None:
    """The pattern of the latest iteration of a loop with this step; None if it shows none."""
    before = marks[-2]
    if not before.are_older_unchanged():
        return None
    shortcuts = active.shortcuts
    key = (site, step, tuple(folder.shapes)) if folder.count else None
    if len(marks) == 3 and are_one_run(marks):
        steps = instance_steps(active, folder.shapes, *(mark.instances for mark in marks))
        deltas = folder.deltas if marks[-1].run != before.run else None
        if steps is None or deltas is not None and _moves_in_psum(folder.table, folder.shapes,
                                                                  deltas):
            shortcuts.no_pattern(site)
            return None
        if key is not None:
            shortcuts.patterns[key] = Pattern(deltas, steps, is_remembered=True)
        return Pattern(deltas, steps)
    if not shortcuts.remembers:
        return None
    if folder.count == marks[-1].run == 2 and before.run == 1 and (
            before.pieces == marks[-1].pieces):
        return _guessed(active, folder, *marks[-2:])
    if folder.count != 1:
        return None
    pattern: Pattern | None = shortcuts.patterns.get(key)
    return pattern if pattern is not None and adds(
        before.instances, marks[-1].instances, pattern.instances) else None


def _guessed(active: Recorder, folder: Folder, before: PsumMark,
             after: PsumMark) -> Pattern | None:
    """The pattern if the second iteration of a loop follows from the first as all others do.

    The first had no LoopIndex and may have made other decisions; the last tells, as it does where
    a pattern is remembered. None if it cannot be.
    """
    steps = allocated(active, folder.shapes)
    if not adds(before.instances, after.instances, steps) or (
            _moves_in_psum(folder.table, folder.shapes, folder.deltas)):
        return None
    return Pattern(folder.deltas, steps, is_remembered=True)


LoopIndex.subscripted = subscripted


def _moves_in_psum(table: ShapeTable, shapes: list[int] | tuple[int, ...],
                   deltas: list[int]) -> bool:
    """Whether an instruction writes to another place of a PSUM tile in each iteration."""
    place = 0
    for shape in shapes:
        entry = table.entries[shape]
        end = place + table.arity[shape]
        if isinstance(entry, LoopShape):
            if _moves_in_psum(table, entry.body, deltas[place:end]):
                return True
        elif isinstance(entry, Template):
            rest = deltas[place]
            for _, access, form, _ in entry.operands:
                offset, partition, instance, rest = split_operand(rest)
                is_moved = offset or partition or (instance and form.buffer.extent is not None)
                if access != "read" and form.space == PSUM and is_moved:
                    return True
        place = end
    return False
