# SPDX-License-Identifier: Apache-2.0
# What a simulation measured.
"""Result: one simulated kernel, typed; docs/result-format.md explains the numbers."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any
from collections.abc import Callable, Iterator, Mapping, Sequence

from trnsim.checking import in_python_words, require_files
from trnsim.errors import UserError

Json = dict[str, Any]


def _us(nanoseconds: float) -> float:
    """Microseconds, to the picosecond."""
    return round(nanoseconds / 1000, 6)


@dataclass(frozen=True)
class EngineTimes:
    """Where the time of one engine went; the parts add up to the latency."""

    active_us: float
    wait_semaphore_us: float
    wait_dma_us: float
    wait_port_us: float
    idle_us: float
    instruction_count: int


@dataclass(frozen=True)
class Line:
    """One line of the kernel on one engine. `waited_for_us` says for what it stalled."""

    source: str
    op: str
    engine: str
    instruction_count: int
    active_us: float
    stalled_us: float
    on_critical_path_us: float
    waited_for_us: Mapping[str, float]


@dataclass(frozen=True)
class Stall:
    """How long a line of the kernel waited for another one."""

    line: str
    engine: str
    waited_for: str
    time_us: float

    def __str__(self) -> str:
        return f"{self.time_us:.2f} us  {self.line} ({self.engine}) for {self.waited_for}"


class Result:
    """A simulated kernel. `str()` is the report that `trnsim run` prints.

    `outputs` is what the kernel computes, with arrays for tensors, if values were asked for.
    """

    def __init__(self, data: Json, text: str, outputs: Any = None,
                 timeline: Callable[[str | Path], None] | None = None) -> None:
        self._data = data
        self._text = text
        self._timeline = timeline
        self.outputs = outputs

    @property
    def kernel(self) -> str:
        """The name of the kernel's function."""
        return str(self._data["kernel"])

    @property
    def chip(self) -> str:
        """The long name of the chip: "trainium2"."""
        return str(self._data["chip"])

    @property
    def arguments(self) -> Sequence[str]:
        """The arguments of the kernel, as text."""
        return tuple(self._data["arguments"])

    @property
    def latency_us(self) -> float:
        """Microseconds from the kernel's start to its end."""
        return float(self._data["summary"]["latency_us"])

    @property
    def summary(self) -> Mapping[str, float]:
        """Named and counted as in the Summary table of Neuron Explorer."""
        return dict(self._data["summary"])

    @property
    def bound_by(self) -> str:
        """tensor, vector, scalar, gpsimd, sync, hbm, dma or latency."""
        return str(self._data["roofline"]["bound_by"])

    @property
    def needs_us(self) -> Mapping[str, float]:
        """The least time of every resource for its work; the largest is the bound."""
        needs: Mapping[str, float] = self._data["roofline"]["needs"]
        return {key.removesuffix("_ns"): _us(value) for key, value in needs.items()}

    @property
    def bound_percent(self) -> float:
        """What the bounding resource needs, in percent of the latency."""
        return 100 * self.needs_us[self.bound_by] / self.latency_us

    @property
    def engines(self) -> Mapping[str, EngineTimes]:
        """Times by engine: tensor, vector, scalar, gpsimd, sync."""
        return {name: EngineTimes(_us(one["active_ns"]), _us(one["wait_semaphore_ns"]),
                                  _us(one["wait_dma_ns"]), _us(one["wait_port_ns"]),
                                  _us(one["idle_ns"]), one["instruction_count"])
                for name, one in self._data["engines"].items()}

    @property
    def attribution(self) -> Sequence[Line]:
        """The lines of the kernel with their times."""
        return tuple(Line(one["source"], one["op"], one["engine"], one["instruction_count"],
                          _us(one["active_ns"]), _us(one["stalled_ns"]),
                          _us(one["on_critical_path_ns"]),
                          {what: _us(time) for what, time in one["waited_for_ns"].items()})
                     for one in self._data["attribution"])

    @property
    def critical_path(self) -> Sequence[tuple[str, float]]:
        """The steps that made the run as long as it was, and their microseconds."""
        return tuple((one["what"], _us(one["time_ns"])) for one in self._data["critical_path"])

    @property
    def warnings(self) -> Sequence[str]:
        """What may make the result differ from hardware."""
        return tuple(self._data["warnings"])

    @property
    def assumptions(self) -> Sequence[str]:
        """What was assumed where the kernel does not say it."""
        return tuple(self._data["assumptions"])

    def stalls(self, count: int | None = None) -> Sequence[Stall]:
        """The longest stalls, longest first: those of the engine that bounds the run, if one does.

        Stalls of different engines overlap. UserError for a negative count.
        """
        if count is not None and (
                not isinstance(count, Integral) or isinstance(count, bool) or count < 0):
            raise UserError(f"count is {count!r}, but a number of stalls is needed; leave it out "
                            "for all of them")
        found = [Stall(f"{line.source} {line.op}", line.engine, what, time)
                 for line in self.attribution for what, time in line.waited_for_us.items()
                 if time > 0 and (self.bound_by not in self.engines
                                  or line.engine == self.bound_by)]
        found.sort(key=lambda stall: -stall.time_us)
        return tuple(found[:None if count is None else int(count)])

    def timeline(self, path: str | Path) -> None:
        """Writes when every engine and DMA ring did what, for https://ui.perfetto.dev.

        Simulates the trace once more; `timeline` of simulate() writes it at once. UserError if the
        file cannot be written, or the result is none of simulate() or compare().
        """
        if self._timeline is None:
            raise UserError("timeline: the result has no trace to simulate again; take one of "
                            "simulate()")
        require_files("", path=path)
        with in_python_words():
            self._timeline(path)

    def to_dict(self) -> Json:
        """The result file of `trnsim run --json`, configs/schema/result.schema.json."""
        return copy.deepcopy(self._data)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return (f"<trnsim.Result {self.kernel} on {self.chip}: {self.latency_us:.2f} us, "
                f"bound by {self.bound_by}>")


class Comparison(Mapping[str, Result]):
    """Results of one kernel by chip, in the order in which the chips were named.

    `errors` says why a chip has no result.
    """

    def __init__(self, results: Mapping[str, Result],
                 errors: Mapping[str, str] | None = None) -> None:
        self._results = dict(results)
        self.errors = dict(errors or {})

    def __getitem__(self, chip: str) -> Result:
        return self._results[chip]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    @property
    def fastest(self) -> str:
        """The chip with the shortest latency."""
        return min(self._results, key=lambda chip: self._results[chip].latency_us)

    def to_dict(self) -> dict[str, Json]:
        """The result files by chip."""
        return {chip: result.to_dict() for chip, result in self._results.items()}

    def __repr__(self) -> str:
        times = [f"{chip} {result.latency_us:.2f} us" for chip, result in self._results.items()]
        return f"<Comparison {', '.join([*times, *(f'{chip} failed' for chip in self.errors)])}>"

    def __str__(self) -> str:
        lines = [f"{'chip':6}{'latency':>14}{'speed-up':>10}  bound by"]
        first = next(iter(self._results.values()), None)
        for chip, result in self._results.items():
            assert first is not None
            lines.append(f"{chip:6}{result.latency_us:11.2f} us"
                         f"{first.latency_us / result.latency_us:10.2f}  {result.bound_by} "
                         f"{result.bound_percent:.1f} %")
        lines += [f"{chip:6}{error}" for chip, error in self.errors.items()]
        return "\n".join(lines) + "\n"
