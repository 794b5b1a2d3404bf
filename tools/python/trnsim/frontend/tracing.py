# SPDX-License-Identifier: Apache-2.0
# Runs a kernel function with recording on.
"""trace(function, arguments, chip) -> Program."""

from __future__ import annotations

import gc
import hashlib
import importlib
import inspect
from pathlib import Path
from typing import Any, NamedTuple
from collections.abc import Callable, Mapping, Sequence

from trnsim._version import __version__
from trnsim.errors import FrontendError, IllegalInstruction, OutOfBounds, UserError
from trnsim.frontend import arguments as argument_forms
from trnsim.frontend import recorder as recording
from trnsim.frontend import source
from trnsim.frontend.alone import alone
from trnsim.frontend.annotations import bound
from trnsim.frontend.chip import Chip, load_chip
from trnsim.frontend.dialect import Dialect, dialect
from trnsim.frontend.dtypes import DType
from trnsim.frontend.kernel import Kernel, is_as_written
from trnsim.frontend.leaves import tensors_in
from trnsim.frontend.loop_index import LoopIndex
from trnsim.frontend.misfits import called, parameters_of
from trnsim.frontend.outputs import (declare_outputs, warn_of_lost_results,
                                     warn_of_unwritten_results)
from trnsim.frontend.program import Program
from trnsim.frontend.raised import words_of
from trnsim.frontend.recorder import Recorder
from trnsim.frontend.records import psum
from trnsim.frontend.records.schedule import Edge, Edges, Schedule, check_names
from trnsim.frontend.records.tensor import View, is_view
from trnsim.frontend.shortcuts import NO_SHORTCUTS, Allowed, Retrace, Shortcuts
from trnsim.frontend.writer import FORMAT_VERSION
from trnsim.frontend.written import function_of, name_of

COLLECTIONS = (1_000_000, 50, 50)
"""Thresholds of the garbage collector while tracing: views and values are not in cycles, and there
are many of them. [ASSUMED]"""
LNC_GENERATION = 3
"""The first NeuronCore generation whose cores are combined to logical ones. [NKI-ARCH-V3]"""


@alone()
def trace(function: Callable[..., Any], arguments: Sequence[Any] = (), chip: str | Chip = "trn2",
          *, keywords: Mapping[str, Any] | None = None, api: str | None = None,
          takes_shortcuts: bool = True, trip_counts: Mapping[str, int] | None = None,
          values: bool = False, seed: int = 0, reads_unwritten: bool = False) -> Program:
    """Records what a kernel asks of the hardware.

    Arguments are arrays, `TensorArgument`s or plain values. `api` is only needed for a function
    without a decorator that uses neither API at module level. Without `takes_shortcuts` every
    iteration of every loop is executed; the trace is the same. `trip_counts` says how often loops
    run whose bounds only the hardware knows, by the name of their register. With `values` every
    instruction is evaluated too (see values/): `seed` makes the contents of `TensorArgument`s, and
    `Program.outputs` has what the kernel computes. Reading an element that nothing has written is
    an error, or with `reads_unwritten` gives NaN.

    UserError if the kernel raises or the arguments do not fit, ProgramError if the chip would not
    execute it.
    """
    target = chip if isinstance(chip, Chip) else load_chip(chip)
    launch = Launch(function, arguments, keywords or {}, target, trip_counts or {})
    if values:
        return _evaluated([launch], api, seed, reads_unwritten)[0]
    allowed = Allowed() if takes_shortcuts else NO_SHORTCUTS
    known: Found | None = None
    while True:
        attempt = _Attempt(launch, api, allowed, known)
        try:
            for core in range(attempt.cores):
                attempt.run(core)
        except Retrace as problem:
            allowed = allowed.after(problem)
            continue
        found = attempt.edges()
        if known is not None or not any(found):
            return attempt.program()
        known = found


Found = list[Edges | None]
"""The edges of the schedule, by core."""


class Launch(NamedTuple):
    """What is traced: a kernel with its arguments on a chip."""

    function: Callable[..., Any]
    arguments: Sequence[Any]
    keywords: Mapping[str, Any]
    chip: Chip
    trip_counts: Mapping[str, int]
    make: Callable[..., Recorder] | None = None
    """Makes the recorder of a core, if it is to be another kind."""


