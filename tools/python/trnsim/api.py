# SPDX-License-Identifier: Apache-2.0
# The Python API.
"""simulate, compare and trace kernels from Python."""

from __future__ import annotations

import io
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from collections.abc import Callable, Iterator, Mapping, Sequence

from trnsim.checking import (CHIPS, in_python_words, require_chip, require_chips, require_files,
                             require_flags, require_launch, require_trip_counts)
from trnsim.errors import FrontendError, UserError
from trnsim.frontend.alone import alone
from trnsim.frontend.arguments import as_tensor
from trnsim.frontend.chip import Chip, default_chip, load_chip, require_limits, set_target
from trnsim.frontend.host.impersonate import install
from trnsim.frontend.host.running import run_program
from trnsim.frontend.kernel import Kernel, bound_kernel
from trnsim.frontend.loops import LoopRange
from trnsim.frontend.program import Program
from trnsim.frontend.tracing import trace as record
from trnsim.frontend.written import function_of, name_of
from trnsim.result import Comparison, Result
from trnsim.simulator import Options, Overrides, assignments, run_trace

KernelLike = Callable[..., Any] | str | Path | Program
"""A kernel, `kernel[grid]`, "file.py::function", "file.py::function[grid]", what `trace` returned,
or the path of a trace (.nkt, .nkt.zst)."""


def simulate(kernel: KernelLike, *arguments: Any, chip: str | None = None, values: bool = False,
             policies: Overrides = None, settings: Overrides = None, cores: int | None = None,
             permissive: bool = False, method: str = "profiler",
             timeline: str | Path | None = None, instructions: str | Path | None = None,
             trip_counts: Mapping[str, int] | None = None, reads_unwritten: bool = False,
             **keywords: Any) -> Result:
    """How long a kernel takes on a chip, and why.

    Arguments are arrays (numpy, torch, jax), texts like "bfloat16[128,512]", which stand for a
    tensor without contents, or plain values. `settings` and `policies` are what `--set` and
    `--policy` take, as a dict or as texts. `chip` is by default what the environment variable
    NEURON_PLATFORM_TARGET_OVERRIDE names, or trn2. With `values`, `outputs` of the result is what
    the kernel computes. `cores` NeuronCores run copies of the kernel at once, by default those that
    one copy takes: `kernel[2]` takes two. `method` says what the latency compares with: "profiler"
    (total_time) or "benchmark" (nki.benchmark, whose kernel start is shorter on trn2 and trn3
    and longer on trn1 and inf2). `timeline` names a file for https://ui.perfetto.dev,
    `instructions` one for what every engine executed, which `trnsim diff` compares. `trip_counts`
    says how often loops run whose bounds are in registers, by the register's name; without it they
    run 8 times, and with `values` as often as these say. With `reads_unwritten`, values that
    nothing has written are NaN instead of an error.

    UserError for a wrong argument, ProgramError if the chip would not execute the kernel.
    """
    chip = _chip(chip)
    require_files(kernel, timeline=timeline, instructions=instructions)
    require_launch(cores, method)
    require_flags(values=values, permissive=permissive, reads_unwritten=reads_unwritten)
    require_trip_counts(trip_counts)
    if reads_unwritten and not values:
        raise UserError("reads_unwritten is about values, which are not computed; pass values=True")
    options = Options(chip, assignments(settings), assignments(policies), cores, permissive,
                      method, timeline, instructions)
    if isinstance(kernel, Program) or _is_trace(kernel):
        _refuse_for_trace(kernel, arguments, keywords, values, trip_counts)
        with in_python_words():
            return run_trace(trace_bytes(kernel) if isinstance(kernel, Program)
                             else Path(str(kernel)), options, _name(kernel))
    if permissive:
        raise UserError(f"permissive: {_name(kernel)} is a kernel, which is recorded whole or "
                        "refused; leave it out")
    outputs = None
    target = load_chip(chip, options.settings)
    with _found(kernel, target) as function:
        program = _traced(function, arguments, keywords, target, trip_counts)
        if values:
            computed, outputs = compute(function, arguments, keywords, target, reads_unwritten)
            if program.depends_on_values:
                program = computed
            else:
                program.warn(computed.warnings)
    with in_python_words():
        result = run_trace(trace_bytes(program), options, _name(kernel))
    result.outputs = outputs
    return result


def compare(kernel: KernelLike, *arguments: Any, chips: Sequence[str] = CHIPS,
            policies: Overrides = None, settings: Overrides = None, cores: int | None = None,
            permissive: bool = False, method: str = "profiler",
            trip_counts: Mapping[str, int] | None = None, **keywords: Any) -> Comparison:
    """One kernel on several chips. A chip that cannot run it is in `errors` of the comparison.

    FrontendError if no chip can.
    """
    names = require_chips(chips)
    results: dict[str, Result] = {}
    errors: dict[str, FrontendError] = {}
    for chip in names:
        try:
            results[chip] = simulate(kernel, *arguments, chip=chip, policies=policies,
                                     settings=settings, cores=cores, permissive=permissive,
                                     method=method, trip_counts=trip_counts, **keywords)
        except FrontendError as problem:
            errors[chip] = problem
    if errors and not results:
        raise next(iter(errors.values()))
    return Comparison(results, {chip: str(problem) for chip, problem in errors.items()})


