# SPDX-License-Identifier: Apache-2.0
# Runs of loops inside of loops: what a body leaves behind, and iterations that stand for others.
from __future__ import annotations

import dis
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from trnsim.frontend import TensorArgument, dtype, install, trace
from trnsim.frontend.loop_index import Loop, LoopIndex
from trnsim.frontend.sampling.runs import Run, expected, leaks
from trnsim.frontend.shortcuts import Retrace

install()
import neuronxcc.nki as nki  # noqa: E402
import neuronxcc.nki.language as nl  # noqa: E402


def first_loop(function: Callable[..., Any]) -> int:
    """Where a function makes the iterator of its first `for` statement."""
    return next(one.offset for one in dis.get_instructions(function)
                if one.opname == "GET_ITER")


def closed(values: Any, use: Any) -> None:
    for one in values:
        double = 2 * one
        use(double)
    for one in values:
        double = one
        use(double)


def read_after(values: Any) -> Any:
    last = None
    for one in values:
        last = one
    return last


def index_read_after(values: Any) -> Any:
    one = 0
    for one in values:  # noqa: B007 - it is used after the loop.
        pass
    return one


def read_in_the_next_round(values: Any, use: Any) -> None:
    known = 0
    while use(known):
        for one in values:
            known = one


def appends(values: Any, found: list[Any]) -> None:
    for one in values:
        found.append(one)


def stores_an_attribute(values: Any, found: Any) -> None:
    for one in values:
        found.last = one


def fills_a_cell(values: Any) -> Any:
    last = 0
    for one in values:
        last = one
    return lambda: last


def returns_early(values: Any) -> Any:
    for one in values:
        if one:
            return one
    return None


def comprehends(values: Any) -> Any:
    return [one for one in values]


def test_a_body_whose_names_are_assigned_again_leaves_nothing() -> None:
    assert not leaks(closed.__code__, first_loop(closed))


@pytest.mark.parametrize("function", [
    read_after, index_read_after, read_in_the_next_round, appends, stores_an_attribute,
    fills_a_cell, returns_early, comprehends])
def test_a_body_leaks_what_other_code_may_see(function: Callable[..., Any]) -> None:
    assert leaks(function.__code__, first_loop(function))


def test_a_place_that_is_no_loop_leaks() -> None:
    assert leaks(closed.__code__, 0)
    assert leaks(closed.__code__, 99_999)


def test_a_comparison_that_all_iterations_answer_alike_bounds_the_other_loops() -> None:
    outer, inner = Loop(range(10)), Loop(range(4))
    inner.widen(3)
    try:
        sum_ = LoopIndex(0, {outer: 1}) + LoopIndex(0, {inner: 1})
        assert sum_ < 8
        assert outer.horizon == 5, "outer + 3 < 8"
        difference = LoopIndex(0, {outer: 1}) - LoopIndex(0, {inner: 1})
        assert difference > -4
        assert difference.reach() == (-3, 0)
        assert outer.horizon == 5
    finally:
        inner.widen(0)
    assert LoopIndex.wide == 0


def test_a_comparison_that_iterations_answer_differently_has_the_kernel_traced_again() -> None:
    loop = Loop(range(4))
    loop.widen(3)
    try:
        with pytest.raises(Retrace):
            assert LoopIndex(0, {loop: 1}) < 2
        with pytest.raises(Retrace):
            LoopIndex(0, {loop: 1}).stay_within(0, 2)
        LoopIndex(0, {loop: 1}).stay_within(0, 3)
    finally:
        loop.widen(0)


def test_a_run_is_only_expected_of_the_same_loop_with_as_many_iterations() -> None:
    outer = Loop(range(4))
    assert expected(outer, "a", 3, None) is None
    assert expected(None, "a", 3, None) is None
    run = Run("a", 3)
    outer.expected = [run, run]
    assert expected(outer, "a", 3, None) is run
    assert expected(outer, "a", 4, None) is None
    assert expected(outer, "a", 3, None) is None, "what follows is another, too"


def executed_bodies(counts: tuple[int, ...], takes_shortcuts: bool) -> int:
    """How often the innermost body of a nest of loops runs."""
    bodies = itertools.count()

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)

        def nest(depth: int, at: Any) -> None:
            if depth == len(counts):
                next(bodies)
                nl.store(out[:, nl.ds(at, 8)], nl.load(x[:, nl.ds(at, 8)]))
                return
            for one in nl.affine_range(counts[depth]):
                nest(depth + 1, at + one)
        nest(0, 0)
        return out

    trace(kernel, [TensorArgument(dtype("bfloat16"), (128, 512))],
          takes_shortcuts=takes_shortcuts)
    return next(bodies)


def test_the_bodies_that_are_executed_grow_with_the_depth_of_a_nest_not_with_its_size() -> None:
    depth = 6
    assert executed_bodies((4,) * depth, takes_shortcuts=False) == 4**depth
    assert executed_bodies((4,) * depth, takes_shortcuts=True) <= (depth + 1)**2
    assert executed_bodies((2,) * depth, takes_shortcuts=True) <= (depth + 1)**2
