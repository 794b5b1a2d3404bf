# SPDX-License-Identifier: Apache-2.0
# Simulates the rows, several at a time.
"""simulate(rows, places, variant, jobs): an Outcome for every row."""

from __future__ import annotations

import os
import sys
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from collections.abc import Callable, Mapping, Sequence

from trnsim.errors import FrontendError, UserError
from trnsim.result import Result
from trnsim.simulator import Options, run_trace
from trnsim.validation.binding import Binding, Launch, Places, bind
from trnsim.validation.rows import Row
from trnsim.validation.statistics import Point
from trnsim.validation.traces import Cache

DGE_POLICIES: Mapping[str, tuple[str, ...]] = {
    "default": (), "off": ("dge=none",)}
JOBS = min(2, os.cpu_count() or 1)
"""Rows that are run at a time unless --jobs says otherwise. [ASSUMED]"""
ENGINES = ("tensor", "vector", "scalar", "gpsimd")
_CLASSES = {"nki": "new_api", "neuronxcc.nki": "old_api", "neuronxcc.nki.as_written": "as_written"}
"""The class of a row by the `api` of its kernel's trace."""
_MARK = "nki.compiler.skip_middle_end_transformations"
Item = TypeVar("Item")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Variant:
    """What a run changes about the model: the words of --policy and --set."""

    name: str = ""
    policies: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    what: str = ""


@dataclass(frozen=True)
class Outcome:
    """A row with what the simulator says of it; `reason` if it says nothing."""

    row: Row
    way: str = ""
    reason: str = ""
    status: int = 0
    """What the command would end with because of it: 0, 2 or 3."""
    simulated_us: float = 0.0
    roofline_us: float = 0.0
    counts: Mapping[str, float] = field(default_factory=dict)
    """Bytes, transfers and active shares under the names of Row.published."""

    @property
    def is_run(self) -> bool:
        """Whether there is a simulated latency."""
        return not self.reason

    @property
    def point(self) -> Point:
        """For the statistics."""
        return Point(self.row.id, f"{self.row.family} {self.row.chip}", self.row.measured_us,
                     self.simulated_us, self.roofline_us)


def check_jobs(jobs: int) -> None:
    """UserError if --jobs is too small."""
    if jobs < 1:
        raise UserError(f"--jobs {jobs}: at least one row is run at a time; use 1 or more")


def policies(row: Row, variant: Variant = Variant()) -> tuple[str, ...]:
    """What --policy gets: by DGE mode, and by variant, which has the last word."""
    return override(DGE_POLICIES[row.dge], variant.policies)


def override(words: Sequence[str], later: Sequence[str]) -> tuple[str, ...]:
    """Words NAME=VALUE, less those whose names come again, with those that do."""
    names = {word.partition("=")[0] for word in later}
    return (*(word for word in words if word.partition("=")[0] not in names), *later)


def simulate(rows: Sequence[Row], places: Places, variant: Variant = Variant(), jobs: int = 2,
             settings: tuple[str, ...] = (),
             base_policies: tuple[str, ...] = ()) -> list[Outcome]:
    """Runs the rows; those that cannot be run keep their place with the reason."""
    kept = Cache()
    bindings = {row.id: bind(row, places) for row in rows}
    progress = Progress(variant.name or "validate")
    with ThreadPoolExecutor(jobs) as pool:
        traces = _traces(pool, rows, bindings, kept, progress, settings)

        def run(row: Row) -> Outcome:
            own = Variant(variant.name, override(base_policies, variant.policies),
                          override(settings, variant.settings))
            return _outcome(row, bindings[row.id], traces, own)

        return progress.collect(pool, rows, run, "simulating")


def _traces(pool: ThreadPoolExecutor, rows: Sequence[Row], bindings: Mapping[str, Binding],
            cache: Cache, progress: Progress,
            settings: tuple[str, ...]) -> dict[tuple[Launch, str], Path | FrontendError]:
    """A trace, or why there is none, for every different launch."""
    wanted = list(dict.fromkeys((launch, row.chip) for row in rows
                                for launch in bindings[row.id].launches))

    def make(one: tuple[Launch, str]) -> Path | FrontendError:
        try:
            return cache.trace(*one, settings)
        except FrontendError as problem:
            return problem

    return dict(zip(wanted, progress.collect(pool, wanted, make, "tracing"), strict=True))


def _outcome(row: Row, binding: Binding,
             traces: Mapping[tuple[Launch, str], Path | FrontendError],
             variant: Variant) -> Outcome:
    if not binding.way:
        return Outcome(row, reason=binding.reason)
    options = Options(row.chip, variant.settings, policies(row, variant), method=row.method)
    try:
        results = []
        for launch in binding.launches:
            trace = traces[launch, row.chip]
            if isinstance(trace, FrontendError):
                raise trace
            results.append(run_trace(trace, options, launch.target))
            _check_class(row.kind, str(results[-1].to_dict()["api"]))
    except FrontendError as problem:
        return Outcome(row, binding.way, str(problem), problem.exit_status)
    return Outcome(row, binding.way, simulated_us=sum(one.latency_us for one in results),
                   roofline_us=sum(_roofline_us(one) for one in results),
                   counts=_counts(results))


def _check_class(kind: str, api: str) -> None:
    """UserError if a row is not of the class of its kernel: it would count with the wrong ones."""
    wanted = _CLASSES[api]
    if kind == wanted:
        return
    if "new_api" in (kind, wanted):
        what = f"is of the {api.removesuffix('.as_written')} API; "
    elif wanted == "as_written":
        what = f"has {_MARK}; remove it, or "
    else:
        what = f"has no {_MARK}; add it, or "
    raise UserError(f"class is {kind}, but the kernel {what}call the row {wanted}")


def _roofline_us(result: Result) -> float:
    """The largest time of a resource with kernel start and end: nothing ever waits."""
    data = result.to_dict()
    needs = data["roofline"]["needs"]
    largest = max(value for name, value in needs.items() if name != "latency_ns")
    return float(largest + data["run"]["kernel_start_ns"] + data["run"]["kernel_end_ns"]) / 1e3


def _counts(results: Sequence[Result]) -> dict[str, float]:
    """Sums of the launches; shares are of the time of all of them."""
    summaries = [result.summary for result in results]
    total = sum(one["total_time"] for one in summaries)
    counts = {"hbm_read_bytes": sum(one["hbm_read_bytes"] for one in summaries),
              "hbm_write_bytes": sum(one["hbm_write_bytes"] for one in summaries),
              "dma_transfers": sum(one["dma_transfer_count"] for one in summaries)}
    for name, key in [("dma", "dma_active_time"),
                      *((f"{engine}_engine", f"{engine}_engine_active_time")
                        for engine in ENGINES)]:
        counts[f"{name}_active_percent"] = 100.0 * sum(one[key] for one in summaries) / total
    return counts


class Progress:
    """How far things are, on standard error, if a person looks at it."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._shown = sys.stderr.isatty()

    def collect(self, pool: ThreadPoolExecutor, items: Sequence[Item],
                make: Callable[[Item], Made], what: str) -> list[Made]:
        """make() of every item, in their order. What has not begun when this is interrupted
        never does."""
        futures: list[Future[Made]] = [pool.submit(make, item) for item in items]
        try:
            for done, _ in enumerate(as_completed(futures), start=1):
                if self._shown:
                    print(f"\r{self._title}: {what} {done} of {len(items)}\x1b[K", end="",
                          file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        return [future.result() for future in futures]
