# SPDX-License-Identifier: Apache-2.0
# Tests of the statistics on made-up numbers.
"""Errors, order and correlation."""

from __future__ import annotations

import random

import pytest
from trnsim.validation.statistics import Point, ordered_pairs, summarise, tau


def point(name: str, measured: float, simulated: float, group: str = "f trn2") -> Point:
    return Point(name, group, measured, simulated, roofline=measured * 0.8)


def test_errors_are_in_per_cent_of_the_measurement() -> None:
    told = summarise([point("a", 100, 110), point("b", 200, 190), point("c", 50, 50)])
    assert told.count == 3
    assert told.mean == pytest.approx(5.0)
    assert told.median == pytest.approx(5.0)
    assert told.bias == pytest.approx(5.0 / 3)
    assert (told.worst, told.worst_id) == (pytest.approx(10.0), "a")
    assert told.within == pytest.approx({"5": 200 / 3, "8": 200 / 3, "10": 100, "15": 100})
    assert told.roofline_mean == pytest.approx(20.0)


def test_one_row_has_no_order() -> None:
    told = summarise([point("a", 100, 110)])
    assert (told.tau, told.pairs, told.ordered) == (None, 0, None)


def test_pairs_within_5_percent_do_not_count() -> None:
    points = [point("a", 100, 100), point("b", 105, 90), point("c", 106, 120)]
    assert ordered_pairs(points) == (1, 1)


def test_an_equal_simulation_of_different_measurements_is_not_ordered() -> None:
    assert ordered_pairs([point("a", 100, 70), point("b", 200, 70)]) == (1, 0)


def test_pairs_of_different_groups_do_not_count() -> None:
    points = [point("a", 100, 100), point("b", 200, 200, group="f trn1")]
    assert ordered_pairs(points) == (0, 0)


def test_tau_of_the_same_order_is_one_and_of_the_opposite_minus_one() -> None:
    assert tau([1, 2, 3], [10, 20, 30]) == pytest.approx(1.0)
    assert tau([1, 2, 3], [30, 20, 10]) == pytest.approx(-1.0)
    assert tau([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(4 / 6)


def test_tau_counts_ties_as_tau_b() -> None:
    assert tau([1, 2, 2], [1, 2, 3]) == pytest.approx(2 / (2 * 3) ** 0.5)
    assert tau([1, 1], [1, 2]) is None


def test_tau_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    generator = random.Random(1)
    xs = [generator.randrange(8) for _ in range(30)]
    ys = [generator.randrange(8) for _ in range(30)]
    assert tau(xs, ys) == pytest.approx(stats.kendalltau(xs, ys).statistic)


def test_tau_of_groups_is_weighted_by_their_pairs() -> None:
    points = [*(point(f"a{n}", n, n, "a") for n in range(1, 4)),
              point("b1", 1, 2, "b"), point("b2", 2, 1, "b")]
    assert summarise(points).tau == pytest.approx((3 * 1.0 + 1 * -1.0) / 4)
