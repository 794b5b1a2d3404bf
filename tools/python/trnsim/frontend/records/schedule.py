# SPDX-License-Identifier: Apache-2.0
# What a kernel says about the order of its instructions, beyond its data.
"""Edges of the schedule: `NkiInstruction.depends_on` and `kernel.with_schedule`.

An edge is known after both its ends have been issued, and a trace says it where they are: a kernel
with edges is traced twice. The first attempt counts its instructions and finds the edges; the next
one, which executes the same, records them. A producer has a number of its own,
by which its consumers know it. [NKI-ISA, NKI-SCHEDULING]
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from trnsim.errors import UserError
from trnsim.frontend import source
from trnsim.frontend.records.folding import Folder, ShapeTable
from trnsim.frontend.records.frame import RUNTIME, Frame
from trnsim.frontend.records.immediates import number_in
from trnsim.frontend.records.template import Template
from trnsim.frontend.records.tensor import OPERAND_BITS

Edge = tuple[str, str | Sequence[str]]
"""The name of an instruction, and those of its producers."""
PRODUCER, DEPENDS_ON = "producer", "depends_on"


class Recording(Protocol):
    """What a schedule needs of the recorder of its program."""

    frame: Frame
    table: ShapeTable

    def shape_of(self, template: Template) -> int:
        """The shape of a template that is known to be right."""

    def note(self, kind: str, text: str, at: source.Position | None = None) -> None:
        """A remark for the reader of the trace."""


class Edges(NamedTuple):
    """Those of one core's program, by the numbers of its instructions."""

    producers: dict[int, int]
    """The numbers of producers, which are counted in the order of the program."""
    depends_on: dict[int, tuple[int, ...]]
    """The numbers of a consumer's producers."""


class Schedule:
    """The order that a kernel asks of one core's instructions.

    `named`: edges between instructions that have names. `known`: what an earlier attempt found,
    which this one records.
    """

    def __init__(self, named: Sequence[Edge] = (), known: Edges | None = None) -> None:
        self._named = named
        self._known = known
        self._shapes: list[int] = []
        """Of each instruction that was issued."""
        self._loops: dict[int, tuple[Folder, ...]] = {}
        """The loops of the run time around it, outermost first, if there are any."""
        self.names: dict[str, list[int]] = {}
        """Instructions by name."""
        self._producers: dict[int, set[int]] = {}

    def issued(self, active: Recording, name: str | None) -> int:
        """Takes note of the instruction that was recorded last; its number."""
        number = len(self._shapes)
        self._shapes.append(active.frame.shapes[-1])
        if loops := _loops_around(active.frame):
            self._loops[number] = loops
        if name is not None:
            self.names.setdefault(name, []).append(number)
        if self._known is not None:
            _record(active, self._known.producers.get(number),
                    self._known.depends_on.get(number, ()))
        return number

    def depend(self, consumer: int, producers: Iterable[int]) -> None:
        """Lets an instruction run after others."""
        self._producers.setdefault(consumer, set()).update(producers)

    def edges(self, active: Recording) -> Edges | None:
        """What was found when the program has ended; None if nothing was.

        UserError for an edge from an instruction to itself, into a loop of the run time or out of
        one.
        """
        after: dict[int, list[int]] = {}
        for consumer, producer in self._pairs():
            self._check(active, consumer, producer)
            if producer < consumer:
                after.setdefault(consumer, []).append(producer)
        numbers = sorted({producer for producers in after.values() for producer in producers})
        known = {number: producer for producer, number in enumerate(numbers)}
        return Edges(known, {consumer: tuple(known[one] for one in producers)
                              for consumer, producers in after.items()}) if after else None

    def note_unobeyed(self, active: Recording) -> None:
        """Notes the edges against the order of the program."""
        for consumer, producer in self._pairs():
            if producer > consumer:
                here, there = self._position(active, consumer), self._position(active, producer)
                active.note("assumption", f"an instruction is to run after that of {there}, which "
                            "comes later in the program: that edge of the schedule is not obeyed",
                            here)

    def _pairs(self) -> list[tuple[int, int]]:
        """Consumers and their producers, in the order of the program."""
        pairs = {(consumer, one) for consumer, producers in self._producers.items()
                 for one in producers}
        for consumer, producers in self._named:
            for number in self.names.get(consumer, ()):
                for name in [producers] if isinstance(producers, str) else producers:
                    pairs.update((number, one) for one in _latest(self.names.get(name, ()), number))
        return sorted(pairs)

    def _position(self, active: Recording, number: int) -> source.Position:
        template: Template = active.table.entries[self._shapes[number]]
        return template.position

    def _check(self, active: Recording, consumer: int, producer: int) -> None:
        here = self._position(active, consumer)
        if consumer == producer:
            raise UserError(f"{here}: the instruction is to run after itself; name another one")
        loops = self._loops.get(producer, ())
        if self._loops.get(consumer, ())[:len(loops)] != loops:
            raise UserError(f"{here}: the instruction runs after that of "
                            f"{self._position(active, producer)}, which is in a loop of the run "
                            "time that it is not in: its semaphore would be raised another number "
                            "of times; put both into one, or the producer before it")


def _loops_around(frame: Frame | None) -> tuple[Folder, ...]:
    loops: list[Folder] = []
    while frame is not None:
        if frame.folder is not None and frame.folder.origin.kind == RUNTIME:
            loops.insert(0, frame.folder)
        frame = frame.parent
    return tuple(loops)


def _latest(producers: Sequence[int], consumer: int) -> Sequence[int]:
    """Of the executions of an instruction the last one before another one; else its first.

    The first of several that come after each other comes after none.
    """
    before = bisect_left(producers, consumer)
    if before > 0:
        return producers[before - 1:before]
    is_first = len(producers) > 1 and producers[0] == consumer
    return [] if is_first else producers[:1]


def _record(active: Recording, producer: int | None, depends_on: Sequence[int]) -> None:
    """Makes the instruction that was recorded last a producer, or lets it depend on some."""
    numbers = [*depends_on, *(() if producer is None else (producer,))]
    if not numbers:
        return
    frame = active.frame
    template = active.table.entries[frame.shapes[-1]]
    kinds = (*[DEPENDS_ON] * len(depends_on),
             *[PRODUCER] * (len(numbers) - len(depends_on)))
    frame.shapes[-1] = active.shape_of(template._replace(edges=kinds))
    behind = len(template.operands) * OPERAND_BITS
    value = frame.values[-1]
    rest = number_in(value, len(template.operands))
    value -= rest << behind
    for number in [*numbers, rest]:
        value += number << behind
        behind += OPERAND_BITS
    frame.values[-1] = value


def check_names(named: Sequence[Edge], schedules: Sequence[Schedule], kernel: str) -> None:
    """UserError if an edge is one of an instruction that no core has."""
    known = {name for schedule in schedules for name in schedule.names}
    for consumer, producers in named:
        for name in (consumer, *([producers] if isinstance(producers, str) else producers)):
            if name not in known:
                near = difflib.get_close_matches(name, sorted(known), 1)
                advice = f"did you mean {near[0]!r}?" if near else "give one that name (name=)"
                raise UserError(f"kernel {kernel}: with_schedule: no instruction is named "
                                f"{name!r}; {advice}")
