# SPDX-License-Identifier: Apache-2.0
# What a run of a loop has shown to the next run of the same loop.
"""Runs of loops inside of loops: one iteration of each piece is enough the second time.

While an iteration of a loop is executed, every loop inside of it leaves a `Run`: which iterations
followed from which (`Jump`), and the runs inside of those that were executed. The next iteration
before the loop's horizon takes the same decisions. So its loops run alike, one by one, and of each
piece of a run only the first iteration is executed: what it adds to the one before is known.

That one stands for all of the piece. So comparisons and bounds are looked at over all of it: the
loop has an `extent` (loop_index.py). Of a run in an iteration that ends what was predicted, the
last iteration is executed, too, and compared (`Loop.checks`).

A run whose body assigns names that are read after the loop has no jumps (`leaks`), and one that
leaves tiles in lists or attributes is not known: the first iteration leaves another state than the
last.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, NamedTuple

from trnsim.frontend.bytecode import (ACCESSES, Operation, attribute, body_of_for, goes_on,
                                      has_local_names, local_variables, opcodes, operations)
from trnsim.frontend.loop_index import Loop

_STATE = opcodes(("STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "DELETE_FAST", "DELETE_GLOBAL",
                  "DELETE_DEREF", "DELETE_ATTR", "DELETE_SUBSCR", "DELETE_NAME", "STORE_NAME",
                  "YIELD_VALUE", "RETURN_VALUE", "RETURN_CONST"))
"""Instructions that leave more behind than local variables, or the loop."""
_CHANGES = frozenset(("append", "extend", "insert", "pop", "update", "remove", "clear",
                      "setdefault", "popitem", "sort", "reverse"))
"""Methods that change lists, dictionaries and sets. (`nl.add` is a function of a module.)"""


Place = tuple[CodeType, int]
"""Where the iterator of a loop is made."""


class Jump(NamedTuple):
    """A piece of a run: up to iteration `end`, all follow from the first."""

    end: int
    shapes: tuple[int, ...]
    """The nodes of an iteration."""
    pattern: Any
    """What an iteration adds to the one before, as a dialect has it."""


class Run:
    """What a loop has done."""

    __slots__ = ("alike", "count", "growth", "inner", "is_whole", "jumps",
                 "origin")

    def __init__(self, origin: Any, count: int) -> None:
        self.origin = origin
        self.count = count
        self.is_whole = True
        """Whether it is known here what its iterations have done."""
        self.jumps: dict[int, Jump] = {}
        """The pieces by their first iteration."""
        self.inner: dict[int, list[Run]] = {}
        """The runs inside of the iterations that were executed."""
        self.alike: dict[int, int] = {}
        """The iteration from which on all took the decisions of one that was executed."""
        self.growth: dict[int, Any] = {}
        """Instances of all buffers before and after an iteration that was executed."""


def expected(outer: Loop | None, origin: Any, count: int, at: Place | None) -> Run | None:
    """What the next run in an iteration of a loop is to be, if that is known."""
    if outer is None or outer.expected is None or at is not None and leaks(*at):
        return None
    number = len(outer.runs)
    if number < len(outer.expected):
        run: Run = outer.expected[number]
        if run.count == count and run.origin == origin:
            return run if run.is_whole else None
    outer.expected = None
    return None


def leaks(code: CodeType, at: int) -> bool:
    """Whether the body of the `for` statement whose iterator is made at an instruction leaves
    something to the code after it."""
    return _flow(code).leaks(at)


def carried(code: CodeType, at: int) -> tuple[str, ...]:
    """The local variables in which an iteration of the `for` statement whose iterator is made at an
    instruction may leave something that the next one reads."""
    return _flow(code).carried(at)


def passed_on(code: CodeType, at: int) -> tuple[str, ...]:
    """The local variables in which an iteration of the `for` statement whose iterator is made at an
    instruction may leave something that the next one reads, or the code after the loop."""
    return _flow(code).passed_on(at)


def _flow(code: CodeType) -> _Flow:
    flow = _flows.get(id(code))
    if flow is None:
        flow = _flows[id(code)] = _Flow(code)
    return flow


class _Block(NamedTuple):
    """Instructions that run one after the other. Sets of variables are numbers, one bit each."""

    read: int
    """The variables that they read before they assign them."""
    assigned: int
    behind: tuple[int, ...]
    """The blocks that may follow."""


class _Flow:
    """The local variables that code may read before it assigns them, from each block on."""

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self._every = list(operations(code))
        self._places = {offset: place for place, one in enumerate(self._every)
                        for offset in (one.start, one.offset)}
        self._uses = [_uses(one) if one.opcode in ACCESSES else _NOTHING for one in self._every]
        self._known: dict[int, bool] = {}
        self._live = _liveness(self._blocks())

    def _blocks(self) -> dict[int, _Block]:
        """The blocks by their first instruction, the last one first."""
        starts = {0}
        for place, one in enumerate(self._every):
            if one.target is not None:
                starts |= {place + 1, self._places[one.target]}
            elif not goes_on(one.opcode):
                starts.add(place + 1)
        blocks: dict[int, _Block] = {}
        read = assigned = 0
        behind: tuple[int, ...] = ()
        for place in range(len(self._every) - 1, -1, -1):
            if place + 1 in starts:
                read, assigned, behind = 0, 0, self._behind(place)
            reads, assigns = self._uses[place]
            read = reads | read & ~assigns
            assigned |= assigns
            if place in starts:
                blocks[place] = _Block(read, assigned, behind)
        return blocks

    def _behind(self, place: int) -> tuple[int, ...]:
        """The instructions that may follow one."""
        one = self._every[place]
        jump = () if one.target is None else (self._places[one.target],)
        return (place + 1, *jump) if goes_on(one.opcode) else jump

    def leaks(self, at: int) -> bool:
        """See the function."""
        found = self._known.get(at)
        if found is None:
            found = self._known[at] = self._leaks(at)
        return found

    def _leaks(self, at: int) -> bool:
        offsets = body_of_for(self._code, at)
        if offsets is None or not has_local_names(self._code):
            return True
        start, end = self._places[offsets.start], self._places[offsets.stop]
        if any(one.opcode in _STATE or attribute(self._code, one) in _CHANGES
               for one in self._every[start:end]):
            return True
        return bool(self._assigned(start, end) & self._live[end])

    def carried(self, at: int) -> tuple[str, ...]:
        """See the function."""
        return self._assigned_and_live(at, is_behind=False)

    def passed_on(self, at: int) -> tuple[str, ...]:
        """See the function."""
        return self._assigned_and_live(at, is_behind=True)

    def _assigned_and_live(self, at: int, is_behind: bool) -> tuple[str, ...]:
        """What the body assigns, and what is read from its beginning on, or also from behind it."""
        offsets = body_of_for(self._code, at)
        if offsets is None or not has_local_names(self._code):
            return ()
        start, end = self._places[offsets.start], self._places[offsets.stop]
        live = self._live[start] | (self._live[end] if is_behind else 0)
        found = self._assigned(start, end) & live
        return tuple(name for number, name in enumerate(self._code.co_varnames)
                     if found >> number & 1)

    def _assigned(self, start: int, end: int) -> int:
        """What instructions assign."""
        stored = 0
        for _, assigned in self._uses[start:end]:
            stored |= assigned
        return stored


_NOTHING = (0, 0)


def _uses(one: Operation) -> tuple[int, int]:
    """The variables that an instruction reads before it assigns them, and those that it assigns."""
    read = assigned = 0
    for access, number in local_variables(one):
        if access == "STORE":
            assigned |= 1 << number
        else:
            read |= 1 << number & ~assigned
    return read, assigned


def _liveness(blocks: dict[int, _Block]) -> dict[int, int]:
    """What may be read from the beginning of each block on, before it is assigned."""
    live = dict.fromkeys(blocks, 0)
    changed = True
    while changed:
        changed = False
        for place, (read, assigned, behind) in blocks.items():
            after = 0
            for one in behind:
                after |= live.get(one, 0)
            after = after & ~assigned | read
            if after != live[place]:
                live[place] = after
                changed = True
    return live


_flows: dict[int, _Flow] = {}
"""By the code's identity, which they keep."""
