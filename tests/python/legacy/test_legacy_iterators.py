# SPDX-License-Identifier: Apache-2.0
# Ranges of the 0.1 dialect that are used otherwise than in a plain `for` statement.
"""What they record is what all their iterations record."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from legacy_helpers import in_full, nl, ops, program, tensor
from trace_expander import expand
from trnsim.frontend import run_kernel

BIG = tensor("float32", 4096, 4096)
Range = Callable[..., Any]


def part(x: Any, i: Any, size: int = 8) -> Any:
    return x[0:128, nl.ds(i * 8, size)]


def listed(x: Any, over: Range) -> None:
    tile = nl.load(part(x, 0))
    for i in list(over(30)):
        nl.store(part(x, i), tile)


def comprehended(x: Any, over: Range) -> None:
    for at, tile in enumerate([nl.load(part(x, i)) for i in over(2, 30)]):
        nl.store(part(x, at), tile)


def mapped(x: Any, over: Range) -> None:
    for tile in list(map(lambda i: nl.load(part(x, i)), over(30))):
        nl.store(part(x, 40), tile)


def multiplied(x: Any, over: Range) -> None:
    tile = nl.load(part(x, 0))
    for i, j in itertools.product(over(8), over(8)):
        nl.store(part(x, i * 8 + j), tile)


def enumerated(x: Any, over: Range) -> None:
    tile = nl.load(part(x, 0))
    for at, i in enumerate(over(20)):
        if at == 10:
            tile = nl.exp(tile)
        nl.store(part(x, i), tile)


def zipped(x: Any, over: Range) -> None:
    tile = nl.load(part(x, 0))
    for _ in over(5):
        for i, j in zip(over(9), [7, 3, 5, 1, 2, 2, 9]):
            nl.store(part(x, i * 10 + j), tile)


def zipped_with_another(x: Any, over: Range) -> None:
    tile = nl.load(part(x, 0))
    for i, j in zip(over(9), over(2, 20, 2)):
        nl.store(part(x, i * 20 + j), tile)


def counted(x: Any, over: Range) -> None:
    tile = nl.load(part(x, 0))
    assert all(type(i) is int for i in list(over(3, 7)))
    for i in range(sum(1 for _ in over(12)) + max(over(3, 7)) + len(list(over(5)))):
        nl.store(part(x, i), tile)


def generated(x: Any, over: Range) -> None:
    def pairs() -> Iterator[Any]:
        for i in over(12):
            yield i, tile

    tile = nl.load(part(x, 0))
    for at, (i, one) in enumerate(pairs()):
        if at == 7:
            nl.store(part(x, 300), tile)
        nl.store(part(x, i), one)


@pytest.mark.parametrize("over", [nl.affine_range, nl.sequential_range])
@pytest.mark.parametrize("kernel", [listed, comprehended, mapped, multiplied, enumerated, zipped,
                                    zipped_with_another, counted, generated])
def test_a_range_in_an_expression_loses_no_iteration(kernel: Callable[..., None],
                                                     over: Range) -> None:
    def whole(x: Any) -> None:
        kernel(x, range)

    def used(x: Any) -> None:
        kernel(x, over)
    shown = [(one.op, one.places) for one in expand(program(used, BIG).lines())]
    assert shown == [(one.op, one.places) for one in expand(in_full(whole, BIG))]


@pytest.mark.parametrize("grid", [1, 2, 4])
@pytest.mark.parametrize("stop", [0, 1, 5])
def test_a_loop_that_is_broken_off_records_what_was_executed(stop: int, grid: int) -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(part(x, 0))
        for i in nl.affine_range(8):
            for j in nl.affine_range(6):
                if j == stop:
                    break
                nl.store(part(x, grid * 50 + i * 6 + j), tile)
            nl.store(part(x, 100 + i), tile)

    def twice(x: Any) -> None:
        for _ in nl.affine_range(grid):
            kernel(x)
    executed = expand(program(twice, BIG).lines())
    assert executed == expand(in_full(twice, BIG))
    assert len(executed) == grid * (1 + 8 * (stop + 1))


def previous(x: Any) -> None:
    last, current = nl.load(part(x, 0)), nl.load(part(x, 1))
    for i in nl.sequential_range(2, 20):
        last = current
        current = nl.load(part(x, i))
        nl.store(part(x, 100 + i), current)
    nl.store(part(x, 200), last)


def two_before(x: Any) -> None:
    first = second = third = nl.load(part(x, 0))
    for i in nl.affine_range(20):
        first, second, third = second, third, nl.load(part(x, i))
        nl.store(part(x, 100 + i), third)
    nl.store(part(x, 200), first)


def turned_round(x: Any) -> None:
    first, second, third = (nl.load(part(x, i)) for i in range(3))
    for i in nl.affine_range(20):
        nl.store(part(x, 100 + i), nl.load(part(x, i)))
        first, second, third = second, third, first
    nl.store(part(x, 200), first)


def kept_in_a_list(x: Any) -> None:
    lately = [nl.load(part(x, 0)), nl.load(part(x, 1))]
    for i in nl.affine_range(20):
        lately = [lately[1], nl.load(part(x, i))]
        nl.store(part(x, 100 + i), lately[1])
    nl.store(part(x, 200), lately[0])


def until_the_tenth(x: Any) -> None:
    last = current = nl.load(part(x, 0))
    for i in nl.affine_range(20):
        if i < 10:
            last = current
        current = nl.load(part(x, i))
        nl.store(part(x, 100 + i), current)
    nl.store(part(x, 200), last)


def three_before_in_turns(x: Any) -> None:
    first = second = third = fourth = nl.load(part(x, 0))
    for i in nl.affine_range(40):
        first, second, third, fourth = second, third, fourth, nl.load(part(x, i))
        nl.store(part(x, 100 + i % 2), fourth)
    nl.store(part(x, 200), first)


def kept_in_a_table(x: Any) -> None:
    lately = {"old": nl.load(part(x, 0)), "new": nl.load(part(x, 1))}
    for i in nl.affine_range(20):
        tile = nl.load(part(x, i))
        nl.store(part(x, 100 + i), tile)
        lately = {"old": lately["new"], "new": tile}
    nl.store(part(x, 200), lately["old"])


def read_in_the_last(x: Any) -> None:
    last = current = nl.load(part(x, 0))
    for i in nl.affine_range(20):
        if i == 19:
            nl.store(part(x, 200), last)
        last = current
        current = nl.load(part(x, i))
        nl.store(part(x, 100 + i), current)


def named_in_the_last(x: Any) -> None:
    last = current = nl.load(part(x, 0))
    kept = None
    for i in nl.affine_range(20):
        if i == 19:
            kept = last
        last = current
        current = nl.load(part(x, i))
        nl.store(part(x, 100 + i), current)
    nl.store(part(x, 200), kept)


@pytest.mark.parametrize("kernel", [previous, two_before, turned_round, kept_in_a_list,
                                    kept_in_a_table, until_the_tenth, read_in_the_last,
                                    named_in_the_last, three_before_in_turns])
def test_a_tile_that_a_loop_leaves_behind_is_that_of_its_last_iterations(
        kernel: Callable[..., None]) -> None:
    assert expand(program(kernel, BIG).lines()) == expand(in_full(kernel, BIG))


def test_a_tile_that_all_iterations_leave_alone_costs_no_iteration() -> None:
    def kernel(x: Any) -> None:
        first = None
        for i in nl.affine_range(4000):
            current = nl.load(part(x, i % 2))
            first = current if i == 0 else first
            nl.store(part(x, 100), current)
        nl.store(part(x, 200), first)
        nl.store(part(x, 201), current)
    found = program(kernel, BIG)
    assert found.instructions == 8002
    assert expand(found.lines()) == expand(in_full(kernel, BIG))


def rows_from(x: Any, start: Any, stop: Any) -> Any:
    for j in nl.affine_range(start, stop):
        total = nl.loop_reduce(nl.load(x[j]), op=np.add, loop_indices=[j])
    return total


@pytest.mark.parametrize("starts", [(0, 1, 2), (3, 0), (0, 3), (2, 2, 0)])
def test_a_loop_reduction_begins_with_the_first_iteration_of_each_run(
        starts: tuple[int, ...]) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((len(starts), 128, 4), np.float32, buffer=nl.shared_hbm)
        for at, start in enumerate(starts):
            nl.store(out[at], rows_from(x, start, 6))
        return out
    data = np.random.default_rng(3).standard_normal((6, 128, 4)).astype(np.float32)
    found = run_kernel(kernel, data, api="neuronxcc.nki")
    assert np.allclose(found, [data[start:].sum(0) for start in starts], atol=1e-5)
    shown = tensor("float32", 6, 128, 4)
    assert expand(program(kernel, shown).lines()) == expand(in_full(kernel, shown))
    assert ops(expand(program(kernel, shown).lines())).count("tensor_copy") == len(starts)
