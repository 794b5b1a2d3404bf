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

from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from trnsim.frontend.instances import Growth, adds, adds_alike, instance_steps
from trnsim.frontend.legacy.blocks import BlockTable, Made, Named
from trnsim.frontend.legacy.session import Session
from trnsim.frontend.loop_index import Loop
from trnsim.frontend.marks import Mark, are_one_run, leave_out
from trnsim.frontend.records.folding import Folder
from trnsim.frontend.sampling.runs import Jump


class TileMark(Mark):
    """The state between two iterations, with what the session knows of tiles."""

    __slots__ = ("blocks", "clock", "indexed", "regions", "tables")

    def __init__(self, here: Session, folder: Folder) -> None:
        super().__init__(here.recorder, folder)
        self.blocks = len(here.block_log)
        self.indexed = len(here.index_log)
        self.tables = here.tables
        self.clock = here.clock
        self.regions = len(here.region_log)


class TileRun:
    """Tiles of one table in the order of their places, with constant steps between them."""

    __slots__ = ("_parts", "base", "base_step", "count", "number", "number_step", "table")

    def __init__(self, entry: Made, number: int, base: int) -> None:
        self.table: BlockTable = entry.table
        self.number = number
        self.base = base
        self.count = 1
        self.number_step = self.base_step = 0
        self._parts = [(entry, 0)]
        """Entries of the log, and the tiles of the run before those that come from them."""

    def extend(self, entry: Made, number: int, base: int, left: int) -> int:
        """Takes what continues the run of the last `left` tiles of an entry, from this one."""
        if self.count == 1:
            self.number_step, self.base_step = number - self.number, base - self.base
        elif (number - self.number != self.count * self.number_step
              or base - self.base != self.count * self.base_step):
            return 0
        goes_on = (entry.number_step, entry.base_step) == (self.number_step, self.base_step)
        taken = left if goes_on else 1
        if self._parts[-1][0].tile is not entry.tile:
            self._parts.append((entry, self.count))
        self.count += taken
        return taken

    def made(self) -> Iterator[Made]:
        """Its tiles, those together that are like the same one."""
        ends = [start for _, start in self._parts[1:]] + [self.count]
        for (entry, start), end in zip(self._parts, ends):
            yield Made(self.table, self.number + start * self.number_step, entry.tile,
                       self.base + start * self.base_step - entry.base + entry.offset,
                       end - start, self.number_step, self.base_step)

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


def found(here: Session, folder: Folder, marks: list[TileMark], step: int) -> Pattern | None:
    """The pattern of the latest iteration of a loop with this step; None if it shows none."""
    if len(marks) < 2 or not _regions_are_local(here, marks[-2]):
        return None
    shortcuts = here.recorder.shortcuts
    key = (folder.origin, step, tuple(folder.shapes)) if folder.count else None
    if len(marks) == 3 and are_one_run(marks):
        made = _pattern(here, folder, marks)
        if made is not None and key is not None:
            shortcuts.patterns[key] = made._replace(is_remembered=True)
        return made
    if folder.count != 1 or not shortcuts.remembers:
        return None
    pattern = shortcuts.patterns.get(key)
    return pattern if pattern is not None and _is_like(here, pattern, marks[-2:]) else None


def _pattern(here: Session, folder: Folder, marks: list[TileMark]) -> Pattern | None:
    """The pattern that two iterations show."""
    steps = instance_steps(here.recorder, folder.shapes, *(mark.instances for mark in marks))
    blocks = _steps(here, marks)
    if steps is None or blocks is None:
        return None
    return Pattern(folder.deltas if marks[-1].run != marks[-2].run else None, steps, blocks)


def _steps(here: Session, marks: list[TileMark]) -> list[Step] | None:
    """How far the tiles of older blocks move from an iteration to the next."""
    earlier, latest = (_outer_tiles(here, *pair) for pair in pairwise(marks))
    if earlier is None or latest is None or len(earlier) != len(latest):
        return None
    blocks = []
    for one, other in zip(earlier, latest):
        if one.table is not other.table or one.kind() != other.kind():
            return None
        blocks.append(Step(one.kind(), other.number - one.number, other.base - one.base))
    return blocks


def repeated(here: Session, marks: list[TileMark]) -> Pattern | None:
    """What two rounds of iterations (repetition.py) have made alike, but for nodes."""
    earlier, latest = ([after - before for before, after in zip(one.instances, other.instances)]
                       for one, other in pairwise(marks))
    if (len({len(mark.instances) for mark in marks}) > 1 or earlier != latest
            or not _regions_are_local(here, marks[-2])):
        return None
    blocks = _steps(here, marks)
    return None if blocks is None else Pattern(None, latest, blocks)


