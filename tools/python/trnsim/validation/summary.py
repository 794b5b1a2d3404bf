# SPDX-License-Identifier: Apache-2.0
# The results of a validation: what the text, the JSON and the page are made from.
"""Validation: outcomes with their summaries by family, chip and class."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from typing import Any
from collections.abc import Callable, Mapping, Sequence

from trnsim._version import __version__
from trnsim.validation.ablation import Ablation
from trnsim.validation.rows import CLASSES
from trnsim.validation.runs import Outcome
from trnsim.validation.statistics import Summary, error_percent, summarise

CLASS_TITLES = {"new_api": "new API", "as_written": "as written", "old_api": "old API"}
HALVES = {"new API and as written": ("new_api", "as_written"), "old API": ("old_api",)}
_BYTES = ("hbm_read_bytes", "hbm_write_bytes")


@dataclass(frozen=True)
class Parts:
    """How far the parts of a run are from the published ones; None where nothing was published."""

    bytes_rows: int
    bytes_within_5: float | None
    """Share of rows, in per cent, whose HBM bytes are within 5 % of the published ones."""
    transfers_rows: int
    transfers_exact: float | None
    tensor_rows: int
    tensor_points: float | None
    """Mean distance of the tensor engine's active share, in percentage points."""
    dma_rows: int
    dma_points: float | None


@dataclass(frozen=True)
class Validation:
    """What one command found out."""

    outcomes: Sequence[Outcome]
    notes: Sequence[str] = ()
    ablations: Sequence[Ablation] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def run(self) -> list[Outcome]:
        """The outcomes with a simulated latency."""
        return [one for one in self.outcomes if one.is_run]

    @property
    def status(self) -> int:
        """Exit status: of the worst row that should have run."""
        return max((one.status for one in self.outcomes), default=0)

    def by(self, key: Callable[[Outcome], str]) -> dict[str, list[Outcome]]:
        """The outcomes that ran by a key, in the order of their first."""
        found: dict[str, list[Outcome]] = {}
        for one in self.run:
            found.setdefault(key(one), []).append(one)
        return found

    def families(self) -> dict[str, list[Outcome]]:
        """By family."""
        return self.by(lambda one: one.row.family)

    def wholes(self) -> dict[str, list[Outcome]]:
        """All rows, and those of every half and chip, that have any."""
        found = {"all": self.run}
        for title, kinds in HALVES.items():
            found[title] = [one for one in self.run if one.row.kind in kinds]
        chips = self.by(lambda one: one.row.chip)
        found.update((chip, chips[chip]) for chip in sorted(chips))
        return {title: group for title, group in found.items() if group}


def summary_of(outcomes: Sequence[Outcome]) -> Summary:
    """The errors of outcomes that ran."""
    return summarise([one.point for one in outcomes])


def hbm_bytes(outcome: Outcome) -> tuple[float | None, float]:
    """HBM bytes moved: published, and simulated."""
    published = outcome.row.published
    known = all(name in published for name in _BYTES)
    return (sum(published[name] for name in _BYTES) if known else None,
            sum(outcome.counts[name] for name in _BYTES))


def parts_of(outcomes: Sequence[Outcome]) -> Parts:
    """Bytes, transfers and shares of outcomes that ran."""
    traffic = [(there, here) for there, here in map(hbm_bytes, outcomes) if there]
    transfers = _pairs(outcomes, "dma_transfers")
    tensor = _pairs(outcomes, "tensor_engine_active_percent")
    dma = _pairs(outcomes, "dma_active_percent")
    return Parts(
        len(traffic),
        _share([abs(error_percent(here, there)) <= 5.0 for there, here in traffic]),
        len(transfers), _share([here == there for there, here in transfers]),
        len(tensor), _mean([abs(here - there) for there, here in tensor]),
        len(dma), _mean([abs(here - there) for there, here in dma]))


def _pairs(outcomes: Sequence[Outcome], name: str) -> list[tuple[float, float]]:
    return [(one.row.published[name], one.counts[name]) for one in outcomes
            if name in one.row.published]


def _share(holds: Sequence[bool]) -> float | None:
    return 100.0 * fmean(holds) if holds else None


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def document(validation: Validation) -> dict[str, Any]:
    """As configs/schema/validation.schema.json says."""
    return {
        "schema_version": 1,
        "trnsim_version": __version__,
        "options": dict(validation.options),
        "rows": [_row(one) for one in validation.outcomes],
        "families": {name: _group(group) for name, group in validation.families().items()},
        "overall": {name: _group(group) for name, group in validation.wholes().items()},
        "ablation": [_ablation(one) for one in validation.ablations],
        "notes": list(validation.notes),
    }


def _row(outcome: Outcome) -> dict[str, Any]:
    row = outcome.row
    told: dict[str, Any] = {
        "id": row.id, "family": row.family, "class": row.kind, "chip": row.chip,
        "method": row.method, "dge": row.dge, "trust": row.trust, "calibrate": row.calibrate,
        "measured_us": row.measured_us, "way": outcome.way, "published": dict(row.published)}
    if not outcome.is_run:
        return {**told, "reason": outcome.reason}
    return {**told, "simulated_us": _round(outcome.simulated_us),
            "error_percent": _round(outcome.point.error),
            "roofline_us": _round(outcome.roofline_us),
            "roofline_error_percent": _round(outcome.point.roofline_error),
            "simulated": {name: _round(value) for name, value in outcome.counts.items()}}


def _group(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    told = {**vars(summary_of(outcomes)), **vars(parts_of(outcomes))}
    return {name: _round(value) if isinstance(value, float)
            else {key: _round(one) for key, one in value.items()} if isinstance(value, dict)
            else value for name, value in told.items()}


def _ablation(one: Ablation) -> dict[str, Any]:
    told: dict[str, Any] = {"name": one.variant.name, "what": one.variant.what,
                            "policies": list(one.variant.policies),
                            "settings": list(one.variant.settings)}
    if one.overall is None:
        return {**told, "reason": one.reason}
    return {**told, "families": {name: _round(value) for name, value in one.families.items()},
            "overall": _round(one.overall)}


def _round(value: float) -> float:
    return float(f"{value:.9g}") if isinstance(value, float) else value


assert set(CLASS_TITLES) == set(CLASSES)
