# SPDX-License-Identifier: Apache-2.0
# Shows of the body of a loop, while it runs, that its iterations leave nothing behind.
"""Loops whose body calls the kernel's own functions, methods and closures.

A proof from the source (proof.py) does not follow calls. `Watch` looks at the state that an
iteration can reach instead (reachable.py): the names of its function that it reads before it
assigns them, what they hold, the globals of all code that it may call. If an iteration has left all
of it as it was, and did not depend on its index other than through what LoopIndex watches, then the
next one begins in the same state, makes the same decisions up to the horizon, does the same with
another index, and leaves the state as it was, too: by induction up to the last one that is left
out.

Names that an iteration assigns before it reads them are not state. Those that it assigns on some
paths only are looked at after the loop: one that holds more than a number or a tensor and was
assigned by an iteration with a LoopIndex has the kernel traced again, and so has a state that holds
a LoopIndex: no other code is to find one. A tile that only changes names has it, too (gap.py).
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

from trnsim.frontend import source
from trnsim.frontend.bytecode import (body_of_for, goes_on, has_local_names, instructions_in,
                                      local_accesses, target)
from trnsim.frontend.kernel import Kernel
from trnsim.frontend.loop_index import Loop, give_up
from trnsim.frontend.nki.tensor import NkiTensor
from trnsim.frontend.sampling.effects import Unknown, globals_of
from trnsim.frontend.sampling.gap import Gap
from trnsim.frontend.sampling.likeness import Likeness, is_made_since
from trnsim.frontend.sampling.reachable import State, is_same
from trnsim.frontend.sampling.runs import leaks

_SIMPLE = (int, float, bool, str, type(None), NkiTensor)
_ABSENT = object()


class Body(NamedTuple):
    """The names of a function as the body of a loop in it uses them."""

    read: frozenset[str]
    """Those that an iteration may read before it assigns them."""
    maybe: frozenset[str]
    """Those that it assigns on some paths only."""
    code: tuple[dis.Instruction, ...]
    named: frozenset[str]
    """The globals that it names."""


class Watch:
    """The state that the iterations of a loop can reach, from now on."""

    def __init__(self, frame: FrameType, body: Body, at: int) -> None:
        self._frame = frame
        self._body = body
        self.gap = Gap(frame, at)
        values = frame.f_locals
        self._given: dict[str, Any] = {}
        self._maybe = {name: values.get(name, _ABSENT) for name in body.maybe}
        self._before: dict[str, Any] = {}
        self._is_lost = False
        self._is_unchanged = False
        """Whether the latest iteration has left the very state that it found."""
        self._state = State()
        self._look()

    def _look(self) -> None:
        """Takes the state as it is. Unknown if there may be more of it."""
        values = self._frame.f_locals
        self._given = {name: values.get(name, _ABSENT) for name in self._body.read}
        self._state = State()
        self._state.add_part(self._body.code, self._frame.f_globals)
        for value in self._given.values():
            if value is not _ABSENT:
                self._state.add(value)
        self._state.walk()

    @contextmanager
    def listening(self, stop: Callable[[], None] = give_up) -> Iterator[None]:
        """While the loop runs: an iteration that prints is followed by all others; `stop` says so.
        """
        printing = builtins.print

        def told(*values: Any, **options: Any) -> None:
            stop()
            printing(*values, **options)

        builtins.print = told
        try:
            yield
        finally:
            builtins.print = printing

    def has_changed(self) -> bool:
        """Whether the state is another one than after the iteration before, by a look at tensors
        and containers as they are."""
        values = self._frame.f_locals
        if not self._is_lost and self._state.is_unchanged() and all(
                is_same(values.get(name, _ABSENT), value) for name, value in self._given.items()):
            return False
        try:
            self._look()
        except Unknown:
            self._is_lost = True
        return True

    def is_alike(self, instances: list[int]) -> bool:
        """Whether the state is like that after the iteration before.

        `instances` are those of all buffers before the latest iteration: tiles that it has made may
        have taken the places of tiles like them, and containers those of others that hold as much.
        """
        values = self._frame.f_locals
        self._is_unchanged = self._state.is_unchanged() and all(
            is_same(values.get(name, _ABSENT), value) for name, value in self._given.items())
        if self._is_unchanged:
            return True
        given, state = self._given, self._state
        try:
            self._look()
        except Unknown:
            self._is_lost = True
            return False
        pairs = [(given[name], value) for name, value in self._given.items()]
        return Likeness(instances).holds([*pairs, *state.pairs(self._state)])

    def leaves_nothing(self, at: int, instances: list[int]) -> bool:
        """Whether the latest iteration of the loop at an instruction could as well be the last one.

        All is what it was (`is_alike` has looked), no name that it assigns is read behind the loop,
        and it was not the first to access a tile that is older. `instances` are those of all
        buffers before it.
        """
        return (self._is_unchanged and not leaks(self._frame.f_code, at)
                and not any(is_made_since(instances, one.storage)
                            for one in self._state.tensors()))

    def may_hold(self, loop: Loop) -> bool:
        """Whether the state may hold an index of a loop, after an iteration that changed it."""
        return self._is_lost or any(loop in one.terms for one in self._state.indices)

    def begin_last(self) -> None:
        """The last iteration follows, which has a plain index."""
        values = self._frame.f_locals
        self._before = {name: values.get(name, _ABSENT) for name in self._maybe}

    def leaves_indices(self) -> bool:
        """Whether a name may hold an index, or something with one, after the last iteration."""
        values = self._frame.f_locals
        return any(values.get(name) is before and before is not self._maybe[name]
                   and type(before) not in _SIMPLE for name, before in self._before.items())


def watched(frame: FrameType, at: source.Site) -> Watch | None:
    """A watch of the loop whose iterator `frame` has made at `at`; None if it cannot be watched."""
    body = _body(frame.f_code, at[1])
    if body is None:
        return None
    try:
        return Watch(frame, body, at[1])
    except Unknown:
        return None


def calls_functions(frame: FrameType, at: source.Site) -> bool:
    """Whether the body of a loop names functions of the kernel's own, which no proof follows."""
    body = _body(frame.f_code, at[1])
    named = [frame.f_globals.get(name) for name in body.named] if body is not None else []
    return any(type(one) is Kernel or type(one) is FunctionType and source.is_user(one.__code__)
               for one in named)


