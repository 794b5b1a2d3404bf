# SPDX-License-Identifier: Apache-2.0
# Python ranges of the 0.1 dialect whose body calls the kernel's own functions.
"""They are executed in part where an iteration leaves nothing behind, and in full elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from legacy_helpers import in_full, nl, program, tensor
from trace_expander import expand
from trnsim.frontend.loops import LoopRange
from trnsim.frontend.recorder import Recorder

BIG = tensor("float32", 4096, 4096)
RANGES = [LoopRange, nl.static_range]
Body = Callable[[Any, Any, Any], Any]

_body: Body = lambda x, tile, i: None  # noqa: E731


def helper(x: Any, tile: Any, i: Any) -> Any:
    return _body(x, tile, i)


def check(kernel: Callable[[Any], Any], body: Body) -> None:
    """The trace is that of all iterations."""
    global _body
    _body = body
    assert expand(program(kernel, BIG).lines()) == expand(in_full(kernel, BIG))


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all operations that are executed as Python from now on."""
    executed: list[str] = []
    record = Recorder.record

    def noted(self: Recorder, op: str, *rest: Any, **named: Any) -> None:
        executed.append(op)
        record(self, op, *rest, **named)

    monkeypatch.setattr(Recorder, "record", noted)
    return executed


def plain(kind: Any) -> Callable[[Any], None]:
    """A loop that is calls of functions."""
    def kernel(x: Any) -> None:
        tile = nl.load(x[0:128, 0:512])
        for i in kind(64):
            helper(x, tile, i)
            helper(x, tile, i)
    return kernel


def store(x: Any, tile: Any, i: Any) -> None:
    nl.store(x[0:128, nl.ds(i * 8, 8)], nl.exp(tile[:, 0:8]))


def store_rows(x: Any, tile: Any, i: Any) -> None:
    for row in nl.affine_range(6):
        nl.store(x[nl.ds(row * 128, 128), nl.ds(i * 8, 8)], tile[:, 0:8])


def store_middle(x: Any, tile: Any, i: Any) -> None:
    if i == 40:
        nl.store(x[0:128, 2000:2008], tile[:, 0:8])
    store(x, tile, i)


@pytest.mark.parametrize("kind", RANGES)
@pytest.mark.parametrize("body, most", [(store, 4), (store_rows, 7), (store_middle, 10)])
def test_a_loop_that_calls_functions_executes_a_few_iterations(
        kind: Any, body: Body, most: int, stores: list[str]) -> None:
    check(plain(kind), body)
    stores.clear()
    program(plain(kind), BIG)
    assert stores.count("dma_copy") <= 1 + 2 * most


class Ledger:
    """An object that counts."""

    def __init__(self) -> None:
        self.count = 0
        self.seen: list[Any] = []
        self.last: Any = None


_ledger = Ledger()


def count_attribute(x: Any, tile: Any, i: Any) -> None:
    _ledger.count += 1
    store(x, tile, i)


def count_list(x: Any, tile: Any, i: Any) -> None:
    _ledger.seen.append(tile)
    store(x, tile, i)


def count_and_use(x: Any, tile: Any, i: Any) -> None:
    _ledger.count += 2
    nl.store(x[0:128, nl.ds(_ledger.count, 2)], tile[:, 0:2])


def keep_index(x: Any, tile: Any, i: Any) -> None:
    _ledger.last = i
    store(x, tile, i)


def turn(x: Any, tile: Any, i: Any) -> None:
    _ledger.count = 1 - _ledger.count
    nl.store(x[0:128, nl.ds(i * 16 + _ledger.count * 8, 8)], tile[:, 0:8])


def change_late(x: Any, tile: Any, i: Any) -> None:
    if i == 40:
        _ledger.count = 5
    nl.store(x[0:128, nl.ds(i * 16 + _ledger.count, 8)], tile[:, 0:8])


def ask(x: Any, tile: Any, i: Any) -> None:
    nl.store(x[0:128, nl.ds(i * i // 4, 8)], tile[:, 0:8])


@pytest.mark.parametrize("kind", RANGES)
@pytest.mark.parametrize("body", [count_attribute, count_list, count_and_use, keep_index, turn, change_late, ask])
def test_a_loop_whose_functions_leave_something_is_right(kind: Any, body: Body) -> None:
    def kernel(x: Any) -> None:
        _ledger.count, _ledger.last, _ledger.seen = 0, None, []
        tile = nl.load(x[0:128, 0:512])
        for i in kind(64):
            helper(x, tile, i)
        at = _ledger.count + len(_ledger.seen) + (_ledger.last or 0)
        nl.store(x[0:128, nl.ds(1000 + at, 2)], tile[:, 0:2])

    check(kernel, body)


@pytest.mark.parametrize("kind", RANGES)
def test_a_variable_that_the_last_iteration_does_not_assign_is_that_of_an_earlier_one(
        kind: Any) -> None:
    def kernel(x: Any) -> None:
        tile, found = nl.load(x[0:128, 0:512]), 0
        for i in kind(64):
            helper(x, tile, i)
            if i < 50:
                found = i
        nl.store(x[0:128, nl.ds(1000 + found, 2)], tile[:, 0:2])

    check(kernel, store)


@pytest.mark.parametrize("kind", RANGES)
def test_what_a_loop_prints_is_printed_each_time(
        kind: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def speak(x: Any, tile: Any, i: Any) -> None:
        print("a row")
        store(x, tile, i)

    global _body
    _body = speak
    program(plain(kind), BIG)
    assert capsys.readouterr().out.endswith("a row\n" * 128)
