# SPDX-License-Identifier: Apache-2.0
# What Python computes with the index of a loop that is recorded once.
"""Theorem: whatever is computed with the index of a loop, its recording executes the instructions
that the loop executes in full."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest
from helpers import flat, tensor, traced
from kernels import nisa, nl

HBM = tensor("float32", 128, 64)
LOOPS = [range, nl.affine_range, nl.sequential_range]
ROUNDED = [round, math.trunc, math.floor, math.ceil, int, float, hash, operator.index]


def places(compute: Any, loop: Any) -> Any:
    """A kernel that writes a column for every iteration, where `compute(index)` says."""
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 16384), dtype=nl.float32, buffer=nl.sbuf)
        for i in loop(9):
            at = compute(i)
            if isinstance(at, (bool, float, np.number)):
                at = int(4 * at)
            nisa.memset(tile[0:128, 8000 + at:8001 + at], value=1.0)
    return kernel


def check(compute: Any, loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = places(compute, loop)
    assert traced(kernel, HBM) == flat(kernel, [HBM], monkeypatch)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("compute", [
    lambda i: i + 3, lambda i: 3 + i, lambda i: i - 3, lambda i: 3 - i, lambda i: i * 3,
    lambda i: 3 * i, lambda i: i * i, lambda i: i * 0, lambda i: -i, lambda i: +i, lambda i: ~i,
    lambda i: i // 2, lambda i: 4 * i // 2, lambda i: i // -2, lambda i: 50 // (i + 1),
    lambda i: i % 4, lambda i: 4 * i % 4, lambda i: i % -3, lambda i: 50 % (i + 1),
    lambda i: i / 2, lambda i: 4 / (i + 1), lambda i: divmod(i, 4)[0] + divmod(i, 4)[1],
    lambda i: sum(divmod(50, i + 1)), lambda i: i ** 2, lambda i: 2 ** i, lambda i: pow(i, 2),
    lambda i: abs(i - 4), lambda i: i & 3, lambda i: 3 & i, lambda i: i | 4, lambda i: 4 | i,
    lambda i: i ^ 5, lambda i: 5 ^ i, lambda i: i << 2, lambda i: i >> 1, lambda i: 1 << i,
    lambda i: 512 >> i, lambda i: i + 0.5, lambda i: 0.5 - i, lambda i: i * 0.5,
    lambda i: i + np.int64(3), lambda i: np.int64(3) + i, lambda i: np.int32(2) * i])
def test_arithmetic(compute: Any, loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check(compute, loop, monkeypatch)


@pytest.mark.parametrize("compute", [
    lambda i: i < 4, lambda i: i <= 4, lambda i: i > 4, lambda i: i >= 4, lambda i: i == 4,
    lambda i: i != 4, lambda i: 4 < i, lambda i: 4 >= i, lambda i: i < 4.5, lambda i: i <= 4.5,
    lambda i: i > 4.5, lambda i: i >= 4.5, lambda i: i == 4.0, lambda i: i != 4.0,
    lambda i: i == "4", lambda i: i != None, lambda i: i is None,  # noqa: E711
    lambda i: 2 * i == i + 4, lambda i: i in (1, 5), lambda i: bool(i), lambda i: not i,
    lambda i: max(i, 4), lambda i: min(4, i), lambda i: sorted([4, i])[0], lambda i: [4, 7][i > 3],
    lambda i: {4: 9}.get(i, 3), lambda i: len("x" * i), lambda i: list(range(20))[i],
    lambda i: list(range(i + 2))[-1], lambda i: i if i % 2 else -i])
def test_questions(compute: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check(compute, nl.affine_range, monkeypatch)


@pytest.mark.parametrize("convert", ROUNDED, ids=lambda one: one.__name__)
def test_conversions(convert: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check(convert, nl.affine_range, monkeypatch)
    check(lambda i: convert(i * 3 - 4), nl.affine_range, monkeypatch)