@cache
def _body(code: CodeType, at: int) -> Body | None:
    """The names in the body of a `for` statement; None if there is none at an instruction."""
    offsets = body_of_for(code, at)
    if offsets is None or not has_local_names(code):
        return None
    first = offsets.start
    heads = {one - first for one in range(at + 2, first, 2)}  # EXTENDED_ARG comes before it.
    entries = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    handlers = [entry.target - first for entry in entries]
    return _Flow(instructions_in(code, offsets), heads, handlers).body()


class _Flow:
    """Which names are assigned wherever control flows in the body of a loop."""

    def __init__(self, inside: list[dis.Instruction], heads: set[int], handlers: list[int]) -> None:
        self._inside = inside
        self._heads = heads
        self._places = {one.offset: place for place, one in enumerate(inside)}
        self._assigned: dict[int, frozenset[str]] = {}
        self._todo: list[int] = []
        self._read: set[str] = set()
        self._stored: set[str] = set()
        self._always: frozenset[str] | None = None
        for offset in (inside[0].offset, *handlers):
            self._flow(offset, frozenset())

    def body(self) -> Body:
        while self._todo:
            self._run(self._todo.pop())
        return Body(frozenset(self._read), frozenset(self._stored - (self._always or set())),
                    tuple(self._inside), globals_of(self._inside))

    def _flow(self, offset: int, assigned: frozenset[str]) -> None:
        """Control may come to an offset with these names assigned."""
        if offset in self._heads:
            self._always = assigned if self._always is None else self._always & assigned
        place = self._places.get(offset)
        if place is None:
            return
        known = self._assigned.get(place)
        if known is None or not known <= assigned:
            self._assigned[place] = assigned if known is None else known & assigned
            self._todo.append(place)

    def _run(self, place: int) -> None:
        one = self._inside[place]
        assigned = self._assigned[place]
        for action, name in _actions(one):
            if action == "STORE":
                self._stored.add(name)
                assigned |= {name}
                continue
            if name not in assigned:
                self._read.add(name)
            if action == "DELETE":
                assigned -= {name}
        jump = target(one)
        if jump is not None:
            self._flow(jump, assigned)
        if goes_on(one.opcode) and place + 1 < len(self._inside):
            self._flow(self._inside[place + 1].offset, assigned)


def _actions(one: dis.Instruction) -> list[tuple[str, str]]:
    """What an instruction does with names of the function, in order. Cells are state."""
    name = one.opname
    if "_DEREF" in name or name in ("LOAD_CLOSURE", "LOAD_CLASSDEREF", "MAKE_CELL"):
        return [("LOAD", one.argval)]
    return local_accesses(one)
