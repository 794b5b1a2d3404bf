# SPDX-License-Identifier: Apache-2.0
# Executes some iterations of a loop and predicts the others.
"""Loops of the `nki` API whose body is proven to repeat itself (loop_proof.py).

After the first, iterations are executed until two successive ones are equal but for constant
steps; those up to the loop's horizon (loop_index.py) are predicted, the last of them is executed
and compared. The proof:

1. An iteration is a function of its index, of constant objects and of the recorder (loop_proof.py).
2. Up to the horizon all comparisons of the index give the same answers, so the same calls are made;
   all positions in them are affine in the index, as every other use of it asks for its value and
   has the loop executed in full.
3. Of the recorder, an iteration sees the numbers of instances, which advance by constant steps, and
   which regions of PSUM tiles hold matmul results. It may not change those of older tiles, and what
   it writes to PSUM may not move with the index: then all iterations see the same.
4. Bounds of accesses are affine: inside at both ends, they are inside between.

The last iteration gets a plain integer, so that the kernel finds one after the loop. A proven body
only ends a loop early by an error: the kernel is then traced again with all iterations, so that the
error is that of the iteration at fault, even if the kernel handles it.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

from trnsim.frontend import psum, recorder
from trnsim.frontend.dialect import Retrace
from trnsim.frontend.folding import Folder, LoopShape, ShapeTable
from trnsim.frontend.loop_index import Loop, LoopIndex
from trnsim.frontend.loop_proof import is_known, is_repeatable
from trnsim.frontend.recorder import Frame, LoopOrigin, Recorder, Template
from trnsim.frontend.source import Site
from trnsim.frontend.tensor import PSUM, split_operand

EXECUTED = 4
"""Iterations that are executed at least: one to learn how long it is, two steps, the last."""
LONG = 200
"""Calls that are left out of a loop, beyond which it is worth the while. [ASSUMED]"""
LONG_UNKNOWN = 4000
"""The same for a loop whose source has to be read first. [ASSUMED]"""


class Mark:
    """The state between two iterations; the differences of three marks are two steps."""

    __slots__ = ("changes", "instances", "pieces", "run", "serial")

    def __init__(self, active: Recorder, folder: Folder) -> None:
        self.run = folder.count
        self.pieces = len(folder.pieces)
        self.instances = [buffer.instances for buffer in active.buffers]
        self.changes = len(psum.changes)
        self.serial = psum.serial()


def iterate(active: Recorder, user: FrameType, site: Site, values: range,
            origin: LoopOrigin) -> Iterator[Any]:
    """The iterations of a loop that are executed: all of them, unless it is long and proven."""
    frame = active.open_loop(origin)
    folder = frame.folder
    assert folder is not None
    try:
        yield values[0]
        active.end_iteration(frame)
        if _is_long(active, folder, len(values), is_known(site)) and is_repeatable(user, site):
            yield from _proven(active, frame, values, site)
        else:
            for value in values[1:]:
                yield value
                active.end_iteration(frame)
    finally:
        active.close_loop(frame)


def _is_long(active: Recorder, folder: Folder, count: int, known: bool) -> bool:
    """Whether a loop is worth the while, if its iterations have as many calls as the first."""
    executed = active.table.executed
    calls = sum(executed[shape] for shape in folder.shapes) * (count - EXECUTED)
    return calls > (LONG if known else LONG_UNKNOWN)


def _proven(active: Recorder, frame: Frame, values: range, site: Site) -> Iterator[Any]:
    """The iterations of a proven loop, after the first, that are executed."""
    folder = frame.folder
    assert folder is not None
    loop = Loop(values)
    LoopIndex.in_use += 1
    active.has_sampled = True
    active.unfinished += 1
    try:
        at, last, marks = 1, len(values) - 1, [Mark(active, folder)]
        while at <= last:
            yield _index(loop, at, last)
            active.end_iteration(frame)
            at += 1
            if not loop.is_affine:
                active.asking.add(site)
            if at >= last or not loop.is_affine:
                continue
            marks = [*marks[-2:], Mark(active, folder)]
            end = min(last, (loop.horizon - 1 - values.start) // values.step)
            if at >= end or frame is not active.frame:
                continue
            if _extrapolate(active, folder, marks, end - at):
                expected = folder.count + marks[-1].run - marks[-2].run
                yield _index(loop, end, last)
                active.end_iteration(frame)
                if folder.count != expected or not loop.is_affine:
                    raise Retrace
                at, marks = end + 1, [Mark(active, folder)]
        active.unfinished -= 1
    finally:
        LoopIndex.in_use -= 1


def sample(frame: FrameType, values: range, origin: LoopOrigin) -> Iterator[Any] | None:
    """The executed iterations of a loop of the `nki` API; None for all of them."""
    active = recorder.required()
    site = (id(frame.f_code), frame.f_lasti)
    if len(values) <= EXECUTED or values.step < 0 or site in active.asking:
        return None
    return iterate(active, frame, site, values, origin)


def _index(loop: Loop, at: int, last: int) -> Any:
    """The index of an iteration, from which the horizon is found anew."""
    loop.value = value = loop.values[at]
    loop.horizon = loop.values.stop
    return LoopIndex(value, {loop: 1}) if loop.is_affine and at < last else value


def _extrapolate(active: Recorder, folder: Folder, marks: list[Mark], count: int) -> bool:
    """Adds `count` iterations like the last two; False if those two are no pattern."""
    if len(marks) < 3 or not _is_run(marks):
        return False
    steps = instance_steps(*(mark.instances for mark in marks))
    before = marks[-2]
    if steps is None or any(born < before.serial for born in psum.changes[before.changes:]):
        return False
    if marks[-1].run != before.run:
        if _moves_in_psum(folder.table, folder.shapes, folder.deltas):
            return False
        folder.count += count
        folder.last = [value + count * delta
                       for value, delta in zip(folder.last, folder.deltas, strict=True)]
    for buffer, step in zip(active.buffers, steps, strict=True):
        buffer.instances += step * count
    return True


def _is_run(marks: list[Mark]) -> bool:
    """Whether the last two iterations are one run of the folder, or recorded nothing."""
    first, second, third = ((mark.run, mark.pieces) for mark in marks)
    if third[0] == second[0] + 1:
        return third[0] >= 2 and third[1] == second[1]
    return first == second == third


def instance_steps(first: list[int], second: list[int], third: list[int]) -> list[int] | None:
    """Instances that each buffer got in the last iteration, if the one before was like it."""
    if not len(first) <= len(second) == len(third):
        return None
    steps = [after - before for before, after in zip(second, third)]
    earlier = [after - before for before, after in zip(first, second)]
    return steps if steps[:len(earlier)] == earlier or len(first) < len(second) else None


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
