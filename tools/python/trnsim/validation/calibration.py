# SPDX-License-Identifier: Apache-2.0
# Fits the few constants of a chip that its sources leave open to the measured rows.
"""FREE, the constants; respond(), how every row follows each of them; fit(), the best values.

A row's latency is simulated with each constant at both ends of its range. Between them and today's
value the logarithm of the latency is taken as a straight line, and the constants' effects as
independent, so that thousands of combinations cost nothing. What is fitted that way is simulated
again before anybody believes it.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean
from collections.abc import Callable, Mapping, Sequence

from trnsim.validation.runs import Outcome, Variant

STEPS = 20
"""Values tried on either side of today's."""
ROUNDS = 50
GAIN = 1e-5
"""A constant moves only if that improves the objective by this much (0.001 %)."""


@dataclass(frozen=True)
class Constant:
    """A number of a chip that its sources give as a range, or not at all."""

    chip: str
    path: str
    low: float
    high: float
    meaning: str
    is_whole: bool = True

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return f"{self.chip} {self.path}"

    def setting(self, value: float) -> str:
        """The words of --set."""
        return f"{self.path}={self.text(value)}"

    def text(self, value: float) -> str:
        """The number as it stands in a chip file."""
        return f"{value:.0f}" if self.is_whole else f"{value:.4g}"


_HARDWARE = "neuron_core.dge.hardware"
_PROFILE_START = "of a profile before the first instruction"
_START = "of nki.benchmark before the first instruction"

FREE: tuple[Constant, ...] = (
    Constant("trn2", "neuron_core.dge.none.first_byte_ns", 600, 900,
             "from the trigger of a DMA with ready descriptors to its first byte"),
    Constant("trn2", f"{_HARDWARE}.first_byte_ns", 1210, 1400,
             "from the trigger of a DMA to its first byte, descriptors made by hardware"),
    Constant("trn2", f"{_HARDWARE}.issue_interval_ns", 517, 605,
             "a hardware generator is busy with a DMA"),
    Constant("trn2", "runtime.kernel_start_ns", 13200, 14000, _PROFILE_START),
    Constant("trn2", "runtime.benchmark_start_ns", 5000, 10000, _START),
    Constant("trn1", "dma.completion_ns", 400, 460,
             "from the last byte of a DMA to the semaphore"),
    Constant("trn1", "dma.descriptor_overhead_ns", 0, 15,
             "of a DMA engine for a descriptor beside its bytes"),
    Constant("trn1", "runtime.kernel_start_ns", 5000, 14000, _PROFILE_START),
    Constant("trn1", "runtime.benchmark_start_ns", 8000, 16000, _START),
)
"""Every constant that may be fitted; all others have sources that give one number."""


@dataclass(frozen=True)
class Row:
    """A measured row and what the model says with today's constants."""

    id: str
    family: str
    chip: str
    measured: float
    simulated: float


@dataclass(frozen=True)
class Response:
    """The simulated latency of each row, by id, at some values of one constant, in order."""

    constant: Constant
    today: float
    values: tuple[float, ...]
    latencies: Mapping[str, tuple[float, ...]]

    def shift(self, row: str, value: float) -> float:
        """What the constant at `value` adds to the logarithm of the row's latency."""
        curve = self.latencies.get(row)
        if curve is None:
            return 0.0
        return self._log(curve, value) - self._log(curve, self.today)

    def _log(self, curve: tuple[float, ...], value: float) -> float:
        right = min(max(bisect_right(self.values, value), 1), len(self.values) - 1)
        low, high = self.values[right - 1], self.values[right]
        share = (value - low) / (high - low)
        return (1.0 - share) * log(curve[right - 1]) + share * log(curve[right])

    def candidates(self) -> list[float]:
        """Values to try: from end to end by way of today's."""
        values = {self.today}
        for end in (self.constant.low, self.constant.high):
            values |= {self.today + (end - self.today) * step / STEPS for step in range(STEPS + 1)}
        whole = {float(round(value)) if self.constant.is_whole else value for value in values}
        return sorted(whole | {self.today})


