# SPDX-License-Identifier: Apache-2.0
# The kernel calls of a script.
"""Calls: traces and simulates each launch while the script waits for it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any
from collections.abc import Callable

from trnsim.api import compute, trace_bytes, value_engine
from trnsim.frontend import source
from trnsim.frontend.chip import default_chip, load_chip, set_target
from trnsim.frontend.errors import UserError
from trnsim.frontend.frameworks import as_given
from trnsim.frontend.kernel import Kernel
from trnsim.frontend.launch_result import results_of
from trnsim.frontend.stand_ins import is_stand_in, missing
from trnsim.frontend.timed import TimedKernel
from trnsim.frontend.tracing import trace
from trnsim.frontend.writer import shown_path
from trnsim.result import Result
from trnsim.simulator import Options, run_trace


@dataclass(frozen=True)
class Call:
    """One launch: where the script makes it, its trace, and what was simulated."""

    number: int
    source: str
    trace: bytes
    options: Options
    result: Result

    def to_dict(self) -> dict[str, Any]:
        """An element of `calls` in the JSON file."""
        return {"call": self.number, "source": self.source, "result": self.result.to_dict()}


class Calls:
    """All launches of a script, in their order.

    `chip` None is the default, asked for at each launch, because scripts set the environment.
    """

    def __init__(self, name: str, chip: str | None, options: Options, values: bool) -> None:
        self.done: list[Call] = []
        self.notes: list[str] = []
        self._name = name
        self._chip = chip
        self._options = options
        self._values = values
        self._known: dict[tuple[str, bytes], Result] = {}

    def launch(self, kernel: Kernel, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What `kernel(...)` does in the script: it is simulated, and returns its tensors."""
        at = source.here()
        for value in (*arguments, *keywords.values()):
            if is_stand_in(value):
                raise UserError(f"{at}: kernel {kernel.name} is given {value.__qualname__}, but "
                                f"{missing(value)}")
        chip = self._chip or default_chip()
        target = load_chip(chip)
        set_target(target)
        program = trace(kernel, arguments, target, keywords=keywords)
        result = self._simulate(trace_bytes(program), chip, f"{shown_path(at.path)}:{at.line}")
        if isinstance(kernel, TimedKernel):
            kernel.launched(result.latency_us)
        computing = None
        if self._computes() and not isinstance(kernel, TimedKernel):
            computing = _computation(kernel, arguments, keywords, chip)
            if program.result is None:
                return computing()
        return results_of(program.result, kernel.name, self._note, computing)

    def _simulate(self, recorded: bytes, chip: str, at: str) -> Result:
        """Simulates a trace, once for all launches that have the same one."""
        options = replace(self._options, chip=chip)
        key = chip, recorded
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = run_trace(recorded, options, self._name)
        self.done.append(Call(len(self.done) + 1, at, recorded, options, found))
        return found

    def _computes(self) -> bool:
        return self._values and value_engine() is not None

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _computation(kernel: Kernel, arguments: tuple[Any, ...], keywords: dict[str, Any],
                 chip: str) -> Callable[[], Any]:
    """Computes what a launch returns, when called."""
    def run() -> Any:
        sys.stdout.flush()
        return as_given((*arguments, *keywords.values()),
                        compute(kernel, arguments, keywords, chip))
    return run
