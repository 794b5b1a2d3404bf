# SPDX-License-Identifier: Apache-2.0
# The command `python3 -m trnsim.frontend`.
"""Traces a kernel: `kernel.py::function --arg 'float32[128,512]' -o out.nkt`, or a script that
calls one: `script.py -o out.nkt -- its own arguments`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from collections.abc import Callable, Iterator

from trnsim.command import end_with
from trnsim.errors import FrontendError, UserError
from trnsim.frontend.arguments import parse
from trnsim.frontend.chip import default_chip, load_chip, set_target
from trnsim.frontend.host.impersonate import prepare_libraries
from trnsim.frontend.host.naming import kernel_named
from trnsim.frontend.host.read_files import ReadFiles
from trnsim.frontend.host.script import trace_script
from trnsim.frontend.program import Program
from trnsim.frontend.tracing import callers, trace

if TYPE_CHECKING:
    from trnsim.frontend.value_report import ValueReport

_CHECK_FAILED = 4
"""Exit status: the kernel runs, and computes something else than its reference."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m trnsim.frontend", description=__doc__)
    parser.add_argument("kernel", help="file.py::function, file.py::function[grid], or a script "
                                       "that calls kernels")
    parser.add_argument("--chip", help="a short name or a chip file [the target of the "
                                       "environment, else trn2]")
    parser.add_argument("--arg", action="append", default=[], metavar="VALUE",
                        help="one per parameter: dtype[shape], a Python literal, or name=value")
    parser.add_argument("--assume", action="append", default=[], metavar="NAME=COUNT",
                        help="how often a loop runs whose bound is in the register NAME")
    parser.add_argument("--set", action="append", default=[], dest="settings",
                        metavar="PATH=VALUE", help="another limit of the chip")
    parser.add_argument("--launch", type=int, metavar="N",
                        help="which kernel call of a script, from 1; needed if it has several")
    parser.add_argument("--values", action="store_true",
                        help="also compute what the kernel computes, and check what it reads")
    parser.add_argument("--seed", type=int, default=0, metavar="N",
                        help="of the contents of dtype[shape] arguments, with --values [0]")
    parser.add_argument("--reads-unwritten", action="store_true",
                        help="with --values, what nothing has written reads as NaN instead of "
                             "being an error")
    parser.add_argument("--save-values", metavar="FILE",
                        help="the arguments that are written and the results, as .npz; "
                             "implies --values")
    parser.add_argument("--check", metavar="REFERENCE",
                        help="file.py::function of the same arguments, with which the results are "
                             "compared; implies --values; the exit status is 4 if they differ")
    parser.add_argument("--rtol", type=float, metavar="X",
                        help="allowed relative error, with --check [by type, float32: 1e-5]")
    parser.add_argument("--atol", type=float, metavar="X",
                        help="allowed absolute error, with --check [rtol times the lower quartile "
                             "of the expected magnitudes]")
    parser.add_argument("--value-report", metavar="FILE",
                        help="with --values, what was computed and compared as JSON; the exit "
                             "status is 0 then, whatever it says")
    parser.add_argument("--read-files", metavar="FILE",
                        help="which of the user's files were read, as a JSON list of paths")
    parser.add_argument("-o", "--output", required=True, metavar="FILE",
                        help="the trace, compressed with zstd; - is standard output, as text")
    return parser


@contextmanager
def _kernel_output_on_standard_error() -> Iterator[None]:
    """What a kernel prints while it is traced must not get into a trace on standard output."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def _traced(options: argparse.Namespace,
            words: list[str]) -> tuple[Program, ValueReport | None]:
    """The program that the options ask for, and what there is to tell about its values. `words`
    are a script's own."""
    if "::" not in options.kernel:
        if options.check:
            raise UserError(f"--check {options.check}: {options.kernel} is a script, which checks "
                            "its results itself; leave --check out, or name one kernel as "
                            f"{options.kernel}::function")
        return _traced_script(options, words), None
    if words:
        raise UserError(f"{words[0]}: {options.kernel} is no script, which could have words of "
                        "its own after --; leave them out")
    values, keywords = _arguments(options.arg)
    chip = load_chip(options.chip or default_chip(), options.settings)
    set_target(chip)
    with kernel_named(options.kernel) as kernel:
        check = _checker(options, kernel, values, keywords) if _wants_values(options) else None
        program = trace(kernel, values, chip, keywords=keywords,
                        trip_counts=_assumptions(options.assume), values=_wants_values(options),
                        seed=options.seed, reads_unwritten=options.reads_unwritten)
        program.require_unknown_bounds(_assumptions(options.assume))
        return program, check(program) if check is not None else None