def _is_like(here: Session, pattern: Pattern, marks: list[TileMark]) -> bool:
    """Whether an iteration between two marks adds as many instances and tiles as the pattern."""
    before, after = marks
    return (adds(before.instances, after.instances, pattern.instances)
            and _makes(here, pattern, before, after))


def continues(here: Session, folder: Folder, marks: list[TileMark], jump: Jump,
              known: Growth | None) -> bool:
    """Whether an iteration between two marks begins a piece of a run that is known.

    It makes as many instances as the others of its piece, or as the first one has made of tiles
    that are older: `known` are those before and after.
    """
    before, after = marks
    pattern = jump.pattern
    made = (before.instances, after.instances)
    if pattern.deltas is None:
        is_like = (before.run, before.pieces) == (after.run, after.pieces)
    else:
        is_like = (tuple(folder.shapes) == jump.shapes
                   and (before.run, before.pieces) != (after.run, after.pieces)
                   and (folder.count == 1 or folder.deltas == pattern.deltas))
    return (is_like and (adds(*made, pattern.instances)
                         or known is not None and adds_alike(known, made))
            and _makes(here, pattern, before, after))


def _makes(here: Session, pattern: Pattern, before: TileMark, after: TileMark) -> bool:
    """Whether an iteration between two marks makes the tiles of the pattern."""
    runs = _outer_tiles(here, before, after)
    return runs is not None and [run.kind() for run in runs] == [
        step.kind for step in pattern.blocks]


def _outer_tiles(here: Session, before: TileMark, after: TileMark) -> list[TileRun] | None:
    """The tiles that an iteration made of tensors that existed before it, by table.

    Those of a table are in the order of their places, whether they were executed or predicted.
    None if one of them was not accessed.
    """
    entries: dict[int, list[Made]] = {}
    entry: Made
    for entry in here.block_log[before.blocks:after.blocks]:
        if entry.table.number > before.tables:
            continue
        if entry.tile.storage.base is None:
            return None
        entries.setdefault(entry.table.number, []).append(entry)
    runs: list[TileRun] = []
    for of_table in entries.values():
        of_table.sort(key=attrgetter("base"))
        start = len(runs)
        for entry in of_table:
            number, base, left = entry.number, entry.base, entry.count
            while left:
                taken = runs[-1].extend(entry, number, base, left) if len(runs) > start else 0
                if not taken:
                    runs.append(TileRun(entry, number, base))
                    taken = 1
                number += taken * entry.number_step
                base += taken * entry.base_step
                left -= taken
    return runs


def _regions_are_local(here: Session, mark: TileMark) -> bool:
    """Whether all PSUM regions that an iteration began lie in tiles that it made itself."""
    return all(contents.clock > mark.clock for contents in here.region_log[mark.regions:])


def _named(here: Session, mark: TileMark, loop: Loop) -> list[Named]:
    """The blocks that the latest iteration named with the loop's index, each once."""
    found: dict[tuple[object, ...], Named] = {}
    one: Named
    for one in here.index_log[mark.indexed:]:
        step = one.steps.get(loop, 0)
        if step:
            found.setdefault((one.table, one.number, step, one.ranges), one)
    return list(found.values())


def extrapolate(here: Session, folder: Folder, marks: list[TileMark], pattern: Pattern, loop: Loop,
                count: int) -> bool:
    """Adds `count` iterations like the latest.

    False if tiles that they make exist already. False for good if tiles that they name are not at
    equal distances, or may not exist: what is in between cannot be told from first and last then.
    """
    runs = _outer_tiles(here, *marks[-2:]) or ()
    growing = {run.table for run in runs}
    named = _named(here, marks[-2], loop)
    stride = loop.values.step
    if not all(one.table.is_regular() and (
            one.table in growing or one.exists(one.steps[loop] * stride, count)) for one in named):
        loop.is_affine = False
        loop.period = 0
        return False
    made = [further for run, step in zip(runs, pattern.blocks) for one in run.made()
            for further in one.repeated(step.number, step.base, count)]
    if not all(further.is_free() for further in made):
        return False
    leave_out(here.recorder, folder, count, pattern.deltas, pattern.instances)
    for further in made:
        further.adopt(here)
    here.index_log += [
        one._replace(ranges=(*one.ranges, (one.steps[loop] * stride, count))) for one in named]
    return True
