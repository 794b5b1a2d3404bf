# SPDX-License-Identifier: Apache-2.0
# What the iterations of a loop have in common, and the state after those that are left out.
"""The pattern of a loop of the 0.1 dialect.

Two successive iterations that are equal but for constant steps show a pattern. A loop inside of
another one runs many times, and the pattern belongs to its body: where an iteration has the same
nodes as one of an earlier run, its steps are those of that run. They are affine in the index with
constant coefficients (see loop_index.py), and the iteration that is executed last is compared with
its prediction: two points determine a line.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from trnsim.frontend.folding import Folder
from trnsim.frontend.instances import adds, instance_steps
from trnsim.frontend.legacy.blocks import BlockTable, Made
from trnsim.frontend.legacy.session import Session
from trnsim.frontend.loop_index import Loop


class Mark:
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


class Run:
    """Tiles of one table, in the order in which they were made, with constant steps between them.

    `members` are the entries of the log that they come from.
    """

    __slots__ = ("base", "base_step", "count", "members", "number", "number_step", "table")

    def __init__(self, entry: Made, number: int, base: int) -> None:
        self.table: BlockTable = entry.table
        self.number = number
        self.base = base
        self.count = 1
        self.number_step = self.base_step = 0
        self.members = [entry]

    def extend(self, entry: Made, number: int, base: int, left: int) -> int:
        """Takes what continues the run of the last `left` tiles of an entry, from this one."""
        if self.count == 1:
            self.number_step, self.base_step = number - self.number, base - self.base
        elif (number - self.number != self.count * self.number_step
              or base - self.base != self.count * self.base_step):
            return 0
        goes_on = (entry.number_step, entry.base_step) == (self.number_step, self.base_step)
        taken = left if goes_on else 1
        self.count += taken
        if self.members[-1] is not entry:
            self.members.append(entry)
        return taken

    def kind(self) -> tuple[int, int, int]:
        """What does not depend on where the run starts."""
        return self.count, self.number_step, self.base_step


class Step(NamedTuple):
    """A run of tiles, and how far it moves from one iteration to the next."""

    kind: tuple[int, int, int]
    number: int
    base: int


class Pattern(NamedTuple):
    """What an iteration adds to the one before."""

    deltas: list[int] | None
    """To the values of its nodes; None if it has none."""
    instances: list[int]
    """To the instances of each buffer."""
    blocks: list[Step]
    """To the tiles that it makes of older blocks."""
    is_remembered: bool = False
    """Whether it is that of an earlier run of the loop."""


def found(here: Session, folder: Folder, marks: list[Mark], step: int) -> Pattern | None:
    """The pattern of the latest iteration of a loop with this step; None if it shows none."""
    if len(marks) < 2 or not _regions_are_local(here, marks[-2]):
        return None
    known = here.recorder.patterns
    key = (folder.origin, step, tuple(folder.shapes)) if folder.count else None
    if len(marks) == 3 and _is_run(marks):
        made = _pattern(here, folder, marks)
        if made is not None and key is not None:
            known[key] = made._replace(is_remembered=True)
        return made
    if folder.count != 1 or not here.recorder.remembers:
        return None
    pattern = known.get(key)
    return pattern if pattern is not None and _is_like(here, pattern, marks[-2:]) else None


def _is_run(marks: list[Mark]) -> bool:
    """Whether the last two iterations are one run of the folder, or recorded nothing."""
    first, second, third = ((mark.run, mark.pieces) for mark in marks)
    if third[0] == second[0] + 1:
        return third[0] >= 2 and third[1] == second[1]
    return first == second == third


def _pattern(here: Session, folder: Folder, marks: list[Mark]) -> Pattern | None:
    """The pattern that two iterations show."""
    steps = instance_steps(here.recorder, folder.shapes, *(mark.instances for mark in marks))
    earlier, latest = (_outer_tiles(here, *pair) for pair in pairwise(marks))
    if steps is None or earlier is None or latest is None or len(earlier) != len(latest):
        return None
    blocks = []
    for one, other in zip(earlier, latest):
        if one.table is not other.table or one.kind() != other.kind():
            return None
        blocks.append(Step(one.kind(), other.number - one.number, other.base - one.base))
    return Pattern(folder.deltas if marks[-1].run != marks[-2].run else None, steps, blocks)


def _is_like(here: Session, pattern: Pattern, marks: list[Mark]) -> bool:
    """Whether an iteration between two marks adds as many instances and tiles as the pattern."""
    before, after = marks
    runs = _outer_tiles(here, before, after)
    return (runs is not None and adds(before.instances, after.instances, pattern.instances)
            and [run.kind() for run in runs] == [step.kind for step in pattern.blocks])


def _outer_tiles(here: Session, before: Mark, after: Mark) -> list[Run] | None:
    """The tiles that an iteration made of tensors that existed before it, by table.

    None if one of them was not accessed.
    """
    runs: dict[int, list[Run]] = {}
    for entry in here.block_log[before.blocks:after.blocks]:
        if entry.table.number > before.tables:
            continue
        if entry.tile.storage.base is None:
            return None
        of_table = runs.setdefault(entry.table.number, [])
        number, base, left = entry.number, entry.base, entry.count
        while left:
            taken = of_table[-1].extend(entry, number, base, left) if of_table else 0
            if not taken:
                of_table.append(Run(entry, number, base))
                taken = 1
            number += taken * entry.number_step
            base += taken * entry.base_step
            left -= taken
    return [run for of_table in runs.values() for run in of_table]


def _regions_are_local(here: Session, mark: Mark) -> bool:
    """Whether all PSUM regions that an iteration began lie in tiles that it made itself."""
    return all(contents.clock > mark.clock for contents in here.region_log[mark.regions:])


def _indexed(here: Session, marks: list[Mark], loop: Loop) -> set[BlockTable]:
    """The tables of blocks that the latest iterations subscripted with the loop's index."""
    return {table for table, index in here.index_log[marks[0].indexed:] if loop in index.terms}


def extrapolate(here: Session, folder: Folder, marks: list[Mark], pattern: Pattern, loop: Loop,
                count: int) -> bool:
    """Adds `count` iterations like the latest.

    False if tiles that they make exist already. False for good if tiles that they name are not at
    equal distances, or may not exist: what is in between cannot be told from first and last then.
    """
    runs = _outer_tiles(here, *marks[-2:]) or ()
    growing = {run.table for run in runs}
    if not all(table.is_regular() and (table.is_complete or table in growing)
               for table in _indexed(here, marks, loop)):
        loop.is_affine = False
        return False
    moved: dict[Made, tuple[int, int]] = {}
    for run, step in zip(runs, pattern.blocks):
        for entry in run.members:
            if moved.setdefault(entry, (step.number, step.base)) != (step.number, step.base):
                return False
    made = [further for entry, (number, base) in moved.items()
            for further in entry.repeated(number, base, count)]
    if not all(further.is_free() for further in made):
        return False
    if pattern.deltas is not None:
        folder.deltas = pattern.deltas
        folder.count += count
        folder.last = [value + count * delta
                       for value, delta in zip(folder.last, pattern.deltas, strict=True)]
    for buffer, more in zip(here.recorder.buffers, pattern.instances):
        buffer.instances += more * count
    for further in made:
        further.adopt(here)
    return True
