# SPDX-License-Identifier: Apache-2.0
# What a kernel says about the order of its instructions, beyond its data.
"""Edges of the schedule: `NkiInstruction.depends_on` and `kernel.with_schedule`.

An edge is known after both its ends have been issued, and a trace says it where they are: a kernel
with edges is traced twice. The first attempt counts its instructions and finds the edges; the next
one, which executes the same, records them. A producer is an *event* with a number of its own, and
its consumers come *after* that. [NKI-ISA, NKI-SCHEDULING]
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from trnsim.frontend.errors import UserError
from trnsim.frontend.folding import Folder
from trnsim.frontend.tensor import OPERAND_BITS

if TYPE_CHECKING:
    from trnsim.frontend.recorder import Frame, Recorder

Edge = tuple[str, str | Sequence[str]]
"""The name of an instruction, and those of its producers."""
EVENT, AFTER = "event", "after"


class Edges(NamedTuple):
    """Those of one core's program, by the numbers of its instructions."""

    events: dict[int, int]
    """The events of producers: they are counted in the order of the program."""
    after: dict[int, tuple[int, ...]]
    """The events that a consumer comes after."""


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

    def issued(self, active: Recorder, name: str | None) -> int:
        """Takes note of the instruction that was recorded last; its number."""
        number = len(self._shapes)
        self._shapes.append(active.frame.shapes[-1])
        if loops := _loops_around(active.frame):
            self._loops[number] = loops
        if name is not None:
            self.names.setdefault(name, []).append(number)
        if self._known is not None:
            _record(active, self._known.events.get(number), self._known.after.get(number, ()))
        return number

    def depend(self, consumer: int, producers: Iterable[int]) -> None:
        """Lets an instruction run after others."""
        self._producers.setdefault(consumer, set()).update(producers)

    def edges(self, active: Recorder) -> Edges | None:
        """What was found when the program has ended; None if nothing was. Says what is not obeyed.

        UserError for an edge into a loop of the run time, or out of one.
        """
        for consumer, producers in self._named:
            for number in self.names.get(consumer, ()):
                for name in [producers] if isinstance(producers, str) else producers:
                    self.depend(number, _latest(self.names.get(name, ()), number))
        kept = {consumer: sorted(one for one in producers if self._is_obeyed(active, consumer, one))
                for consumer, producers in sorted(self._producers.items())}
        numbers = sorted({one for producers in kept.values() for one in producers})
        events = {number: event for event, number in enumerate(numbers)}
        after = {consumer: tuple(events[one] for one in producers)
                 for consumer, producers in kept.items() if producers}
        return Edges(events, after) if after else None

    def _is_obeyed(self, active: Recorder, consumer: int, producer: int) -> bool:
        """Whether the program has the producer first."""
        here, there = (active.table.entries[self._shapes[one]].position
                       for one in (consumer, producer))
        loops = self._loops.get(producer, ())
        if self._loops.get(consumer, ())[:len(loops)] != loops:
            raise UserError(f"{here}: the instruction runs after that of {there}, which is in a "
                            "loop of the run time that it is not in: its semaphore would be raised "
                            "another number of times; put both into one, or the producer before it")
        if producer < consumer:
            return True
        active.note("assumption", f"an instruction is to run after that of {there}, which comes "
                                  "later in the program: that edge of the schedule is not obeyed",
                    here)
        return False


def _loops_around(frame: Frame | None) -> tuple[Folder, ...]:
    loops: list[Folder] = []
    while frame is not None:
        if frame.folder is not None and frame.folder.origin.kind == "runtime":
            loops.insert(0, frame.folder)
        frame = frame.parent
    return tuple(loops)


def _latest(producers: Sequence[int], consumer: int) -> list[int]:
    """Of the executions of an instruction the last one before another one; else its first."""
    before = [one for one in producers if one < consumer]
    return before[-1:] or [one for one in producers if one > consumer][:1]


def _record(active: Recorder, event: int | None, after: Sequence[int]) -> None:
    """Makes the instruction that was recorded last an event, or one after others."""
    numbers = [*after, *(() if event is None else (event,))]
    if not numbers:
        return
    frame = active.frame
    template = active.table.entries[frame.shapes[-1]]
    kinds = (*[AFTER] * len(after), *[EVENT] * (len(numbers) - len(after)))
    frame.shapes[-1] = active.shape_of(template._replace(edges=kinds))
    behind = len(template.operands) * OPERAND_BITS
    value = frame.values[-1]
    rest = (value + (1 << behind - 1)) >> behind if behind else value
    value -= rest << behind
    for number in [*numbers, rest]:
        value += number << behind
        behind += OPERAND_BITS
    frame.values[-1] = value


def check_names(named: Sequence[Edge], schedules: Sequence[Schedule], kernel: str) -> None:
    """UserError if an edge is one of an instruction that no core has."""
    known = sorted({name for schedule in schedules for name in schedule.names})
    for consumer, producers in named:
        for name in (consumer, *([producers] if isinstance(producers, str) else producers)):
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                advice = f"did you mean {near[0]!r}?" if near else "give one that name (name=)"
                raise UserError(f"kernel {kernel}: with_schedule: no instruction is named "
                                f"{name!r}; {advice}")
