# SPDX-License-Identifier: Apache-2.0
# The command `python3 -m trnsim.validation`, which `trnsim validate` becomes.
"""Compares simulated with measured latencies of published kernels."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from collections.abc import Sequence

from trnsim.command import end_with, naming_output
from trnsim.errors import FrontendError, UserError
from trnsim.frontend.writer import save_text
from trnsim.validation.ablation import ablate
from trnsim.validation.binding import ROWS, Places, check_corpus
from trnsim.validation.pages import write
from trnsim.validation.rows import Row, choose, read_csv, read_rows, unique
from trnsim.validation.runs import JOBS, Outcome, Variant, check_jobs, simulate
from trnsim.validation.summary import Validation, document
from trnsim.validation.tables import text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="trnsim validate", description=__doc__,
                                     allow_abbrev=False)
    parser.add_argument("--chip")
    parser.add_argument("--family")
    parser.add_argument("--corpus")
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--policy", action="append", default=[], dest="policies")
    parser.add_argument("--ablate", action="store_true")
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--json", default="")
    parser.add_argument("--write-docs", type=Path, metavar="ROOT")
    parser.add_argument("-q", "--quiet", action="store_true")
    return parser


def _rows(options: argparse.Namespace, places: Places) -> list[Row]:
    """The chosen rows, published and the user's own."""
    rows = read_rows(places.root / ROWS)
    if options.rows is not None:
        rows = unique([*rows, *read_csv(options.rows)],
                      f"--rows {options.rows} and the published rows")
    return choose(rows, options.chip, options.family)


def validate(options: argparse.Namespace) -> Validation:
    """Runs what was asked for. UserError if it cannot be."""
    places = Places.find(options.corpus)
    if options.write_docs is not None:
        _check_whole(options)
    rows = _rows(options, places)
    _require_kernels_kept(options.json, rows)
    notes = check_corpus(rows, places)
    settings, policies = tuple(options.settings), tuple(options.policies)

    def run(variant: Variant, chosen: Sequence[Row]) -> list[Outcome]:
        return simulate(chosen, places, variant, options.jobs, settings, policies)

    outcomes = run(Variant(), rows)
    _check_overrides(outcomes)
    ablations = []
    if options.ablate:
        done = [one for one in outcomes if one.is_run]
        ablations = ablate(done, lambda variant: run(variant, [one.row for one in done]))
    return Validation(outcomes, notes, ablations,
                      {"chip": options.chip, "family": options.family,
                       "has_corpus": places.corpus is not None,
                       "settings": list(settings), "policies": list(policies)})


def _require_kernels_kept(output: str, rows: Sequence[Row]) -> None:
    """UserError if the result would replace a kernel of the user's."""
    kernels = {Path(part.kernel.partition("::")[0]).resolve() for row in rows for part in row.own}
    if output and Path(output).resolve() in kernels:
        raise UserError(f"--json {output}: would overwrite a kernel of --rows, which is read; name "
                        "another file")


def _check_whole(options: argparse.Namespace) -> None:
    """UserError for options with which the pages would not be about all rows and this model."""
    given = {"--chip": options.chip, "--family": options.family, "--rows": options.rows,
             "--set": options.settings, "--policy": options.policies}
    for name, value in given.items():
        if value:
            raise UserError(f"--write-docs: with {name} the pages would be about something else "
                            f"than they say; leave {name} out, or write --json instead")
    if options.corpus is None:
        raise UserError("--write-docs: the pages are about all rows, which need --corpus FOLDER; "
                        "add it, or write --json instead")


def _check_overrides(outcomes: Sequence[Outcome]) -> None:
    """UserError for an option with which no row can be run: that is not the rows' fault."""
    for one in outcomes:
        if one.reason.startswith(("--set ", "--policy ")):
            raise UserError(one.reason)


def _report(validation: Validation, options: argparse.Namespace) -> None:
    told = json.dumps(document(validation), indent=1) + "\n"
    if options.write_docs is not None:
        for page in write(validation, options.write_docs):
            print(f"wrote {page}", file=sys.stderr)
    if options.json == "-":
        with naming_output():
            sys.stdout.write(told)
        return
    if options.json:
        save_text(Path(options.json), told)
    if not options.quiet:
        with naming_output():
            print(text(validation), end="")
    elif validation.status:
        for one in validation.outcomes:
            if not one.is_run:
                print(f"{one.row.id}: {one.reason}", file=sys.stderr)


def main(words: list[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    options = _parser().parse_args(sys.argv[1:] if words is None else words)
    try:
        check_jobs(options.jobs)
        validation = validate(options)
        _report(validation, options)
    except FrontendError as problem:
        print(problem, file=sys.stderr)
        return problem.exit_status
    return validation.status


if __name__ == "__main__":
    end_with(main)
