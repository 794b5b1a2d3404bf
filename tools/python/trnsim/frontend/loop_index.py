# SPDX-License-Identifier: Apache-2.0
# Loop indices of both dialects: integers that know which loops they depend on, and how.
"""The index of an `nl.affine_range` or `nl.sequential_range`, and sums and multiples of it.

A `LoopIndex` has the value of the current iteration and a coefficient per loop. While a kernel only
ever adds it and multiplies it by constants, every position of the loop body is affine in it, and a
loop needs only a few of its iterations executed (proven_loop.py, legacy/loops.py). A comparison
says from which iteration on its answer changes: the loop's horizon. `%` and `//` by a constant say
after how many iterations they repeat, a subscript of a list what it selects from. Anything else
asks for the value: the loop is then executed in full, which is always right.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import gcd, lcm
from types import FrameType
from typing import Any, ClassVar

from trnsim.frontend.shortcuts import Retrace


class Loop:
    """A loop that is being executed: the range of its index, and what the kernel asked of it.

    Iterations from `value` up to, but not including, `horizon` answer every comparison alike.
    """

    __slots__ = ("checks", "expected", "extent", "horizon", "is_affine", "is_counted", "period",
                 "runs", "selections", "value", "values")

    def __init__(self, values: range) -> None:
        self.values = values
        self.period = 1
        """Iterations after which what it was asked repeats, if it is not affine; 0: never."""
        self.extent = 0
        """How far the iterations go for which this one stands (runs.py)."""
        self.checks = False
        """Whether this iteration is compared with what was predicted."""
        self.expected: list[Any] | None = None
        """The runs of loops that this iteration will have, if they are known."""
        self.runs: list[Any] = []
        """Those that it has had."""
        self.selections: dict[tuple[int, int, int], Any] = {}
        """Lists that were subscripted in this iteration, by identity, place and its step."""
        self.value = values[0]
        self.is_affine = values.step > 0
        self.is_counted = values.start == 0 < values.step
        """Whether its indices are numbers, from 0 on, if all iterations are executed."""
        self.horizon = values.stop

    def begin(self, at: int, known: Any, remembers: bool) -> bool:
        """Iteration number `at` follows: whether it takes decisions that are known.

        Those of an iteration of a `known` run (runs.py), or of the one before. If not, its horizon
        is found anew.
        """
        self.value = value = self.values[at]
        runs, self.runs = self.runs, []
        if known is None and at and remembers and self.is_affine and value < self.horizon:
            self.expected = runs
            return True
        self.expected = None if known is None else known.inner.get(at)
        self.horizon = self.values.stop
        return known is not None

    def give_up(self) -> None:
        """The loop is executed in full."""
        self.is_affine = False
        self.period = 0

    def widen(self, extent: int) -> None:
        """This iteration stands for those whose index is up to `extent` higher."""
        LoopIndex.wide += bool(extent) - bool(self.extent)
        self.extent = extent


class LoopIndex:
    """An integer `constant + sum(coefficient * loop index)`; `value` is that of this iteration."""

    __slots__ = ("terms", "value")
    open_loops: ClassVar[list[Loop]] = []
    """Loops of the `nki` API that have such an index (proven_loop.py)."""
    subscripted: ClassVar[Callable[[FrameType], Any] | None] = None
    """Finds the list that a frame is subscripting; None if it is doing something else."""
    __array_ufunc__ = None
    wide: ClassVar[int] = 0
    """Open loops that have an extent."""

    def __init__(self, value: int, terms: dict[Loop, int]) -> None:
        self.value = value
        self.terms = terms

    def ask(self) -> int:
        """The value, for a use that is not affine: its loops are executed in full."""
        for loop in self.terms:
            loop.give_up()
        return self.value

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` finds: code of the user's is told what the index itself would be."""
        return int

    def __getattr__(self, name: str) -> Any:
        """Other attributes of integers."""
        found = getattr(self.value, name)
        self.ask()
        return found

    def __copy__(self) -> LoopIndex:
        return self

    def __deepcopy__(self, memo: Any) -> LoopIndex:
        """The loops are those that watch it."""
        return self

    def is_first(self) -> bool:
        """Whether all its loops are in their first iteration; they learn that the next is not."""
        if any(loop.value != loop.values[0] for loop in self.terms):
            return False
        for loop in self.terms:
            if loop.extent:
                raise Retrace(remembers=True)
            loop.horizon = min(loop.horizon, loop.value + 1)
        return True

    def reach(self) -> tuple[int, int]:
        """The lowest and the highest value in all iterations that this one stands for."""
        low = high = self.value
        for loop, coefficient in self.terms.items():
            change = coefficient * loop.extent
            if change < 0:
                low += change
            else:
                high += change
        return low, high

    def stay_within(self, low: int, high: int) -> None:
        """Traces again if this iteration stands for others in which the value is outside."""
        lowest, highest = self.reach()
        if lowest < low <= self.value <= high or low <= self.value <= high < highest:
            raise Retrace(remembers=True)

    def is_at_least(self, limit: int) -> bool:
        """A comparison; its loops learn from which index on the answer is another one."""
        margin = self.value - limit
        if LoopIndex.wide:
            low, high = self.reach()
            if (low >= limit) != (high >= limit):
                raise Retrace(remembers=True)
            margin = (low if margin >= 0 else high) - limit
        for loop, coefficient in self.terms.items():
            if margin >= 0 > coefficient:
                change = margin // -coefficient + 1
            elif margin < 0 < coefficient:
                change = -(margin // coefficient)
            else:
                continue
            loop.horizon = min(loop.horizon, loop.value + change)
        return margin >= 0

    def __add__(self, other: Any) -> Any:
        if type(other) is int:
            return LoopIndex(self.value + other, self.terms)
        if type(other) is LoopIndex:
            terms = dict(self.terms)
            for loop, coefficient in other.terms.items():
                terms[loop] = terms.get(loop, 0) + coefficient
            return _made(self.value + other.value, terms)
        return self._with_number(other, "__add__")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if type(other) is int:
            return LoopIndex(self.value - other, self.terms)
        if type(other) is LoopIndex:
            return self.value - other.value if self.terms == other.terms else self + -other
        return self._with_number(other, "__sub__")

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if type(other) is int:
            if other == 0:
                return 0
            return LoopIndex(self.value * other, {
                loop: coefficient * other for loop, coefficient in self.terms.items()})
        if type(other) is LoopIndex:
            return self.ask() * other.ask()
        return self._with_number(other, "__mul__")

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> LoopIndex:
        return self

    def __floordiv__(self, other: Any) -> Any:
        if type(other) is int and other > 0 and self._divides(other):
            return _made(self.value // other,
                         {loop: coefficient // other for loop, coefficient in self.terms.items()})
        return (self.ask_turn(other) if type(other) is int else self.ask()) // other

    def _divides(self, number: int) -> bool:
        """Whether iterations change the value by multiples of a number only."""
        return all(one % number == 0 for one in self.terms.values())

    def __mod__(self, other: Any) -> Any:
        if type(other) is int and other and self._divides(other):
            return self.value % other
        return (self.ask_turn(other) if type(other) is int else self.ask()) % other

    def ask_turn(self, number: int) -> int:
        """The value, for a use that repeats when the index has grown by a multiple of a number."""
        if number <= 0:
            return self.ask()
        for loop, coefficient in self.terms.items():
            loop.is_affine = False
            loop.period = lcm(loop.period, number // gcd(number, coefficient))
        return self.value

    def _with_number(self, other: Any, name: str) -> Any:
        """Numbers of other kinds: numpy integers stay affine, everything else asks."""
        if hasattr(other, "__index__") and not hasattr(other, "form"):
            return getattr(self, name)(other.__index__())
        if isinstance(other, (float, complex)):
            return getattr(float(self.ask()), name)(other)
        return NotImplemented

    def __truediv__(self, other: Any) -> Any:
        return self.ask() / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.ask()

    def __rfloordiv__(self, other: Any) -> Any:
        return other // self.ask()

    def __rmod__(self, other: Any) -> Any:
        return other % self.ask()

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return divmod(other, self.ask())

    def __round__(self, *digits: Any) -> Any:
        return round(self.ask(), *digits)

    def __trunc__(self) -> LoopIndex:
        return self

    __floor__ = __ceil__ = __trunc__

    def __invert__(self) -> Any:
        return -self - 1

    def __pow__(self, other: Any) -> Any:
        return self.ask() ** other

    def __rpow__(self, other: Any) -> Any:
        return other ** self.ask()

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __and__(self, other: Any) -> Any:
        return self.ask() & other

    def __or__(self, other: Any) -> Any:
        return self.ask() | other

    def __xor__(self, other: Any) -> Any:
        return self.ask() ^ other

    def __lshift__(self, other: Any) -> Any:
        return self * (1 << other) if type(other) is int else self.ask() << other

    def __rshift__(self, other: Any) -> Any:
        return self // (1 << other) if type(other) is int else self.ask() >> other

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def _compare(self, other: Any, limit: int) -> Any:
        """Whether `self - other >= limit`; NotImplemented if `other` is not a number."""
        difference = self - other
        if type(difference) is LoopIndex:
            return difference.is_at_least(limit)
        return difference >= limit if isinstance(difference, int) else NotImplemented

    def __lt__(self, other: Any) -> Any:
        if isinstance(other, float):
            return self.ask() < other
        answer = self._compare(other, 0)
        return answer if answer is NotImplemented else not answer

    def __le__(self, other: Any) -> Any:
        if isinstance(other, float):
            return self.ask() <= other
        answer = self._compare(other, 1)
        return answer if answer is NotImplemented else not answer

    def __gt__(self, other: Any) -> Any:
        return self.ask() > other if isinstance(other, float) else self._compare(other, 1)

    def __ge__(self, other: Any) -> Any:
        return self.ask() >= other if isinstance(other, float) else self._compare(other, 0)

    def __eq__(self, other: object) -> Any:
        if isinstance(other, (float, complex)):
            return self.ask() == other
        if not isinstance(other, (int, LoopIndex)) and not hasattr(other, "__index__"):
            return NotImplemented
        reached, passed = self._compare(other, 0), self._compare(other, 1)
        return NotImplemented if reached is NotImplemented else reached and not passed

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return hash(self.ask())

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __index__(self) -> int:
        """Python asks where a list is subscripted, too: then its loop has `selections` to check."""
        if LoopIndex.open_loops and len(self.terms) == 1 and LoopIndex.subscripted is not None:
            chosen = LoopIndex.subscripted(sys._getframe(1))
            if chosen is not None:
                ((loop, coefficient),) = self.terms.items()
                loop.selections[id(chosen), self.value, coefficient] = chosen
                return self.value
        return self.ask()

    def __int__(self) -> int:
        return self.ask()

    def __float__(self) -> float:
        return float(self.ask())

    def __repr__(self) -> str:
        return str(self.ask())

    def __format__(self, spec: str) -> str:
        return format(self.ask(), spec)


def _made(value: int, terms: dict[Loop, int]) -> Any:
    """A loop index, or the plain integer when it depends on no loop any more."""
    for coefficient in terms.values():
        if coefficient == 0:
            terms = {loop: one for loop, one in terms.items() if one}
            return LoopIndex(value, terms) if terms else value
    return LoopIndex(value, terms)


def give_up() -> None:
    """Asks for the indices of all open loops: what depends on them is used in another way."""
    for loop in LoopIndex.open_loops:
        loop.is_affine = False


def plain(number: Any) -> int:
    """The value of an integer or loop index in this iteration, for an affine use."""
    return number if type(number) is int else number.value
