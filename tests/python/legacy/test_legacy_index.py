# SPDX-License-Identifier: Apache-2.0
# Index expressions, masks and loop indices of the 0.1 dialect, without a trace.
"""nl.arange and what arithmetic makes of it."""

from __future__ import annotations

from typing import Any

import legacy_helpers  # noqa: F401
import numpy as np
import pytest
from trnsim.frontend import UserError
from trnsim.frontend.legacy.arange import arange, mgrid
from trnsim.frontend.legacy.index import ArrayIndex, Index
from trnsim.frontend.loop_index import Loop, LoopIndex
from trnsim.frontend.legacy.mask import EMPTY, FULL, clip

P = arange(128)[:, None]
F = arange(512)[None, :]


def loop(*bounds: int, value: int = 0) -> tuple[Loop, LoopIndex]:
    one = Loop(range(*bounds))
    one.value = value
    return one, LoopIndex(value, {one: 1})


@pytest.mark.parametrize(("expression", "expected"), [
    (lambda p, f: 3 * p + f - 5, lambda p, f: 3 * p + f - 5),
    (lambda p, f: 7 - p, lambda p, f: 7 - p),
    (lambda p, f: (p * 4 + 8) // 4, lambda p, f: (p * 4 + 8) // 4),
    (lambda p, f: (p * 4 + 3) % 4, lambda p, f: (p * 4 + 3) % 4),
    (lambda p, f: f // 2 + p, lambda p, f: f // 2 + p),
    (lambda p, f: f * f, lambda p, f: f * f),
    (lambda p, f: (f >= 100) * 2 + f, lambda p, f: (f >= 100) * 2 + f),
    (lambda p, f: -f + np.int64(3) * p, lambda p, f: -f + 3 * p)])
def test_arithmetic_has_the_values_of_numpy(expression: Any, expected: Any) -> None:
    p, f = np.arange(128)[:, None], np.arange(512)[None, :]
    found = expression(P, F).values()
    assert np.array_equal(np.broadcast_to(found, (128, 512)),
                          np.broadcast_to(expected(p, f), (128, 512)))


def test_a_sum_of_axes_is_one_affine_form_and_is_made_once() -> None:
    assert (P + F + 1).form is (1 + F + P).form
    assert (P + F).form.coefficients == (1, 1)


def test_what_divides_evenly_stays_affine_and_the_rest_becomes_values() -> None:
    assert isinstance((F * 8) // 4, Index)
    assert isinstance(F // 2, ArrayIndex)
    assert isinstance((F // 512) + P, Index)


def test_mgrid_gives_one_placed_index_per_axis() -> None:
    grid = mgrid[0:128, 4:8, 0:16]
    assert [axis.shape for axis in grid] == [(128, 1, 1), (1, 4, 1), (1, 1, 16)]
    assert grid.p is grid[0] and grid.y is grid[2] and grid.x.const == 4


def test_an_arange_from_a_loop_index_starts_where_the_loop_is() -> None:
    _, i = loop(8, value=3)
    assert arange(i * 128, i * 128 + 128).values().tolist() == list(range(384, 512))


@pytest.mark.parametrize(("make", "message"), [
    (lambda: arange(0), "is empty; a tile has at least one element"),
    (lambda: arange("x"), "nl.arange takes integers, here str"),
    (lambda: P + arange(7)[:, None], r"shapes \[128, 1\] and \[7, 1\] do not broadcast"),
    (lambda: P / 2, "divided with /"),
    (lambda: bool(P), "branches on an index expression"),
    (lambda: bool(P < 4), "branches on a mask.*combine masks with &"),
    (lambda: list(P), "a Python loop runs over nl.arange"),
    (lambda: int(P), "used where one integer is needed"),
    (lambda: P.__setitem__(0, 1), "written to, and it is a constant; make a tile of it"),
    (lambda: arange(4)[:, 0, 1], "subscripted with more"),
    (lambda: clip(P, (128, 512)), "mask= is an index expression")])
def test_a_wrong_use_is_refused(make: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make()


@pytest.mark.parametrize(("mask", "expected"), [
    (P < 64, ((0, 64), (0, 512))),
    ((P >= 3) & (F < 256), ((3, 125), (0, 256))),
    (-2 * F + 9 >= 0, ((0, 128), (0, 5))),
    (F * 4 > 12, ((0, 128), (4, 508))),
    (F == 7, ((0, 128), (7, 1))),
    (P <= 127, FULL), (True, FULL), (None, FULL), (P < 0, EMPTY), (False, EMPTY),
    ((P < 4) & (P > 9), EMPTY), ((F < 999) | (P < 0), FULL), (~(P < 4), ((4, 124), (0, 512)))])
def test_a_mask_on_single_axes_clips_exactly(mask: Any, expected: Any) -> None:
    assert clip(mask, (128, 512)) == (expected, True)


@pytest.mark.parametrize("mask", [P + F < 300, F != 4, (P < 3) | (F < 3)])
def test_a_mask_that_couples_axes_keeps_the_tile_and_says_so(mask: Any) -> None:
    assert clip(mask, (128, 512)) == (FULL, False)


def test_a_mask_of_another_shape_than_the_tile_is_refused() -> None:
    with pytest.raises(UserError, match=r"spans \[128, 1\], but the instruction's tile is \[64"):
        clip(P < 100, (64, 1))


def test_a_loop_index_stays_affine_under_sums_and_constant_factors() -> None:
    one, i = loop(8, value=2)
    two, j = loop(4, value=1)
    value = (i * 4 + j) * 128 - i + np.int32(5)
    assert value.value == 9 * 128 - 2 + 5
    assert value.terms == {one: 511, two: 128}
    assert (i * 4 + 4 - (i + 1) * 4) == 0 and type((i + 3) - i) is int
    assert one.is_affine and two.is_affine


@pytest.mark.parametrize("use", [
    lambda i: i % 2, lambda i: i // 3, lambda i: list(range(9))[i], lambda i: i * i,
    lambda i: {i: 1}, lambda i: f"tile_{i}", lambda i: i / 2, lambda i: 2 ** i, lambda i: i & 1])
def test_other_uses_of_a_loop_index_ask_for_its_value(use: Any) -> None:
    one, i = loop(8, value=4)
    assert use(i) == use(4)
    assert not one.is_affine


@pytest.mark.parametrize("use", [lambda i: (i * 512) // 128, lambda i: (i * 4) % 2,
                                 lambda i: i << 2, lambda i: (8 * i) >> 3])
def test_division_without_remainder_is_affine(use: Any) -> None:
    one, i = loop(8, value=4)
    assert use(i) == use(4)
    assert one.is_affine


@pytest.mark.parametrize(("ask", "horizon"), [
    (lambda i: i < 5, 5), (lambda i: i <= 5, 6), (lambda i: i >= 3, 3), (lambda i: i > 3, 4),
    (lambda i: i == 6, 6), (lambda i: i == 2, 3), (lambda i: i != 2, 3), (lambda i: 10 - i > 4, 6),
    (lambda i: i < 100, 8), (lambda i: i == 0, 8), (lambda i: 2 * i + 1 >= 10, 5),
    (lambda i: bool(i), 8)])
def test_a_comparison_tells_from_which_iteration_on_it_changes(ask: Any, horizon: int) -> None:
    one, i = loop(8, value=2)
    assert ask(i) == ask(2)
    assert one.horizon == horizon and one.is_affine