def trace(kernel: Callable[..., Any] | str, *arguments: Any, chip: str | None = None,
          settings: Overrides = None, trip_counts: Mapping[str, int] | None = None,
          **keywords: Any) -> Program:
    """What a kernel asks of the hardware: save it with `trace(...).save("kernel.nkt")`.

    Of `settings` the limits of tiles count, as the bytes of a partition; give `simulate` all.
    """
    limits = assignments(settings)
    require_limits(limits)
    require_trip_counts(trip_counts)
    return _traced(kernel, arguments, keywords, load_chip(_chip(chip), limits), trip_counts)


def _traced(kernel: Callable[..., Any] | str | Path, arguments: Sequence[Any],
            keywords: Mapping[str, Any], target: Chip,
            trip_counts: Mapping[str, int] | None) -> Program:
    with _found(kernel, target) as function, _marked_loops(function):
        program = record(function, [as_tensor(value) for value in arguments], target,
                         keywords={name: as_tensor(value) for name, value in keywords.items()},
                         trip_counts=trip_counts)
    program.require_unknown_bounds(trip_counts or ())
    return program


def trace_bytes(program: Program) -> bytes:
    """A trace as its file holds it."""
    stream = io.BytesIO()
    program.write(stream)
    return stream.getvalue()


def compute(function: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any],
            chip: Chip, reads_unwritten: bool) -> tuple[Program, Any]:
    """The trace of a kernel that runs on values, and what it computes."""
    return run_program(function, [as_tensor(value) for value in arguments],
                       {name: as_tensor(value) for name, value in keywords.items()}, chip,
                       reads_unwritten=reads_unwritten)


def _chip(chip: Any) -> str:
    """The chip that is named, else the default. UserError for what is no name."""
    return default_chip() if chip is None else require_chip(chip)


def _is_trace(kernel: KernelLike) -> bool:
    return isinstance(kernel, (str, Path)) and str(kernel).endswith((".nkt", ".nkt.zst"))


def _refuse_for_trace(kernel: KernelLike, arguments: Sequence[Any], keywords: Mapping[str, Any],
                      values: bool, trip_counts: Mapping[str, int] | None) -> None:
    if trip_counts:
        raise UserError(f"{kernel}: is a trace, whose loops have their counts; leave trip_counts "
                        "out")
    if arguments or keywords:
        raise UserError(f"{kernel}: is a trace, which has its arguments in it; leave them out")
    if values:
        raise UserError(f"{kernel}: is a trace, which has no values; leave values=True out or "
                        "give the kernel")


@contextmanager
def _found(kernel: Callable[..., Any] | str | Path, chip: Chip) -> Iterator[Callable[..., Any]]:
    """The kernel's function, while nobody else traces. UserError if it is none of ours."""
    from trnsim.frontend.host.naming import kernel_named

    with alone():
        install()
        set_target(chip)
        if isinstance(kernel, (str, Path)):
            with kernel_named(str(kernel)) as function:
                yield function
            return
        module = type(kernel).__module__
        if not isinstance(kernel, Kernel) and module.startswith(("nki.", "neuronxcc.", "nki_")):
            raise UserError(f"kernel {getattr(kernel, '__name__', '')} was made by the installed "
                            f"{module.partition('.')[0]}; call trnsim.install() before it is "
                            "imported")
        if not _is_function(kernel):
            raise UserError(f"a kernel is a function, file.py::function or a trace, but this is "
                            f"{kernel!r}; pass one of them")
        yield bound_kernel(kernel)


def _is_function(kernel: Any) -> bool:
    """Whether a value is written in Python, or such a function with some of its arguments."""
    while isinstance(kernel, (Kernel, partial)):
        kernel = kernel.function if isinstance(kernel, Kernel) else kernel.func
    return not isinstance(kernel, type) and hasattr(function_of(kernel), "__code__")


def _name(kernel: KernelLike) -> str:
    if isinstance(kernel, Program):
        return kernel.kernel
    return str(kernel) if isinstance(kernel, (str, Path)) else name_of(kernel)


@contextmanager
def _marked_loops(function: Callable[..., Any]) -> Iterator[None]:
    """Lets loops over `range` be told in the trace, in a module that was not imported for it."""
    body = function.function if isinstance(function, Kernel) else function
    names = getattr(function_of(body), "__globals__", {})
    if "range" in names:
        yield
        return
    names["range"] = LoopRange
    try:
        yield
    finally:
        del names["range"]