def rows_of(outcomes: Sequence[Outcome]) -> list[Row]:
    """The rows that were run."""
    return [Row(one.row.id, one.row.family, one.row.chip, one.row.measured_us, one.simulated_us)
            for one in outcomes if one.is_run]


def respond(constant: Constant, today: float, baseline: Sequence[Row],
            run: Callable[[Variant, str], Sequence[Outcome]]) -> Response:
    """Simulates the rows of the constant's chip with it at both ends of its range."""
    kept = {row.id: row.simulated for row in baseline if row.chip == constant.chip}
    found = {today: kept}
    for value in (constant.low, constant.high):
        if value != today:
            variant = Variant(f"{constant.name}={constant.text(value)}",
                              settings=(constant.setting(value),))
            found[value] = {one.row.id: one.simulated_us
                            for one in run(variant, constant.chip) if one.is_run}
    values = tuple(sorted(found))
    return Response(constant, today, values,
                    {row: tuple(found[value][row] for value in values) for row in kept
                     if all(row in found[value] for value in values)})


def predicted(row: Row, responses: Sequence[Response], chosen: Mapping[str, float]) -> float:
    """The row's latency with the chosen constants, without simulating it."""
    return row.simulated * exp(sum(one.shift(row.id, chosen[one.constant.name])
                                   for one in responses))


def error(rows: Sequence[Row], responses: Sequence[Response],
          chosen: Mapping[str, float]) -> float:
    """Mean absolute error of the rows, as a share."""
    return fmean(abs(predicted(row, responses, chosen) / row.measured - 1.0) for row in rows)


def fit(rows: Sequence[Row], responses: Sequence[Response]) -> dict[str, float]:
    """The constants with the least error, each constant in turn until none moves.

    A family of n rows weighs as much as sqrt(n) single ones. Nothing in it is random.
    """
    chosen = {one.constant.name: one.today for one in responses}
    families = [row.family for row in rows]
    weights = [1.0 / sqrt(families.count(family)) for family in families]
    shifts = [0.0] * len(rows)
    best = _objective(rows, weights, shifts)
    for _ in range(ROUNDS):
        before = best
        for one in responses:
            own = [one.shift(row.id, chosen[one.constant.name]) for row in rows]
            for value in one.candidates():
                trial = [total - mine + one.shift(row.id, value)
                         for total, mine, row in zip(shifts, own, rows, strict=True)]
                objective = _objective(rows, weights, trial)
                if objective < best - GAIN:
                    best, chosen[one.constant.name] = objective, value
                    shifts, own = trial, [one.shift(row.id, value) for row in rows]
        if best > before - GAIN:
            break
    return chosen


def _objective(rows: Sequence[Row], weights: Sequence[float], shifts: Sequence[float]) -> float:
    total = sum(weight * abs(row.simulated * exp(shift) / row.measured - 1.0)
                for row, weight, shift in zip(rows, weights, shifts, strict=True))
    return total / sum(weights)


@dataclass(frozen=True)
class Fold:
    """A family's error, as a share: with today's constants, fitted to all, fitted without it."""

    family: str
    rows: int
    today: float
    fitted: float
    left_out: float


def cross_validate(rows: Sequence[Row], responses: Sequence[Response],
                   fitted: Mapping[str, float]) -> list[Fold]:
    """Leaves each family out of the fit once."""
    today = {one.constant.name: one.today for one in responses}
    folds = []
    for family in dict.fromkeys(row.family for row in rows):
        own = [row for row in rows if row.family == family]
        others = [row for row in rows if row.family != family]
        blind = fit(others, responses) if others else dict(fitted)
        folds.append(Fold(family, len(own), error(own, responses, today),
                          error(own, responses, fitted), error(own, responses, blind)))
    return folds


def pooled(folds: Sequence[Fold]) -> Fold:
    """All families together, by rows."""
    count = sum(fold.rows for fold in folds)

    def mean(of: Callable[[Fold], float]) -> float:
        return sum(of(fold) * fold.rows for fold in folds) / count

    return Fold("all", count, mean(lambda fold: fold.today), mean(lambda fold: fold.fitted),
                mean(lambda fold: fold.left_out))
