# SPDX-License-Identifier: Apache-2.0
# Kernels of the 0.1 dialect that count iterations in their variables.
"""Loops whose iterations depend on Python's state are executed in full; others are not."""

from __future__ import annotations

import functools
import itertools
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from legacy_helpers import in_full, nl, program, tensor
from trace_expander import expand

BIG = tensor("float32", 4096, 4096)


def compared(x: Any) -> None:
    """What is counted decides what is done."""
    tile, n = nl.load(x[0:128, 0:512]), 0
    for i in nl.affine_range(40):
        if n == 30:
            nl.store(x[0:128, nl.ds(2000, 8)], tile[:, 0:8])
        nl.store(x[0:128, nl.ds(i * 8, 8)], tile[:, 0:8])
        n += 1


def counted(x: Any) -> None:
    """Iterations of loops inside of each other; the count is used behind them."""
    tile, n = nl.load(x[0:128, 0:512]), 0
    for i in nl.affine_range(20):
        for j in nl.affine_range(6):
            nl.store(x[0:128, nl.ds(i * 60 + j * 8, 8)], tile[:, 0:8])
            n += 1
    nl.store(x[0:128, nl.ds(n, 4)], tile[:, 0:4])


def counted_inside(x: Any) -> None:
    """A loop that is counted inside of one that is not."""
    tile = nl.load(x[0:128, 0:512])
    for i in nl.affine_range(20):
        n = 0
        for j in nl.sequential_range(12):
            nl.store(x[0:128, nl.ds(i * 200 + j * 8, 8)], tile[:, 0:8])
            n += 2
        nl.store(x[0:128, nl.ds(i * 200 + n, 4)], tile[:, 0:4])


def taking_turns(x: Any) -> None:
    """Two places in turn, and the one that is next behind the loop."""
    tile, turn = nl.load(x[0:128, 0:512]), 0
    for i in nl.affine_range(21):
        nl.store(x[0:128, nl.ds(i * 8, 8)], tile[:, 0:8])
        turn = 1 - turn
    nl.store(x[0:128, nl.ds(turn * 8, 4)], tile[:, 0:4])


def found_late(x: Any) -> None:
    """A number that changes once, in the midst of the loop."""
    tile, found = nl.load(x[0:128, 0:512]), 0
    for i in nl.affine_range(20):
        nl.store(x[0:128, nl.ds(found * 100 + i, 1)], tile[:, 0:1])
        if i == 11:
            found = 1


def counted_in_rounds(x: Any) -> None:
    """Iterations repeat after four; how many there were is used behind them."""
    tile, n = nl.load(x[0:128, 0:512]), 0
    for i in nl.affine_range(32):
        nl.store(x[0:128, nl.ds((i % 4) * 8, 8)], tile[:, 0:8])
        n += 1
    nl.store(x[0:128, nl.ds(n, 4)], tile[:, 0:4])


def stepping(x: Any) -> None:
    """The loop inside has another step in each iteration."""
    tile, step = nl.load(x[0:128, 0:512]), 8
    for _ in nl.affine_range(4):
        for j in nl.affine_range(12):
            nl.store(x[0:128, nl.ds(j * step, 8)], tile[:, 0:8])
        step += 8


def flagged(x: Any) -> None:
    """The first iteration differs from the others, which are alike."""
    tile, is_first = nl.load(x[0:128, 0:512]), True
    for i in nl.affine_range(40):
        nl.store(x[0:128, nl.ds(i * 8, 8)], tile[:, 0:8])
        if is_first:
            nl.store(x[0:128, nl.ds(2000, 8)], tile[:, 0:8])
        is_first = False


class Ledger:
    """An object that counts."""

    rows = 0

    def __init__(self) -> None:
        self.count = 0
        self.tiles: list[Any] = []

    def next_row(self) -> int:
        self.count += 1
        return self.count


