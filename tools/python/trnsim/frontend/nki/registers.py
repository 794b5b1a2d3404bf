# SPDX-License-Identifier: Apache-2.0
# Registers of the engines' sequencers, and the loops that they control.
"""VirtualRegister: a scalar of the run time. [NKI-ISA]

A register that was set from constants has a known value, as far as its history is one; what is
loaded from memory is not known. Unknown values that decide how often a loop runs come from the
user by the register's name (`--assume NAME=COUNT`); without that, DEFAULT_TRIPS are assumed, and
the trace says so. Whatever an `if` asks of an unknown register is answered with yes: the body runs.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, NoReturn
from collections.abc import Callable, Iterator
from types import FrameType

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.bytecode import TESTS_ONCE
from trnsim.frontend.loop_index import LoopIndex
from trnsim.frontend.loop_source import is_condition_of_while
from trnsim.frontend.nki.objects import NKIObject
from trnsim.frontend.records.frame import RUNTIME, Frame, LoopOrigin
from trnsim.frontend.records.tensor import View

DEFAULT_TRIPS = 8
"""Trips of a loop whose bound is not known. [ASSUMED]"""


MOST_TRIPS = 100_000
"""Trips of a `while` after which it is taken for one that never ends. [ASSUMED]"""


class DynamicSlice(NamedTuple):
    """What nl.ds makes of a register: `size` elements from where it points."""

    start: VirtualRegister
    size: int


def wrapped(value: int, bits: int) -> int:
    """An integer as a register of so many bits has it, with a sign."""
    half = 1 << (bits - 1)
    return (int(value) + half) % (2 * half) - half


class _Test(NamedTuple):
    """A `while` that is being executed: where it was entered, its loop and the trips so far."""

    entered_at: int
    loop: Frame
    trips: int


class VirtualRegister(NKIObject):
    """A 32-bit register, which wraps. `value` is None if it is not known while tracing."""

    bits = 32

    def __init__(self, value: int | None = None, name: str = "",
                 tests: dict[tuple[int, int], _Test] | None = None) -> None:
        self._value: int | LoopIndex | None = value
        self.name = name or "register"
        self.is_set = True  # But for one that was allocated without a value.
        self.is_frozen = False  # The index of a dynamic_range, which only the loop changes.
        # `while register > 0` makes a register each time that it is asked.
        self._tests: dict[tuple[int, int], _Test] = {} if tests is None else tests

    @property
    def value(self) -> int | None:
        """A loop whose index somebody looks at is executed in full. IllegalInstruction if nothing
        has set the register."""
        if not self.is_set:
            raise IllegalInstruction(
                f"{source.here()}: register {self.name!r} is used, but nothing has set it; load or "
                "move a value into it, or allocate it with one")
        held = self._value
        return held.ask() if isinstance(held, LoopIndex) else held

    @value.setter
    def value(self, value: int | None) -> None:
        self._value = None if value is None else wrapped(value, self.bits)
        self.is_set = True

    def __repr__(self) -> str:
        known = self.value if self.is_set else None
        return f"<register {self.name} {'?' if known is None else known}>"

    def like(self, value: int | None, name: str) -> VirtualRegister:
        """A register of the same kind."""
        return VirtualRegister(value, name)

    # Arithmetic: one sequencer instruction each ---------------------------------------------

    def _combine(self, other: Any, compute: Callable[[int, int], int],
                 is_reversed: bool = False) -> VirtualRegister:
        right = other.value if isinstance(other, VirtualRegister) else other
        if right is not None and not isinstance(right, int):
            raise IllegalInstruction(f"{source.here()}: register {self.name!r} is combined with "
                                     f"{other!r}, but takes integers and registers")
        recorder.required().record("register_move", None, (), {})
        if self.value is None or right is None:
            return VirtualRegister(None, self.name, self._tests)
        pair = (right, self.value) if is_reversed else (self.value, right)
        return VirtualRegister(wrapped(compute(*pair), self.bits), self.name, self._tests)

    def __add__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a - b, True)

    def __mul__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a // b)

    def __rfloordiv__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a // b, True)

    def __mod__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a % b)

    def __rmod__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a % b, True)

    def __and__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a & b)

    def __or__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a | b)

    def __lshift__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a << b if b < self.bits else 0)

    def __rshift__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a >> b)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, (int, float, VirtualRegister)):
            return NotImplemented  # As None, with which a kernel may ask whether there is one.
        return self._combine(other, lambda a, b: a == b)

    def __ne__(self, other: object) -> Any:
        if not isinstance(other, (int, float, VirtualRegister)):
            return NotImplemented
        return self._combine(other, lambda a, b: a != b)

    __hash__ = NKIObject.__hash__

    def __lt__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a < b)

    def __le__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> VirtualRegister:
        return self._combine(other, lambda a, b: a >= b)

    # Control flow -----------------------------------------------------------------------------

    def __index__(self) -> int:
        self._unknown("used as an integer")

    __int__ = __index__

    def _unknown(self, how: str) -> NoReturn:
        raise IllegalInstruction(
            f"{source.here()}: register {self.name!r} is {how}, but its value is only known on "
            "the device; pass it as scalar_offset, index a dimension with it, or loop with "
            "nl.dynamic_range or nl.fori_loop")

    def __bool__(self) -> bool:
        """The condition of an `if` or a `while`."""
        frame = source.user_frame()
        if frame is None:
            return bool(self.value)
        key = (id(frame), frame.f_lineno)
        test = self._tests.get(key)
        if test is not None and test.loop.is_open and (
                frame.f_lasti > test.entered_at or TESTS_ONCE and frame.f_lasti == test.entered_at):
            return self._next_trip(key, test)
        if self.value == 0:
            return False
        if _is_while(frame):
            loop = recorder.required().open_loop(_origin(self.name))
            self._tests[key] = _Test(frame.f_lasti, loop, 0)
        elif self.value is None:
            active = recorder.required()
            active.has_unknown_conditions = True
            active.note("assumption", f"the condition on register {self.name!r} holds: its value "
                                      "is not known")
        return True

    def _next_trip(self, key: tuple[int, int], test: _Test) -> bool:
        active = recorder.required()
        trips = test.trips + 1
        goes_on = trips < assumed_trips(self) if self.value is None else self.value != 0
        if goes_on:
            _check_trips(trips, self)
            active.end_iteration(test.loop)
            self._tests[key] = test._replace(trips=trips)
        else:
            del self._tests[key]
            active.close_loop(test.loop)
        return goes_on


def _is_while(frame: FrameType) -> bool:
    """Whether the condition that `frame` evaluates is that of a `while`, not of an `if`."""
    found = is_condition_of_while(frame.f_code, frame.f_lasti)
    if found is None:
        raise IllegalInstruction(
            f"{source.here()}: a register is a condition here, but whether of an `if` or a `while` "
            f"cannot be told: {frame.f_code.co_filename} is not the source of this function, or "
            "Python keeps no columns (-X no_debug_ranges); put the kernel into a file, or loop "
            "with nl.while_loop")
    return found


def _origin(name: str) -> LoopOrigin:
    """A loop of the run time. IllegalInstruction within no_reorder. [NKI-LANGUAGE, no_reorder]"""
    if recorder.required().keeps_order:
        raise IllegalInstruction(
            f"{source.here()}: the loop over register {name!r} is inside of nl.no_reorder, which "
            "takes loops of a known length only; end the region before it, or use nl.static_range")
    return LoopOrigin(name if name.isidentifier() else "i", RUNTIME, source.here())


def assumed_trips(register: VirtualRegister) -> int:
    """How often a loop runs whose condition or bound is a register that is not known."""
    active = recorder.required()
    active.unknown_bounds.add(register.name)
    count = active.trip_counts.get(register.name)
    where = f"the loop over register {register.name!r} runs"
    if count is not None:
        active.note("assumption", f"{where} {count} times, as given")
        return count
    active.note("assumption", f"{where} {DEFAULT_TRIPS} times: the value is not known; "
                              f"give it with --assume {register.name}=COUNT")
    return DEFAULT_TRIPS


def _check_trips(trips: int, condition: VirtualRegister) -> None:
    if trips >= MOST_TRIPS:
        raise IllegalInstruction(
            f"{source.here()}: the loop over register {condition.name!r} has run {trips} times and "
            f"its condition is still {condition.value}; let its body change the register")


def dynamic_indices(start: Any, stop: Any, step: int) -> range:
    """The iterations of a loop between bounds that may be registers."""
    if isinstance(step, (VirtualRegister, View)) or step < 1:
        raise IllegalInstruction(f"{source.here()}: the step of a loop is {step!r}, but must be a "
                                 "positive integer that is known when the kernel is built")
    for bound in (start, stop):
        if isinstance(bound, VirtualRegister) and bound.bits > 32:
            raise IllegalInstruction(f"{source.here()}: scalar {bound.name!r} bounds a loop, but "
                                     "has 64 bits; load it from an int32 tile")
    first = start.value if isinstance(start, VirtualRegister) else start
    last = stop.value if isinstance(stop, VirtualRegister) else stop
    begin = 0 if first is None else first
    if first is None or last is None:
        unknown = stop if last is None else start
        return range(begin, begin + step * assumed_trips(unknown), step)
    return range(begin, last, step)


class RuntimeRange:
    """A loop with bounds of the run time, whose index is in a register."""

    def __init__(self, values: range, origin: LoopOrigin) -> None:
        self._values = values
        self._origin = origin

    def __iter__(self) -> Iterator[VirtualRegister]:
        active, values, origin = recorder.required(), self._values, self._origin
        sampled = None
        if active.sample is not None and active.shortcuts.are_allowed:
            sampled = active.sample(sys._getframe(1), values, origin)
        indices = active.loop(values, origin) if sampled is None else sampled
        return (_frozen(value, origin.name) for value in indices)


def _frozen(value: int | None, name: str) -> VirtualRegister:
    index = VirtualRegister(value, name)
    index.is_frozen = True
    return index


def dynamic_range(start: Any, stop: Any = None, step: int = 1) -> RuntimeRange:
    """A loop with bounds of the run time."""
    if stop is None:
        start, stop = 0, start
    name = source.loop_variable(source.site()) or "i"
    return RuntimeRange(dynamic_indices(start, stop, step), _origin(name))


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[VirtualRegister], Any],
              step: int = 1) -> None:
    """body_fun(i) for i from lower to upper, bounds of the run time: i is a scalar if they are.

    It returns nothing. [NKI-MIGRATION]
    """
    indices = dynamic_indices(lower, upper, step)
    bounds = [one for one in (lower, upper) if isinstance(one, VirtualRegister)]
    bounds.sort(key=lambda one: type(one) is not VirtualRegister)
    like = bounds[0].like if bounds else VirtualRegister
    for index in recorder.required().loop(indices, _origin("i")):
        left = body_fun(like(index, "i"))
        if isinstance(left, (View, VirtualRegister, tuple, list)):
            raise IllegalInstruction(f"{source.here()}: fori_loop: body_fun returns a value, "
                                     "which a loop does not keep; write it to a tensor from "
                                     "outside of the loop")


def while_loop(init: VirtualRegister,
               body_fun: Callable[[VirtualRegister], VirtualRegister]) -> None:
    """condition = body_fun(condition) while the condition is not zero."""
    active = recorder.required()
    if not isinstance(init, VirtualRegister):
        raise IllegalInstruction(f"{source.here()}: while_loop: init is {init!r}, but must be a "
                                 "register; make one with nki.isa.register_alloc")
    limit = assumed_trips(init) if init.value is None else sys.maxsize
    condition, trips = init, 0
    loop = active.open_loop(_origin(init.name))
    while trips < limit and condition.value != 0:
        condition = body_fun(VirtualRegister(condition.value, init.name))
        if not isinstance(condition, VirtualRegister):
            raise IllegalInstruction(f"{source.here()}: while_loop: body_fun returns "
                                     f"{condition!r}, but must return the condition's register")
        if condition.value is None and limit == sys.maxsize:
            limit = trips + assumed_trips(init)
        active.end_iteration(loop)
        trips += 1
        _check_trips(trips, condition)
    active.close_loop(loop)
