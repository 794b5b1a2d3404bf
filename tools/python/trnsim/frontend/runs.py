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

A run whose body assigns names that are read after the loop has no jumps (`leaks`): the first
iteration leaves another state than the last.
"""

from __future__ import annotations

import dis
from types import CodeType
from typing import Any, NamedTuple

from trnsim.frontend.bytecode import goes_on, has_local_names, head_of_for, local_accesses, target
from trnsim.frontend.loop_index import Loop

_STATE = ("STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "DELETE_FAST", "DELETE_GLOBAL",
          "DELETE_DEREF", "DELETE_ATTR", "DELETE_SUBSCR", "DELETE_NAME", "STORE_NAME",
          "YIELD_VALUE", "RETURN_VALUE", "RETURN_CONST")
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
    flow = _flows.get(id(code))
    if flow is None:
        flow = _flows[id(code)] = _Flow(code)
    return flow.leaks(at)


class _Flow:
    """The local variables that code may read before it assigns them, from each instruction on.

    Sets of variables are numbers, one bit each.
    """

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self._every = list(dis.get_instructions(code))
        self._places = {one.offset: place for place, one in enumerate(self._every)}
        self._known: dict[int, bool] = {}
        bits: dict[str, int] = {}
        self._assigned: list[int] = []
        steps: list[tuple[int, int, int | None, bool]] = []
        for one in self._every:
            read = assigned = 0
            for access, name in local_accesses(one):
                bit = bits.setdefault(name, 1 << len(bits))
                if access == "STORE":
                    assigned |= bit
                else:
                    read |= bit & ~assigned
            jump = target(one)
            steps.append((read, assigned, None if jump is None else self._places[jump],
                          goes_on(one)))
            self._assigned.append(assigned)
        self._live = _liveness(steps)

    def leaks(self, at: int) -> bool:
        """See the function."""
        found = self._known.get(at)
        if found is None:
            found = self._known[at] = self._leaks(at)
        return found

    def _leaks(self, at: int) -> bool:
        head = head_of_for(self._code, at)
        if head is None or not has_local_names(self._code):
            return True
        every, start = self._every, self._places[head]
        end = self._places[every[start].argval]
        body = every[start + 1:end]
        if any(one.opname in _STATE or one.opname in ("LOAD_METHOD", "LOAD_ATTR")
               and one.argval in _CHANGES for one in body):
            return True
        stored = 0
        for assigned in self._assigned[start + 1:end]:
            stored |= assigned
        return bool(stored & self._live[end])


def _liveness(steps: list[tuple[int, int, int | None, bool]]) -> list[int]:
    """What may be read from each instruction on, before it is assigned.

    `steps`: what an instruction reads and assigns, where it may jump, whether the next may follow.
    """
    live = [0] * (len(steps) + 1)
    changed = True
    while changed:
        changed = False
        for place in range(len(steps) - 1, -1, -1):
            read, assigned, target, goes_on = steps[place]
            after = live[place + 1] if goes_on else 0
            if target is not None:
                after |= live[target]
            after = after & ~assigned | read
            if after != live[place]:
                live[place] = after
                changed = True
    return live


_flows: dict[int, _Flow] = {}
"""By the code's identity, which they keep."""