def _checker(options: argparse.Namespace, kernel: Callable[..., Any], values: list[Any],
             keywords: dict[str, Any]) -> Callable[[Program], ValueReport]:
    """What makes the value report. A reference is loaded now: its absence is told first."""
    from trnsim.frontend import value_report
    from trnsim.frontend.reference import Reference

    if not options.check:
        return lambda program: value_report.describe(program, options.seed)
    reference = Reference(options.check)

    def check(program: Program) -> ValueReport:
        expected = reference(kernel, values, keywords, options.seed)
        return value_report.check(program, expected, reference, options.seed,
                                  value_report.Tolerance(options.rtol, options.atol))

    return check


def _traced_script(options: argparse.Namespace, words: list[str]) -> Program:
    chip = load_chip(options.chip or default_chip(), options.settings)
    programs = trace_script(options.kernel, chip, _assumptions(options.assume),
                            values=_wants_values(options), arguments=words, seed=options.seed)
    if options.launch is None and len(programs) > 1:
        raise UserError(f"{options.kernel}: calls {len(programs)} kernels; choose one with "
                        f"--launch 1 to {len(programs)}")
    number = options.launch or 1
    if not 1 <= number <= len(programs):
        count = len(programs)
        has = "1 kernel; leave it out" if count == 1 else f"{count} kernels; use 1 to {count}"
        raise UserError(f"{options.kernel}: --launch {number}, but it calls {has}")
    return programs[number - 1]


def _assumptions(texts: list[str]) -> dict[str, int]:
    """Trip counts from the --assume options. UserError if one is not NAME=COUNT."""
    counts: dict[str, int] = {}
    for text in texts:
        name, _, count = text.partition("=")
        if not name.isidentifier() or not count.isdigit():
            raise UserError(f"--assume {text!r} is not NAME=COUNT, where NAME is the register of "
                            "a loop and COUNT how often the loop runs")
        counts[name] = int(count)
    return counts


def _wants_values(options: argparse.Namespace) -> bool:
    return bool(options.values or options.save_values or options.check)


def _save_values(program: Program, path: str) -> None:
    """Writes an .npz with the results (result_0, ...) and the written arguments by name."""
    import numpy

    results = program.outputs
    if not isinstance(results, (list, tuple)):
        results = () if results is None else (results,)
    arrays = {f"result_{at}": one for at, one in enumerate(results) if hasattr(one, "dtype")}
    numpy.savez(path, **arrays, **program.written)


def _arguments(texts: list[str]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments from the --arg options."""
    values: list[Any] = []
    keywords: dict[str, Any] = {}
    for text in texts:
        name, value = parse(text)
        if name is None:
            values.append(value)
        elif name in keywords:
            raise UserError(f"--arg {text!r}: {name} is given twice; leave one of them out")
        else:
            keywords[name] = value
    return values, keywords


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    end = words.index("--") if "--" in words else len(words)
    options = _parser().parse_args(words[:end])
    read = ReadFiles() if options.read_files else None
    prepare_libraries()
    try:
        with _kernel_output_on_standard_error():
            program, report = _traced(options, words[end + 1:])
        if options.save_values:
            _save_values(program, options.save_values)
        if read is not None:
            Path(options.read_files).write_text(json.dumps(read.paths()), encoding="utf-8")
        if options.output == "-":
            program.write(sys.stdout.buffer)
            sys.stdout.flush()
        else:
            program.save(options.output)
        if report is not None and options.value_report:
            Path(options.value_report).write_text(json.dumps(report.to_dict()), encoding="utf-8")
        elif report is not None and not report.passes:
            print(report.message(options.kernel), file=sys.stderr)
            return _CHECK_FAILED
    except FrontendError as problem:
        print(problem, *callers(problem), sep="\n", file=sys.stderr)
        return problem.exit_status
    return 0


if __name__ == "__main__":
    end_with(main)
