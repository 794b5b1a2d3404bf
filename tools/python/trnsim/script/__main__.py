# SPDX-License-Identifier: Apache-2.0
# The command `python3 -m trnsim.script`, which `trnsim run script.py` becomes.
"""Runs a script, simulates every kernel call in it, and reports them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from trnsim.command import end_with, flush_output
from trnsim.errors import FrontendError, UserError
from trnsim.frontend.host.naming import calls_none
from trnsim.frontend.host.script import run_script
from trnsim.frontend.kernel import set_launcher
from trnsim.frontend.writer import save_text
from trnsim.script.calls import Call, Calls, Settings, launch_with
from trnsim.script.children import Elsewhere, await_children, await_threads
from trnsim.script.ends import refuse_silent_ends, run_exit_functions
from trnsim.script.report import document, json_text, slowest, summary_lines, title
from trnsim.simulator import Options, run_trace


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="trnsim run", description=__doc__, allow_abbrev=False)
    parser.add_argument("script", type=Path)
    parser.add_argument("--chip")
    parser.add_argument("--cores", type=int)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--policy", action="append", default=[], dest="policies")
    parser.add_argument("--method")
    parser.add_argument("--json", default="")
    parser.add_argument("--timeline", default="")
    parser.add_argument("--instructions", default="")
    parser.add_argument("--call", type=int)
    parser.add_argument("--no-values", action="store_true")
    parser.add_argument("--reads-unwritten", action="store_true")
    parser.add_argument("--colour", action="store_true")
    parser.add_argument("-q", "--quiet", action="store_true")
    return parser


def _parse(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options, and the script's own arguments, which follow `--`."""
    end = words.index("--") if "--" in words else len(words)
    return _parser().parse_args(words[:end]), words[end + 1:]


def main(words: list[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    options, arguments = _parse(sys.argv[1:] if words is None else words)
    simulation = Options("trn2", tuple(options.settings), tuple(options.policies), options.cores)
    if options.chip is not None and options.chip.endswith(".json"):
        options.chip = os.path.abspath(options.chip)  # Scripts may leave the folder.
    settings = Settings(str(options.script), options.chip, simulation, options.method,
                        not options.no_values, options.reads_unwritten)
    with _own_output() as output, closing(Elsewhere()) as elsewhere:
        if options.json == "-":
            os.dup2(2, 1)
        return _run(options, arguments, launch_with(settings, elsewhere), output)


@contextmanager
def _own_output() -> Iterator[TextIO]:
    """Standard output, whatever the script does with its own."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace") as output:
        yield output


def _run(options: argparse.Namespace, arguments: list[str], calls: Calls, output: TextIO) -> int:
    """Runs the script and reports to `output`; returns the exit status."""
    status, folder = 0, os.getcwd()
    try:
        refuse_silent_ends(str(options.script))
        calls.begin()
        try:
            ran_tests = run_script(options.script, arguments, calls.launch,
                                   lambda: bool(calls.done))
        finally:
            await_threads()
            refused = run_exit_functions()
            set_launcher(None)
        if refused is not None:
            raise refused
        if calls.elsewhere.is_here:
            return 0
        await_children()
        wants_files = options.json or options.timeline or options.instructions
        if calls.elsewhere.calls and not calls.done:
            raise UserError(f"{options.script}: {calls.elsewhere_note()}")
        if not calls.done and (wants_files or not ran_tests):
            raise calls_none(Path(options.script))
    except FrontendError as problem:
        status = problem.exit_status
        flush_output()
        print(problem, file=sys.stderr)
    flush_output()
    try:
        if calls.done and not calls.elsewhere.is_here:
            os.chdir(folder)  # That of the command, wherever the script is now.
            _report(calls, options, arguments, output)
    except FrontendError as problem:
        print(problem, file=sys.stderr)
        return status or problem.exit_status
    return status


def _report(calls: Calls, options: argparse.Namespace, arguments: list[str],
            output: TextIO) -> None:
    """Prints and writes what was simulated, the script's mistakes notwithstanding."""
    script = str(options.script)
    if calls.elsewhere.calls:
        calls.notes.append(calls.elsewhere_note())
    text = json_text(document(script, arguments, calls.done, calls.notes))
    if options.json == "-":
        output.write(text)
        return
    if options.json:
        save_text(Path(options.json), text)
    shown = _chosen(calls, options)
    if options.timeline or options.instructions:
        run_trace(shown.trace, replace(shown.options, timeline=options.timeline or None,
                                       instructions=options.instructions or None), script)
    if options.quiet:
        return
    lines = ["", title(script, calls.done), "", *summary_lines(calls.done),
             *(f"  warning: {note}" for note in calls.notes)]
    if len(calls.done) > 1:
        which = "" if options.call else ", the slowest; --call N shows another"
        lines += ["", f"call {shown.number}{which}"]
    if options.colour:
        shown_text = str(run_trace(shown.trace, shown.options, script, colour=True))
    else:
        shown_text = str(shown.result)
    output.write("\n".join([*lines, "", shown_text]))


def _chosen(calls: Calls, options: argparse.Namespace) -> Call:
    """The call that is shown in full. UserError if --call names none."""
    if options.call is None:
        return slowest(calls.done)
    if not 1 <= options.call <= len(calls.done):
        count = len(calls.done)
        has = "1 kernel; leave it out" if count == 1 else f"{count} kernels; use 1 to {count}"
        raise UserError(f"--call {options.call}: {options.script} calls {has}")
    number: int = options.call
    return calls.done[number - 1]


if __name__ == "__main__":
    end_with(main)
