# SPDX-License-Identifier: Apache-2.0
# How far simulated latencies are from measured ones, and whether they are in the same order.
"""summarise(points): the errors of a group of rows; tau(xs, ys): Kendall's rank correlation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from statistics import fmean, median
from collections.abc import Callable, Sequence

TELLING = 0.05
"""Two measurements that differ by less than this share of the smaller are a tie."""


@dataclass(frozen=True)
class Point:
    """One row: what was measured and what was simulated, in microseconds."""

    id: str
    group: str
    """Only rows of one group are put in order: one family on one chip."""
    measured: float
    simulated: float
    roofline: float

    @property
    def error(self) -> float:
        """Of the simulation, signed, in per cent of the measurement."""
        return error_percent(self.simulated, self.measured)

    @property
    def roofline_error(self) -> float:
        """Of the roofline, signed, in per cent of the measurement."""
        return error_percent(self.roofline, self.measured)


@dataclass(frozen=True)
class Summary:
    """The errors of a group of rows; all in per cent but the counts and tau."""

    count: int
    mean: float
    median: float
    bias: float
    worst: float
    worst_id: str
    within: dict[str, float]
    """Share of rows whose error is at most so large."""
    tau: float | None
    """Kendall's tau-b over families of at least two rows, weighted by their pairs."""
    pairs: int
    """Pairs of one family whose measurements differ by more than TELLING."""
    ordered: float | None
    """Share of those pairs that the simulation puts in the measured order."""
    roofline_mean: float
    roofline_median: float


def error_percent(simulated: float, measured: float) -> float:
    """(simulated - measured) / measured, in per cent."""
    return 100.0 * (simulated - measured) / measured


def summarise(points: Sequence[Point]) -> Summary:
    """The errors of at least one row."""
    errors = [abs(point.error) for point in points]
    worst = max(points, key=lambda point: abs(point.error))
    pairs, ordered = ordered_pairs(points)
    return Summary(
        count=len(points), mean=fmean(errors), median=median(errors),
        bias=fmean(point.error for point in points), worst=worst.error, worst_id=worst.id,
        within={str(limit): 100.0 * fmean(error <= limit for error in errors)
                for limit in (5, 8, 10, 15)},
        tau=_pooled_tau(points), pairs=pairs, ordered=100.0 * ordered / pairs if pairs else None,
        roofline_mean=fmean(abs(point.roofline_error) for point in points),
        roofline_median=median(abs(point.roofline_error) for point in points))


def groups(points: Sequence[Point], key: Callable[[Point], str]) -> dict[str, list[Point]]:
    """The points by key, in the order of their first."""
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(key(point), []).append(point)
    return found


def ordered_pairs(points: Sequence[Point]) -> tuple[int, int]:
    """How many telling pairs there are within the groups, and how many are ordered as measured."""
    telling = ordered = 0
    for group in groups(points, lambda point: point.group).values():
        for one, other in combinations(group, 2):
            low, high = sorted((one, other), key=lambda point: point.measured)
            if high.measured > low.measured * (1.0 + TELLING):
                telling += 1
                ordered += high.simulated > low.simulated
    return telling, ordered


def _pooled_tau(points: Sequence[Point]) -> float | None:
    """tau of each group, weighted by its number of pairs; None if no group has one."""
    total = weight = 0.0
    for group in groups(points, lambda point: point.group).values():
        one = tau([point.measured for point in group], [point.simulated for point in group])
        if one is not None:
            count = len(group) * (len(group) - 1) / 2
            total, weight = total + one * count, weight + count
    return total / weight if weight else None


def tau(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Kendall's tau-b: 1 if two lists are in the same order, -1 if in the opposite one.

    None where one of them has all values equal, or fewer than two.
    """
    agree = in_xs = in_ys = 0
    for (x, y), (other_x, other_y) in combinations(zip(xs, ys, strict=True), 2):
        dx, dy = (x > other_x) - (x < other_x), (y > other_y) - (y < other_y)
        agree += dx * dy
        in_xs += dx * dx
        in_ys += dy * dy
    return agree / sqrt(in_xs * in_ys) if in_xs and in_ys else None
