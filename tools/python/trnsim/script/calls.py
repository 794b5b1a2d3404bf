# SPDX-License-Identifier: Apache-2.0
# The kernel calls of a script.
"""Calls: traces and simulates each launch while the script waits for it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from collections.abc import Callable, Iterator

import numpy as np

from trnsim.api import compute, trace_bytes
from trnsim.command import flush_output
from trnsim.errors import UserError
from trnsim.frontend import source
from trnsim.frontend.alone import alone
from trnsim.frontend.chip import Chip, default_chip, load_chip, set_target
from trnsim.frontend.dtypes import numpy_type
from trnsim.frontend.host import jax_arrays
from trnsim.frontend.host.frameworks import as_given, kind_as_given, type_as_given
from trnsim.frontend.host.launch_result import (LazyValues, TensorResult, UnknownTensor,
                                                unknown_results)
from trnsim.frontend.host.own import is_own
from trnsim.frontend.host.stand_ins import is_stand_in, missing
from trnsim.frontend.kernel import Kernel, set_launcher
from trnsim.frontend.leaves import mapped, tensors_in
from trnsim.frontend.program import Program
from trnsim.frontend.timed import TimedKernel
from trnsim.frontend.tracing import trace
from trnsim.frontend.writer import shown_path
from trnsim.result import Result
from trnsim.script.arrays import Changed, Copies, KeptArray, is_array
from trnsim.script.caught import also_its_cause
from trnsim.script.children import Elsewhere, follow, know_kernels
from trnsim.script.snapshots import Snapshot
from trnsim.script.surroundings import add_surroundings
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


@dataclass(frozen=True)
class Settings:
    """How the launches of a script are simulated.

    `chip` None is the default, asked for at each launch, because scripts set the environment.
    `method` None is nki.benchmark's for what that launches, and else a profiler's. With
    `reads_unwritten`, what nothing has written is NaN.
    """

    script: str
    chip: str | None
    options: Options
    method: str | None
    values: bool
    reads_unwritten: bool


class Calls:
    """All launches of a script in one process, in their order; `elsewhere` counts the others."""

    def __init__(self, settings: Settings, elsewhere: Elsewhere) -> None:
        self.done: list[Call] = []
        self.notes: list[str] = []
        self.elsewhere = elsewhere
        self._settings = settings
        self._copies: Copies = Copies()
        self._known: dict[tuple[Options, bytes], Result] = {}
        self._latest = jax_arrays.Latest()

    def elsewhere_note(self) -> str:
        """What to do about the launches of other processes."""
        count = self.elsewhere.calls
        return (f"{count} kernel call{'' if count == 1 else 's'} in other processes of the script, "
                "which it starts, are not in the report; call kernels in its own process")

    def begin(self) -> None:
        """Kernels are launched here from now on. Module-level code is for the chip of the launches,
        where that is known before them."""
        set_launcher(self.launch)
        if self._settings.chip is not None or self._settings.options.settings:
            set_target(load_chip(self._chip(), self._settings.options.settings))

    def launch(self, kernel: Kernel, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What `kernel(...)` does in the script: it is simulated, and returns its tensors."""
        try:
            return self._call(kernel, arguments, keywords)
        except UserError as problem:
            raise also_its_cause(problem) from problem.__cause__

    def _call(self, kernel: Kernel, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
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
        def array(tensor: Any, _: Any) -> Any:
            if isinstance(tensor, TensorResult):
                return tensor.array()
            self._note(f"the values of kernel {tensor.kernel} are not computed, so they are 0 "
                       "where jax runs it")
            return np.zeros(tensor.shape, numpy_type(tensor.dtype))
        return mapped(value, array, lambda one: isinstance(one, (TensorResult, UnknownTensor)))

    def _chip(self) -> str:
        """Of the next launch."""
        return self._settings.chip or default_chip()

    def _traced(self, kernel: Kernel, arguments: tuple[Any, ...],
                keywords: dict[str, Any]) -> tuple[Chip, Program]:
        """The limits of a launch's chip, and its trace."""
        target = load_chip(self._chip(), self._settings.options.settings)
        set_target(target)
        return target, trace(kernel, arguments, target, keywords=keywords)

    @alone()
    def _launched(self, kernel: Kernel, arguments: tuple[Any, ...], keywords: dict[str, Any],
                  at: source.Position) -> Any:
        """Simulates a launch on arrays; what it returns."""
        has_values = self._settings.values and not isinstance(kernel, TimedKernel)
        launch = (_Launch(kernel, arguments, keywords, at, self._copies) if has_values else None)
        chip = self._chip()
        target, program = self._traced(kernel, arguments, keywords)
        computing = None
        if launch is not None:
            launch.has_traced()
            rules = _Rules(target, self._settings.reads_unwritten, self._warned(program))
            computing = _Computation(launch, rules, program.writes_arguments)
            if program.depends_on_values:
                program = computing.program
        method = kernel.method if isinstance(kernel, TimedKernel) else "profiler"
        options = replace(self._settings.options, chip=chip,
                          method=self._settings.method or method)
        result = self._simulate(trace_bytes(program), options, f"{shown_path(at.path)}:{at.line}")
        kernel.launched(result.latency_us)
        if launch is None or computing is None:
            return unknown_results(program.result, kernel.name, self._note)
        if jax_arrays.jax_of(arguments, keywords) is not None:
            return self._on_jax(kernel, arguments, keywords, chip, computing)
        if program.writes_arguments or program.result is None:
            return computing()
        given = *arguments, *keywords.values()
        return LazyValues(program.result, computing, kind_as_given(given),
                          lambda dtype: type_as_given(given, dtype), launch.needed).result()

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
        self.elsewhere.count()
        key = options, recorded
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = run_trace(recorded, options, self._settings.script)
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


def launch_with(settings: Settings, elsewhere: Elsewhere) -> Calls:
    """Has processes that the script starts simulate their launches too; the launches of this one.
    """
    follow(_begin, settings, elsewhere)
    return Calls(settings, elsewhere)


def _begin(settings: Settings, elsewhere: Elsewhere) -> None:
    """What a process that the script starts does first."""
    know_kernels()
    calls = launch_with(settings, elsewhere)
    calls.begin()


@dataclass(frozen=True)
class _Rules:
    """How values are computed; `warned` is told of the run."""

    chip: Chip
    reads_unwritten: bool
    warned: Callable[[Program], None]


class _Launch:
    """A kernel with its arguments and all that it reads, as they are when this is made.

    `needed` are the values of other launches that it was given.
    """

    def __init__(self, kernel: Kernel, arguments: tuple[Any, ...], keywords: dict[str, Any],
                 at: source.Position, copies: Copies) -> None:
        self.kernel = kernel
        self.needed: list[LazyValues] = []
        self._at = at
        self._given = arguments, keywords
        self._copies = copies
        self._kept = mapped(self._given, self._kept_tensor, _is_kept)
        self._snapshot = Snapshot(copies)
        for tensor in tensors_in(self._given, _is_kept):
            self._snapshot.leave(tensor, GIVEN)
        self._snapshot.add(self._given, GIVEN)
        add_surroundings(kernel, self._snapshot)

    def _kept_tensor(self, tensor: Any, _: Any) -> Any:
        """An argument, or what another launch returned, for which this one need not wait."""
        if not isinstance(tensor, TensorResult):
            return KeptArray(tensor, self._copies)
        unread = tensor.unread()
        if unread is None:
            return KeptArray(tensor.array(), self._copies)
        twin, values = unread
        self.needed.append(values)
        return twin

    def has_traced(self) -> None:
        """What the kernel has read of other launches' results is kept, too."""
        self._snapshot.add_results()

    @contextmanager
    def again(self, in_place: bool) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
        """Everything as it was: the arguments, with arrays for what other launches returned.

        `in_place` these are the ones that the script has, for a kernel that writes to them.
        """
        try:
            with self._snapshot.restored():
                yield mapped(self._given if in_place else self._kept, _array, _is_kept)
        except Changed as problem:
            what = problem if str(problem) == GIVEN else f"{problem}, which the kernel reads"
            raise UserError(f"{self._at}: the script reads what kernel {self.kernel.name} returned "
                            f"after it has changed {what}; read it before that, or give the kernel "
                            "a copy") from None


GIVEN = "what the kernel was given"
"""What messages call the arguments."""


def _is_kept(value: Any) -> bool:
    return isinstance(value, (TensorResult, KeptArray)) or is_array(value)


def _array(value: Any, _: Any) -> Any:
    """What a kernel is given."""
    if isinstance(value, KeptArray):
        return value.was(GIVEN)
    return value.array() if isinstance(value, TensorResult) else value


class _Computation:
    """What a launch returns, computed once. With `in_place`, its arguments change."""

    def __init__(self, launch: _Launch, rules: _Rules, in_place: bool) -> None:
        self._launch = launch
        self._rules = rules
        self._in_place = in_place

    @cached_property
    def _run(self) -> tuple[Program, Any]:
        flush_output()
        with alone(), self._launch.again(self._in_place) as (arguments, keywords):
            program, result = compute(self._launch.kernel, arguments, keywords, self._rules.chip,
                                      self._rules.reads_unwritten)
        self._rules.warned(program)
        return program, as_given((*arguments, *keywords.values()), result)

    @property
    def program(self) -> Program:
        """The trace of the run on values."""
        return self._run[0]

    def __call__(self) -> Any:
        return self._run[1]