class Slotted:
    """An object without a dictionary."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    next_row = Ledger.next_row


class Book(Ledger):
    """A class that counts in itself."""

    @classmethod
    def next_row(cls) -> int:
        cls.rows += 8
        return cls.rows


_rows = 0
_table = {"rows": 0}


def _next_row() -> int:
    global _rows
    _rows += 1
    return _rows


def _row_of_list(seen: list[int]) -> int:
    seen.append(0)
    return len(seen)


def _row_of_table() -> int:
    _table["rows"] += 3
    return _table["rows"]


def _closure() -> Any:
    row = 0

    def following() -> int:
        nonlocal row
        row += 2
        return row

    return following


class Base:
    """A class whose number another one counts in."""

    rows = 0


class Derived(Base):
    """It keeps nothing itself."""

    @staticmethod
    def next_row() -> int:
        Base.rows += 5
        return Base.rows


class Property(Ledger):
    """An attribute that counts when it is read."""

    @property
    def row(self) -> int:
        return _next_row()

    def look(self) -> int:
        return self.row


def _row_of_default(seen: Any = {"rows": 0}) -> int:  # noqa: B006
    seen["rows"] += 1
    return int(seen["rows"])


def _row_of_array(counts: Any) -> int:
    counts[1] += 1
    return int(counts[1])


def _row_of_set(seen: set[int]) -> int:
    seen.add(len(seen))
    return len(seen)


def _row_of_comprehension() -> int:
    return [_next_row() for _ in (0,)][0]


def _row_of_module() -> int:
    a_module.rows += 1
    return int(a_module.rows)


a_module: Any = ModuleType("a_module")
a_module.__file__ = "a_module.py"


def _through(row: Any) -> Any:
    """A function that calls another one."""
    return lambda: row()


STATES = {
    "attribute": lambda: Ledger().next_row,
    "slot": lambda: Slotted().next_row,
    "attribute of a class": lambda: Book().next_row,
    "global": lambda: _next_row,
    "list": lambda: functools.partial(_row_of_list, []),
    "dictionary": lambda: _row_of_table,
    "cell": _closure,
    "base": lambda: Derived.next_row,
    "property": lambda: Property().look,
    "default": lambda: _row_of_default,
    "array": lambda: functools.partial(_row_of_array, np.zeros(3)),
    "set": lambda: functools.partial(_row_of_set, set()),
    "comprehension": lambda: _row_of_comprehension,
    "module": lambda: _row_of_module,
    "method": lambda: _through(lambda append=[].append: append(0) or append.__self__.__len__()),
    "iterator": lambda: functools.partial(next, iter(range(1, 900))),
    "behind a function": lambda: _through(Ledger().next_row),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("place", ["inside", "behind", "nested"])
def test_what_a_kernel_counts_elsewhere_is_right(state: str, place: str) -> None:
    def kernel(x: Any) -> None:
        global _rows
        _rows, Book.rows, Base.rows, a_module.rows = 0, 0, 0, 0
        _table["rows"] = 0
        _row_of_default.__defaults__[0]["rows"] = 0  # type: ignore[index]
        row = STATES[state]()
        tile = nl.load(x[0:128, 0:512])
        for i in nl.affine_range(40):
            for j in nl.affine_range(3 if place == "nested" else 1):
                at = row()
                nl.store(x[0:128, nl.ds(at * 4 if place == "inside" else i * 8 + j, 4)],
                         tile[:, 0:4])
        nl.store(x[0:128, nl.ds(row(), 4)], tile[:, 0:4])

    assert expand(program(kernel, BIG).lines()) == expand(in_full(kernel, BIG))


def test_a_global_that_a_loop_itself_counts_in_is_right() -> None:
    def kernel(x: Any) -> None:
        global _rows
        _rows, tile = 0, nl.load(x[0:128, 0:512])
        for i in nl.affine_range(40):
            nl.store(x[0:128, nl.ds(i * 8, 8)], tile[:, 0:8])
            _rows += 1
        nl.store(x[0:128, nl.ds(_rows, 4)], tile[:, 0:4])

    assert expand(program(kernel, BIG).lines()) == expand(in_full(kernel, BIG))


def test_tiles_that_a_kernel_keeps_elsewhere_keep_nothing_from_being_left_out() -> None:
    executed = itertools.count()

    def kernel(x: Any) -> None:
        ledger, tiles, table = Ledger(), [None, None], {}
        for i in nl.affine_range(64):
            next(executed)
            table["last"] = ledger.tile = tiles[1] = nl.load(x[0:128, nl.ds(i * 8, 8)])
            nl.store(x[0:128, nl.ds(1000 + i * 8, 8)], table["last"])

    program(kernel, BIG)
    assert next(executed) < 8


@pytest.mark.parametrize("kernel", [compared, counted, counted_inside, taking_turns, found_late,
                                    counted_in_rounds, stepping, flagged])
def test_what_a_kernel_counts_in_its_variables_is_right(kernel: Any) -> None:
    assert expand(program(kernel, BIG).lines()) == expand(in_full(kernel, BIG))


def test_numbers_that_stay_as_they_are_keep_nothing_from_being_left_out() -> None:
    calls = itertools.count()

    def kernel(x: Any) -> None:
        tile, width, is_first = nl.load(x[0:128, 0:512]), 8, True
        for i in nl.affine_range(64):
            next(calls)
            if is_first:
                nl.store(x[0:128, nl.ds(2000, 8)], tile[:, 0:8])
            nl.store(x[0:128, nl.ds(i * width, width)], tile[:, 0:8])
            width, is_first = width * 1, False

    program(kernel, BIG)
    assert next(calls) < 8


def test_a_kernel_that_counts_from_its_first_iteration_on_is_traced_once() -> None:
    attempts, executed = itertools.count(), itertools.count()

    def kernel(x: Any) -> None:
        next(attempts)
        tile, at = nl.load(x[0:128, 0:512]), 0
        for _ in nl.sequential_range(8):
            for _ in nl.affine_range(16):
                next(executed)
                nl.store(x[0:128, nl.ds(at, 8)], tile[:, 0:8])
            at += 8

    program(kernel, BIG)
    assert next(attempts) == 1 and next(executed) < 8 * 16
