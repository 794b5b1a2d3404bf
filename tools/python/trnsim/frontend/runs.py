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
import opcode
from types import CodeType
from typing import Any, NamedTuple

from trnsim.frontend.loop_index import Loop

_STATE = ("STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "DELETE_FAST", "DELETE_GLOBAL",
          "DELETE_DEREF", "DELETE_ATTR", "DELETE_SUBSCR", "DELETE_NAME", "STORE_NAME",
          "YIELD_VALUE", "RETURN_VALUE", "RETURN_CONST")
"""Instructions that leave more behind than local variables, or the loop."""
_CHANGES = frozenset(("append", "extend", "insert", "pop", "update", "remove", "clear",
                      "setdefault", "popitem", "sort", "reverse"))
"""Methods that change lists, dictionaries and sets. (`nl.add` is a function of a module.)"""
_STOPS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD",
          "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE")
_ACCESSES = ("LOAD", "STORE", "DELETE")
_OPTIMIZED = 0x1
"""CO_OPTIMIZED: the names of a function are local variables."""


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
        self._is_function = bool(code.co_flags & _OPTIMIZED)
        self._every = list(dis.get_instructions(code))
        self._places = {one.offset: place for place, one in enumerate(self._every)}
        self._known: dict[int, bool] = {}
        bits: dict[str, int] = {}
        self._assigned: list[int] = []
        steps: list[tuple[int, int, int | None, bool]] = []
        for one in self._every:
            read = assigned = 0
            if "_FAST" in one.opname:
                names = one.argval if isinstance(one.argval, tuple) else (one.argval,)
                words = [word for word in one.opname.split("_") if word in _ACCESSES]
                for word, name in zip(words, names):
                    bit = bits.setdefault(name, 1 << len(bits))
                    if word == "STORE":
                        assigned |= bit
                    else:
                        read |= bit & ~assigned
            is_jump = one.opcode in opcode.hasjrel or one.opcode in opcode.hasjabs
            steps.append((read, assigned, self._places[one.argval] if is_jump else None,
                          one.opname not in _STOPS))
            self._assigned.append(assigned)
        self._live = _liveness(steps)

    def leaks(self, at: int) -> bool:
        """See the function."""
        found = self._known.get(at)
        if found is None:
            found = self._known[at] = self._leaks(at)
        return found

    def _leaks(self, at: int) -> bool:
        every = self._every
        start = self._places.get(at)
        if start is None or every[start].opname != "GET_ITER" or not self._is_function:
            return True
        start += 1
        while every[start].opname == "EXTENDED_ARG":
            start += 1
        if every[start].opname != "FOR_ITER":
            return True
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
