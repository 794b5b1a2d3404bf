# SPDX-License-Identifier: Apache-2.0
# Kernels of the 0.1 dialect that count iterations in their variables.
"""Loops whose iterations depend on Python's state are executed in full; others are not."""

from __future__ import annotations

from typing import Any

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


@pytest.mark.parametrize("kernel", [compared, counted, counted_inside, taking_turns, found_late,
                                    counted_in_rounds, stepping, flagged])
def test_what_a_kernel_counts_in_its_variables_is_right(kernel: Any) -> None:
    assert expand(program(kernel, BIG).lines()) == expand(in_full(kernel, BIG))


def test_numbers_that_stay_as_they_are_keep_nothing_from_being_left_out() -> None:
    calls: list[int] = []

    def kernel(x: Any) -> None:
        tile, width, is_first = nl.load(x[0:128, 0:512]), 8, True
        for i in nl.affine_range(64):
            calls.append(1)
            if is_first:
                nl.store(x[0:128, nl.ds(2000, 8)], tile[:, 0:8])
            nl.store(x[0:128, nl.ds(i * width, width)], tile[:, 0:8])
            width, is_first = width * 1, False

    program(kernel, BIG)
    assert len(calls) < 8


def test_a_kernel_that_counts_from_its_first_iteration_on_is_traced_once() -> None:
    attempts, executed = [], []

    def kernel(x: Any) -> None:
        attempts.append(1)
        tile, at = nl.load(x[0:128, 0:512]), 0
        for i in nl.sequential_range(8):
            for _ in nl.affine_range(16):
                executed.append(i)
                nl.store(x[0:128, nl.ds(at, 8)], tile[:, 0:8])
            at += 8

    program(kernel, BIG)
    assert len(attempts) == 1 and len(executed) < 8 * 16