class _Attempt:
    """One attempt at a trace: the programs of all cores of a launch.

    `known`: the edges of the schedule that the one before found.
    """

    def __init__(self, launch: Launch, api: str | None, allowed: Allowed,
                 known: Found | None = None) -> None:
        function, chip = launch.function, launch.chip
        self._launch = launch
        self._kernel = function if isinstance(function, Kernel) else None
        self._body = self._kernel.function if self._kernel is not None else function
        self._used = dialect(api or api_of(function))
        self._grid = self._kernel.grid if self._kernel is not None else ()
        self._named: Sequence[Edge] = self._kernel.schedule if self._kernel is not None else ()
        self._known = known
        self._allowed = allowed._replace(shortcuts=allowed.shortcuts and not self._named)
        self._recorders: dict[int, Recorder] = {}
        self._results: dict[int, Any] = {}
        self._rewarding: dict[source.Site, int] = {}
        self.cores = self._used.cores(self._grid)
        if self.cores > 1 and chip.generation < LNC_GENERATION:
            raise UserError(f"kernel {name_of(self._body)} is launched on "
                            f"{self.cores} cores, but {chip.name} has {chip.neuron_core}, whose "
                            "cores are not combined; launch it on 1 or choose another chip")

    def run(self, core: int) -> None:
        """Runs the program of a core."""
        used = self._used
        active = (self._launch.make or Recorder)(self._launch.chip, used.api, core, self.cores)
        active.shortcuts = Shortcuts(self._allowed, self._rewarding)
        if self._named or self._allowed.has_order:
            known = None if self._known is None else self._known[core]
            active.schedule = Schedule(self._named, known)
        active.sample = used.sample
        active.grid = self._grid
        active.trip_counts = self._launch.trip_counts
        self._recorders[core] = active
        self._results[core] = _record(active, self._body, self._launch, self._grid, used)

    def edges(self) -> Found:
        """The edges of the schedule that the programs of all cores have, when they have run."""
        recorders = [self._recorders[core] for core in range(self.cores)]
        schedules = [one.schedule for one in recorders if one.schedule is not None]
        check_names(self._named, schedules, getattr(self._kernel, "name", ""))
        return [None if one.schedule is None else one.schedule.edges(one) for one in recorders]

    def program(self) -> Program:
        """The trace, when the programs of all cores have run."""
        recorders = [self._recorders[core] for core in range(self.cores)]
        for one in recorders:
            if one.schedule is not None:
                one.schedule.note_unobeyed(one)
        result = self._results[0]
        for where, text in self._used.advise(self._body):
            recorders[0].note("warning", text, where)
        returned = list(tensors_in(result, is_view))
        warn_of_unwritten_results(recorders, returned)
        warn_of_lost_results(recorders, self._body, result, returned)
        return Program(recorders, _header(self._body, self._launch, self._used, self.cores), result)


def _record(active: Recorder, body: Callable[..., Any], launch: Launch, grid: tuple[Any, ...],
            used: Dialect) -> Any:
    """Runs the program of one core; returns what the kernel returned."""
    psum.changes.clear()
    values, named = _bind(body, launch.arguments, launch.keywords, active, used)
    previous = recording.activate(active)
    thresholds = gc.get_threshold()
    gc.set_threshold(*COLLECTIONS)
    try:
        result = used.launch(grid, lambda: _call(body, values, named))
        active.finish()
        used.review(active)
    except FrontendError as problem:
        suspected = active.shortcuts.suspected()
        if suspected is not None:
            raise suspected from None
        assumed = sorted(active.unknown_bounds - set(active.trip_counts))
        if isinstance(problem, (IllegalInstruction, OutOfBounds)) and assumed:
            raise type(problem)(
                f"{problem}; how often the loop over register {assumed[0]!r} runs is assumed: say "
                f"it with --assume {assumed[0]}=COUNT") from None
        raise
    finally:
        active.forget()
        gc.set_threshold(*thresholds)
        recording.activate(previous)
        LoopIndex.open_loops.clear()
        LoopIndex.wide = 0
        source.forget_caller()
    if active.shortcuts.unfinished:
        raise Retrace
    declare_outputs(active, list(tensors_in(result, is_view)))
    return result


@alone()
def trace_ranks(function: Callable[..., Any], ranks: Sequence[Mapping[str, Any]],
                chip: str | Chip = "trn2", *, api: str | None = None,
                trip_counts: Mapping[str, int] | None = None, seed: int = 0,
                reads_unwritten: bool = False) -> list[Program]:
    """Runs a kernel with values once per rank, which meet at collectives; their programs.

    `ranks` has the arguments of each rank by name. The rest is as in trace().
    """
    target = chip if isinstance(chip, Chip) else load_chip(chip)
    return _evaluated([Launch(function, (), named, target, trip_counts or {}) for named in ranks],
                      api, seed, reads_unwritten)


def _evaluated(launches: Sequence[Launch], api: str | None, seed: int,
               reads_unwritten: bool) -> list[Program]:
    """Traces with values of ranks; numpy's warnings of overflow and invalid operations are off."""
    attempts = _evaluations(launches, api, seed, reads_unwritten, None)
    found = [attempt.edges() for attempt in attempts]
    if any(edges is not None for cores in found for edges in cores):
        attempts = _evaluations(launches, api, seed, reads_unwritten, found)
    programs = [attempt.program() for attempt in attempts]
    for program in programs:
        program.collect()
    return programs


