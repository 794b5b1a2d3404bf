# SPDX-License-Identifier: Apache-2.0
# The command tools/calibrate.
"""main(): responses, fit, cross-validation, a simulation of what was fitted, and the report."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any
from collections.abc import Mapping, Sequence

from trnsim.errors import FrontendError, UserError
from trnsim.frontend.writer import save_text
from trnsim.validation.binding import ROWS, Places, check_corpus
from trnsim.validation.calibration import (
    FREE, Constant, Response, Row, cross_validate, error, fit, pooled, respond, rows_of)
from trnsim.validation.chip_file import FOLLOWERS, ChipFile
from trnsim.validation.pages import markdown, rewrite_page
from trnsim.validation.rows import choose, read_rows
from trnsim.validation.runs import JOBS, Outcome, Variant, check_jobs, simulate
from trnsim.validation.tables import columns

HEAD = ("constant", "today", "fitted", "least", "most", "moves most")
FOLD_HEAD = ("family", "rows", "today", "fitted", "left out")


def _parser(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tools/calibrate", description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", metavar="PATH")
    parser.add_argument("--chip", choices=sorted({one.chip for one in FREE}))
    parser.add_argument("--only", metavar="WORD", default="",
                        help="constants with this in their path")
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--json", metavar="FILE", type=Path)
    parser.add_argument("--write", action="store_true", help="change configs/chips")
    parser.add_argument("--write-docs", action="store_true", help="change docs/accuracy.md")
    return parser


def _chosen(options: argparse.Namespace) -> list[Constant]:
    chosen = [one for one in FREE if options.chip in (None, one.chip) and options.only in one.path]
    if not chosen:
        raise UserError(f"--only {options.only}: no free constant has it in its path; they are "
                        f"{', '.join(one.path for one in FREE)}")
    return chosen


class _Runs:
    """Simulates rows; every variant once."""

    def __init__(self, options: argparse.Namespace, places: Places) -> None:
        self._places = places
        self._jobs = options.jobs
        self._rows = [row for row in read_rows(places.root / ROWS) if row.calibrate]
        for note in check_corpus(self._rows, places):
            print(note, file=sys.stderr)

    def __call__(self, variant: Variant, chip: str) -> list[Outcome]:
        return simulate(choose(self._rows, chip, None), self._places, variant, self._jobs)


def calibrate(options: argparse.Namespace) -> dict[str, Any]:
    """Everything that is found out, as a document. UserError if nothing can be."""
    places = Places.find(options.corpus)
    constants = _chosen(options)
    chips = list(dict.fromkeys(one.chip for one in constants))
    run = _Runs(options, places)
    today = [outcome for chip in chips for outcome in run(Variant(), chip)]
    rows = rows_of(today)
    if not rows:
        raise UserError(f"{today[0].row.id}: {today[0].reason}")
    files = {chip: ChipFile(places.root, chip) for chip in chips}
    responses = [respond(one, files[one.chip].value(one.path), rows, run) for one in constants]
    fitted = fit(rows, responses)
    again: list[Row] = []
    for chip in chips:
        settings = tuple(one.setting(fitted[one.name]) for one in constants if one.chip == chip)
        again += rows_of(run(Variant("fitted", settings=settings), chip))
    folds = cross_validate(rows, responses, fitted)
    now = {one.constant.name: one.today for one in responses}
    return {"constants": [_told(one, fitted[one.constant.name], rows) for one in responses],
            "folds": [vars(fold) for fold in [*folds, pooled(folds)]],
            "error_today": error(rows, responses, now),
            "error_fitted": error(rows, responses, fitted),
            "error_fitted_simulated": error(again, [], {})}


def _told(response: Response, value: float, rows: Sequence[Row]) -> dict[str, Any]:
    constant = response.constant
    return {"chip": constant.chip, "path": constant.path, "meaning": constant.meaning,
            "low": constant.low, "high": constant.high, "today": response.today, "fitted": value,
            "text": constant.text(value), "families": _most_moved(response, rows)}


def _most_moved(response: Response, rows: Sequence[Row]) -> list[str]:
    """The three families that follow the constant most, over its whole range."""
    moved: dict[str, list[float]] = {}
    for row in rows:
        if row.chip == response.constant.chip:
            ends = [response.shift(row.id, value) for value in
                    (response.constant.low, response.constant.high)]
            moved.setdefault(row.family, []).append(abs(ends[1] - ends[0]))
    means = {family: sum(shifts) / len(shifts) for family, shifts in moved.items()}
    most = sorted(means, key=lambda family: -means[family])[:3]
    return [family for family in most if means[family] > 0.0]


def constant_cells(told: Mapping[str, Any]) -> tuple[str, ...]:
    """One line of the table of constants."""
    return (f"{told['chip']} {told['path']}", f"{told['today']:g}", told["text"],
            f"{told['low']:g}", f"{told['high']:g}", ", ".join(told["families"]) or "nothing")


def fold_cells(fold: Mapping[str, Any]) -> tuple[str, ...]:
    """One line of the table of families."""
    return (fold["family"], f"{fold['rows']}",
            *(f"{100.0 * fold[key]:.1f}" for key in ("today", "fitted", "left_out")))


def _conclusion(told: Mapping[str, Any]) -> str:
    whole = told["folds"][-1]
    ratio = whole["left_out"] / whole["fitted"] if whole["fitted"] else 1.0
    return (f"Mean absolute error {100 * told['error_today']:.2f} % today, "
            f"{100 * told['error_fitted']:.2f} % by the fit, "
            f"{100 * told['error_fitted_simulated']:.2f} % when the fitted values are simulated; "
            f"a family left out of the fit has {ratio:.2f} times the error of one in it.")


def text(told: Mapping[str, Any]) -> str:
    """The report that a person reads."""
    lines = columns(HEAD, [constant_cells(one) for one in told["constants"]], left=(0, 5))
    lines += ["", "mean absolute error, %"]
    lines += columns(FOLD_HEAD, [fold_cells(one) for one in told["folds"]])
    return "\n".join([*lines, "", _conclusion(told), ""])


def _write_chips(told: Mapping[str, Any], root: Path) -> None:
    """The fitted values, also for the chips that follow where they had the same one."""
    for one in told["constants"]:
        if one["fitted"] == one["today"]:
            continue
        note = f"Fitted by tools/calibrate; follows: {', '.join(one['families'])}."
        for chip in (one["chip"], *FOLLOWERS[one["chip"]]):
            file = ChipFile(root, chip)
            if file.value(one["path"]) == one["today"]:
                source = "CALIBRATED" if chip == one["chip"] else "CALIBRATED, EXTRAPOLATED"
                file.replace(one["path"], one["text"], source, note)
                file.save()
                print(f"{file.path.name}: {one['path']} = {one['text']}", file=sys.stderr)


def _write_page(told: Mapping[str, Any], root: Path) -> None:
    rewrite_page(root / "docs" / "accuracy.md", {"calibration": [
        *markdown((*HEAD, "what it is"),
                  [(*constant_cells(one), one["meaning"]) for one in told["constants"]],
                  left=(0, 5, 6)),
        "", *markdown(FOLD_HEAD, [fold_cells(one) for one in told["folds"]]),
        "", _conclusion(told)]})


def main(description: str | None = None, words: list[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    options = _parser(description).parse_args(words)
    try:
        check_jobs(options.jobs)
        told = calibrate(options)
        print(text(told), end="")
        if options.json is not None:
            save_text(options.json, json.dumps(told, indent=1) + "\n")
        root = Places.find(options.corpus).root
        if options.write:
            _write_chips(told, root)
        if options.write_docs:
            _write_page(told, root)
    except FrontendError as problem:
        print(problem, file=sys.stderr)
        return problem.exit_status
    return 0
