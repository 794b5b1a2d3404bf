# SPDX-License-Identifier: Apache-2.0
# The kernel calls of a script.
"""Calls: traces and simulates each launch while the script waits for it."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from collections.abc import Callable

import numpy as np

from trnsim.api import compute, trace_bytes
from trnsim.errors import UserError
from trnsim.frontend import source
from trnsim.frontend.chip import default_chip, load_chip, set_target
from trnsim.frontend.dtypes import numpy_type
from trnsim.frontend.host import jax_arrays
from trnsim.frontend.host.frameworks import as_given, kind_as_given, type_as_given
from trnsim.frontend.host.launch_result import UnknownTensor, computed, results_of
from trnsim.frontend.host.script import is_own
from trnsim.frontend.host.stand_ins import is_stand_in, missing
from trnsim.frontend.kernel import Kernel
from trnsim.frontend.leaves import with_items
from trnsim.frontend.program import Program
from trnsim.frontend.timed import TimedKernel
from trnsim.frontend.tracing import trace
from trnsim.frontend.writer import shown_path
from trnsim.result import Result
from trnsim.script.snapshots import kept
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
    `method` None is nki.benchmark's for what that launches, and else a profiler's. With
    `reads_unwritten`, what nothing has written is NaN.
    """

    def __init__(self, name: str, chip: str | None, options: Options, method: str | None,
                 values: bool, reads_unwritten: bool) -> None:
        self.done: list[Call] = []
        self.notes: list[str] = []
        self._name = name
        self._chip = chip
        self._options = options
        self._method = method
        self._values = values
        self._reads_unwritten = reads_unwritten
        self._known: dict[tuple[Options, bytes], Result] = {}
        self._latest = jax_arrays.Latest()
        self._process = os.getpid()
        self._elsewhere = tempfile.TemporaryFile()

    @property
    def elsewhere(self) -> int:
        """How many launches other processes made, forks of this one, which nobody reports."""
        return os.fstat(self._elsewhere.fileno()).st_size

    def elsewhere_note(self) -> str:
        """What to do about them."""
        calls = "1 kernel call" if self.elsewhere == 1 else f"{self.elsewhere} kernel calls"
        return (f"{calls} in other processes of the script, which it forks, are not in the report; "
                "call kernels in its own process")

    def launch(self, kernel: Kernel, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What `kernel(...)` does in the script: it is simulated, and returns its tensors."""
        at = source.called_at(is_own)
        for value in (*arguments, *keywords.values()):
            if is_stand_in(value):
                raise UserError(f"{at}: kernel {kernel.name} is given {value.__qualname__}, but "
                                f"{missing(value)}")
        if not jax_arrays.are_traced(arguments, keywords):
            return self._launched(kernel, arguments, keywords, at)
        return jax_arrays.call_back(
            lambda given, named: self._contents(self._launched(kernel, given, named, at)),
            arguments, keywords, self._traced(kernel, arguments, keywords)[1].result, numpy_type)

    def _contents(self, value: Any) -> Any:
        """What a launch returned with arrays for its tensors, as jax needs them."""
        if isinstance(value, UnknownTensor):
            self._note(f"the values of kernel {value.kernel} are not computed, so they are 0 where "
                       "jax runs it")
            return np.zeros(value.shape, numpy_type(value.dtype))
        if isinstance(value, (list, tuple)):
            return with_items(value, (self._contents(one) for one in value))
        return computed(value)

    def _traced(self, kernel: Kernel, arguments: tuple[Any, ...],
                keywords: dict[str, Any]) -> tuple[str, Program]:
        """The chip of a launch and its trace."""
        chip = self._chip or default_chip()
        target = load_chip(chip)
        set_target(target)
        return chip, trace(kernel, arguments, target, keywords=keywords)

    def _launched(self, kernel: Kernel, arguments: tuple[Any, ...], keywords: dict[str, Any],
                  at: source.Position) -> Any:
        """Simulates a launch on arrays; what it returns."""
        chip, program = self._traced(kernel, arguments, keywords)
        computing = None
        if self._values and not isinstance(kernel, TimedKernel):
            rules = _Rules(chip, self._reads_unwritten, self._warned(program))
            if program.writes_arguments:
                computing = _Computation(kernel, arguments, keywords, rules)
            else:
                computing = _Later(kernel, arguments, keywords, rules, at)
            if program.depends_on_values:
                program = computing.program
        method = self._method or (kernel.method if isinstance(kernel, TimedKernel) else "profiler")
        result = self._simulate(trace_bytes(program), replace(self._options, chip=chip,
                                                              method=method),
                                f"{shown_path(at.path)}:{at.line}")
        if isinstance(kernel, TimedKernel):
            kernel.launched(result.latency_us)
        if computing is not None and jax_arrays.jax_of(arguments, keywords) is not None:
            return self._on_jax(kernel, arguments, keywords, chip, computing)
        if computing is not None and (program.writes_arguments or program.result is None):
            return computing()
        given = *arguments, *keywords.values()
        return results_of(program.result, kernel.name, self._note, computing,
                          kind_as_given(given), lambda dtype: type_as_given(given, dtype))

    def _on_jax(self, kernel: Kernel, arguments: tuple[Any, ...], keywords: dict[str, Any],
                chip: str, computing: _Computation) -> Any:
        """The arrays that a launch on jax arrays returns: jax knows no arrays but its own."""
        given = kernel.function, kernel.grid, arguments, keywords, chip
        found = self._latest.result(*given)
        if found is None:
            found = computing()
            self._latest.keep(found, *given)
        return found

    def _simulate(self, recorded: bytes, options: Options, at: str) -> Result:
        """Simulates a trace, once for all launches that have the same one."""
        if os.getpid() != self._process:
            os.write(self._elsewhere.fileno(), b".")
        key = options, recorded
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = run_trace(recorded, options, self._name)
        self.done.append(Call(len(self.done) + 1, at, recorded, options, found))
        return found

    def _warned(self, traced: Program) -> Callable[[Program], None]:
        """Notes what a run on values warns of and its trace without them does not."""
        known = frozenset(traced.warnings)

        def warned(program: Program) -> None:
            for warning in program.warnings:
                if warning not in known:
                    self._note(str(warning))
        return warned

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


@dataclass(frozen=True)
class _Rules:
    """How values are computed; `warned` is told of the run."""

    chip: str
    reads_unwritten: bool
    warned: Callable[[Program], None]


class _Computation:
    """What a launch returns: computed once, when it is called or its trace is asked for."""

    def __init__(self, kernel: Kernel, arguments: tuple[Any, ...], keywords: dict[str, Any],
                 rules: _Rules) -> None:
        self._kernel = kernel
        self._given: tuple[tuple[Any, ...], dict[str, Any]] = arguments, keywords
        self._rules = rules

    @cached_property
    def _run(self) -> tuple[Program, Any]:
        sys.stdout.flush()
        arguments, keywords = computed(self.arguments())
        program, result = compute(self._kernel, arguments, keywords, self._rules.chip,
                                  self._rules.reads_unwritten)
        self._rules.warned(program)
        return program, as_given((*arguments, *keywords.values()), result)

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the kernel was given."""
        return self._given

    @property
    def program(self) -> Program:
        """The trace of the run on values."""
        return self._run[0]

    def __call__(self) -> Any:
        return self._run[1]


class _Later(_Computation):
    """A computation on what the arguments were at the launch."""

    def __init__(self, kernel: Kernel, arguments: tuple[Any, ...], keywords: dict[str, Any],
                 rules: _Rules, at: source.Position) -> None:
        super().__init__(kernel, (), {}, rules)
        self._at = at
        self._kept = kept((arguments, keywords))

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        try:
            found: tuple[tuple[Any, ...], dict[str, Any]] = self._kept()
        except ValueError:
            raise UserError(f"{self._at}: the script reads what kernel {self._kernel.name} "
                            "returned after it has changed what the kernel was given; read it "
                            "before that, or give the kernel a copy") from None
        return found