def _evaluations(launches: Sequence[Launch], api: str | None, seed: int, reads_unwritten: bool,
                 known: Sequence[Found] | None) -> list[_Attempt]:
    """Attempts at traces with values of ranks that have run together."""
    values = importlib.import_module("trnsim.frontend.values.recorder")
    numpy = importlib.import_module("numpy")
    world = values.World(len(launches))

    def attempt_of(rank: int, launch: Launch) -> _Attempt:
        made: dict[str, Any] = {}

        def make(chip: Chip, name: str, core: int, cores: int) -> Recorder:
            team = made.setdefault("team", values.Team(world, rank, cores))
            found: Recorder = values.ValueRecorder(chip, name, core, cores, seed, reads_unwritten,
                                                   team)
            return found
        return _Attempt(launch._replace(make=make), api, NO_SHORTCUTS._replace(has_order=True),
                        None if known is None else known[rank])

    attempts = [attempt_of(rank, launch) for rank, launch in enumerate(launches)]
    cores = attempts[0].cores
    try:
        with numpy.errstate(all="ignore"):
            world.turns.run(len(attempts) * cores,
                            lambda number: attempts[number // cores].run(number % cores))
    finally:
        world.turns.end()
    return attempts


def _call(body: Callable[..., Any], values: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Calls the kernel; stacks of recorded events end here."""
    try:
        result = body(*values, **named)
    except (FrontendError, BrokenPipeError):
        raise
    except SystemExit as status:
        raise UserError(f"{source.raised_at(status)}: the kernel ends Python (status "
                        f"{status.code}); let it return") from status
    except Exception as problem:
        raise UserError(f"{source.raised_at(problem)}: the kernel raises {type(problem).__name__}: "
                        f"{words_of(problem)}{parameters_of(problem)}") from problem
    if inspect.isgenerator(result) or inspect.iscoroutine(result):
        result.close()
        code = function_of(body).__code__
        raise UserError(f"{source.Position(code.co_filename, code.co_firstlineno)}: "
                        f"{name_of(body)} is a generator or a coroutine, which does nothing when "
                        "it is called; write a function that returns its tensors")
    return result


source.set_entry(_call.__code__)


def callers(problem: BaseException) -> list[str]:
    """Who called the function whose line a message begins with, the innermost first."""
    frames: list[tuple[source.Position, str]] = []
    entry = problem.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        if code is _call.__code__:
            frames.clear()
        elif source.is_user(code):
            frames.append((source.Position(code.co_filename, entry.tb_lineno), code.co_name))
        entry = entry.tb_next
    if not frames or not str(problem).startswith(f"{frames[-1][0]}:"):
        return []
    found = [f"  called by {name}, {position}" for position, name in reversed(frames[:-1])]
    return found if len(found) <= MOST_CALLERS else [*found[:MOST_CALLERS], "  …"]


MOST_CALLERS = 8
"""Of a message. [ASSUMED]"""


def api_of(function: Callable[..., Any]) -> str:
    """The API of a kernel, or the one that an undecorated function's module uses."""
    if isinstance(function, Kernel):
        return function.api
    for value in getattr(function_of(function), "__globals__", {}).values():
        name = getattr(value, "__name__", None)
        if isinstance(name, str) and name.startswith(("neuronxcc.nki", "trnsim.frontend.legacy")):
            return "neuronxcc.nki"
    return "nki"


def _bind(body: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any],
          active: Recorder, used: Dialect) -> tuple[list[Any], dict[str, Any]]:
    """The arguments as the kernel sees them; UserError if they do not fit the signature."""
    try:
        fitted = bound(body, arguments, keywords)
    except TypeError as problem:
        advice = ("give one value for each parameter that has no default, like "
                  "'float32[128,512]' for a tensor" if str(problem).startswith("missing") else
                  "give values to these parameters only")
        raise UserError(f"{called(body)}: {problem}; {advice}") from problem

    def make(name: str, dtype: DType, shape: tuple[int, ...], contents: Any) -> View:
        storage = active.argument(name, dtype, shape, "input")
        active.initialise(storage, contents)
        return used.tensor(storage)

    names = list(fitted.arguments)
    values = [argument_forms.bind(value, names[min(index, len(names) - 1)], make)
              for index, value in enumerate(fitted.args)]
    named = {name: argument_forms.bind(value, name, make) for name, value in fitted.kwargs.items()}
    return values, named


def _header(body: Callable[..., Any], launch: Launch, used: Dialect,
            cores: int) -> dict[str, Any]:
    described = [argument_forms.describe(value) for value in launch.arguments]
    described += [f"{name}={argument_forms.describe(value)}"
                  for name, value in launch.keywords.items()]
    header: dict[str, Any] = {
        "format": "nkt", "version": FORMAT_VERSION, "form": "program",
        "producer": f"trnsim {__version__}", "target": launch.chip.name,
        "kernel": name_of(body)}
    written = function_of(body)
    path = inspect.getsourcefile(written) if hasattr(written, "__code__") else None
    if path is not None and Path(path).is_file():
        header["source_sha256"] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    is_marked = used.has_middle_end and is_as_written(launch.function)
    header["api"] = f"{used.api}.as_written" if is_marked else used.api
    if cores > 1:
        header["cores"] = cores
    header["arguments"] = described
    return header
