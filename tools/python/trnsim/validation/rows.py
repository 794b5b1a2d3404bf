# SPDX-License-Identifier: Apache-2.0
# Published measurements as data.
"""read_rows(folder), read_csv(file): the rows that the simulator is compared with.

A row is one latency that somebody measured and published, with what is needed to run the same
program here. tests/validation/rows holds one JSON file per family, described by
configs/schema/measurements.schema.json; a user's own rows come from a CSV file.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections import Counter
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any
from collections.abc import Iterable, Mapping

from trnsim.checking import METHODS
from trnsim.errors import UserError
from trnsim.frontend.chip import short_name

CLASSES = ("new_api", "as_written", "old_api")
"""What a compiler does to a program; the only thing but the method that sets a row's policies."""
DGE_MODES = ("default", "off")
CSV_NEEDED = ("id", "family", "class", "chip", "measured_us", "kernel", "arguments")
CSV_ALLOWED = ("method", "dge", "trust", "shapes", "dtype", "note", "hbm_read_bytes",
               "hbm_write_bytes", "dma_transfers", "tensor_engine_active_percent",
               "vector_engine_active_percent", "scalar_engine_active_percent",
               "gpsimd_engine_active_percent", "dma_active_percent")
_PUBLISHED = CSV_ALLOWED[6:]
_COMMA = re.compile(r"^,|,$|^(?:\w+=)?[A-Za-z]\w*\[[\d, ]*\],")
"""Of a word of `arguments`, before, behind or between arguments."""
LATENCIES_US = (1e-3, 1.44e11)
"""The least and the most: the simulator's own bound, 40 hours."""


@dataclass(frozen=True)
class Part:
    """One launch of a row; the latencies of its parts add up.

    `kernel` is file.py::function, or a driver: a script that launches kernels, and `arguments` its
    words.
    """

    kernel: str
    arguments: tuple[str, ...] = ()
    is_driver: bool = False


@dataclass(frozen=True)
class Row:
    """One measurement."""

    id: str
    family: str
    kind: str
    """One of CLASSES."""
    chip: str
    measured_us: float
    method: str = "profiler"
    dge: str = "default"
    trust: str = ""
    calibrate: bool = False
    shapes: str = ""
    dtype: str = ""
    measured_as: str = ""
    measured_by: str = ""
    source: Mapping[str, str] = field(default_factory=dict)
    published: Mapping[str, float] = field(default_factory=dict)
    counted: Mapping[str, int] = field(default_factory=dict)
    doubt: str = ""
    note: str = ""
    corpus: tuple[Part, ...] = ()
    """In a checkout of the source's repository."""
    own: tuple[Part, ...] = ()
    """With a kernel of this project, or of the user's CSV file."""

    @property
    def checkout(self) -> str:
        """The name of the folder that holds the source's repository: owner+repo."""
        return self.source.get("repository", "").replace("/", "+")


def read_rows(folder: Path) -> list[Row]:
    """All rows of a folder of JSON files, family by family. UserError if one is malformed."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise UserError(f"{folder}: holds no measurements (*.json); name the folder "
                        "tests/validation/rows of a source tree")
    return unique((row for file in files for row in _family(file)), str(folder))


def _family(file: Path) -> list[Row]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except json.JSONDecodeError as problem:
        raise UserError(f"{file}:{problem.lineno}: is not JSON: {problem.msg}; correct the "
                        "line") from None
    defaults = document.get("defaults", {})
    return [_row(file, document, _merged(defaults, one)) for one in document["rows"]]


def _merged(defaults: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with the defaults of its family; the two `source` objects are joined."""
    merged = {**defaults, **row}
    merged["source"] = {**defaults.get("source", {}), **row.get("source", {})}
    return merged


def _row(file: Path, document: Mapping[str, Any], data: dict[str, Any]) -> Row:
    source = data["source"]
    corpus = tuple(_corpus_part(source, one) for one in data.pop("corpus", ()))
    own = tuple(Part(one["kernel"], tuple(one["arguments"])) for one in data.pop("own", ()))
    try:
        return Row(family=document["family"], kind=document["class"], corpus=corpus, own=own,
                   **data)
    except TypeError as problem:
        raise UserError(f"{file}: row {data.get('id', '?')}: {problem}; the keys of a row are in "
                        "configs/schema/measurements.schema.json") from None


def _corpus_part(source: Mapping[str, str], one: Mapping[str, Any]) -> Part:
    if "driver" in one:
        return Part(one["driver"], tuple(one["arguments"]), is_driver=True)
    function = one.get("function", source.get("function", ""))
    return Part(f"{source['file']}::{function}", tuple(one["arguments"]))


def read_csv(file: Path) -> list[Row]:
    """A user's rows; kernels are named relative to the file. UserError with the line."""
    if file.is_char_device() or file.is_block_device():
        raise UserError(f"--rows {file}: cannot be read: is a device; name a CSV file")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "is not UTF-8 text"
        raise UserError(f"--rows {file}: cannot be read: {reason}; name a CSV file") from None
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        _check_columns(file, reader.fieldnames or [])
        rows = unique((_csv_row(f"{file}:{reader.line_num}", file.parent, line)
                       for line in reader), str(file))
    except csv.Error as problem:
        raise UserError(f"{file}:{reader.line_num + 1}: is not CSV: {problem}; correct the line"
                        ) from None
    if not rows:
        raise UserError(f"{file}: has no row below the names of its columns; add one for each "
                        "measurement")
    return rows


def _check_columns(file: Path, names: Iterable[str]) -> None:
    given = list(names)
    missing = [name for name in CSV_NEEDED if name not in given]
    if missing:
        raise UserError(f"{file}:1: has no column {', '.join(missing)}; the first line names the "
                        f"columns, {', '.join(CSV_NEEDED)} are needed")
    twice = [name for name, count in Counter(given).items() if count > 1]
    if twice:
        raise UserError(f"{file}:1: column {twice[0]} is there twice; name each once")
    unknown = [name for name in given if name not in CSV_NEEDED + CSV_ALLOWED]
    if unknown:
        raise UserError(f"{file}:1: unknown column {', '.join(map(repr, unknown))}; columns are "
                        f"{', '.join(CSV_NEEDED + CSV_ALLOWED)}")


def _csv_row(where: str, folder: Path, line: Mapping[str, str | None]) -> Row:
    if None in line or None in line.values():
        raise UserError(f"{where}: has more or fewer fields than the first line; quote a field "
                        "that holds a comma")
    cells = {name: (value or "").strip() for name, value in line.items()}
    if any(not value.isprintable() for value in cells.values()):
        raise UserError(f"{where}: a field holds a line break or a control character; write it "
                        "on one line")
    empty = [name for name in CSV_NEEDED if not cells[name] and name != "arguments"]
    if empty:
        raise UserError(f"{where}: {', '.join(empty)} is empty; every row needs it")
    for name, allowed, default in (("class", CLASSES, ""), ("method", METHODS, METHODS[0]),
                                   ("dge", DGE_MODES, DGE_MODES[0])):
        cells[name] = cells.get(name) or default
        if cells[name] not in allowed:
            raise UserError(f"{where}: {name} is {cells[name]!r}, allowed are "
                            f"{', '.join(allowed)}; use one of them")
    measured = _number(where, "measured_us", cells["measured_us"])
    if measured <= 0:
        raise UserError(f"{where}: measured_us is {measured:g}, a latency is above 0 us; "
                        "correct it")
    if not LATENCIES_US[0] <= measured <= LATENCIES_US[1]:
        raise UserError(f"{where}: measured_us is {measured:g}, but latencies are of 0.001 us to "
                        "40 hours; correct it")
    published = {name: _published(where, name, cells[name]) for name in _PUBLISHED
                 if cells.get(name)}
    kernel = str((folder / cells["kernel"]).resolve())
    try:
        arguments = tuple(shlex.split(cells["arguments"]))
    except ValueError as problem:
        raise UserError(f"{where}: arguments is {cells['arguments']!r}: {problem}; write words as "
                        "in a shell, those with spaces or brackets in quotes") from None
    for word in arguments:
        if _COMMA.search(word):
            raise UserError(f"{where}: arguments has a comma at {word!r}; write one argument for "
                            "each parameter with a blank between them, like bfloat16[128,512] "
                            "bfloat16[512,512] 4")
    return Row(id=cells["id"], family=cells["family"], kind=cells["class"],
               chip=short_name(cells["chip"]), measured_us=measured,
               method=cells["method"], dge=cells["dge"],
               trust=cells.get("trust", ""), shapes=cells.get("shapes", ""),
               dtype=cells.get("dtype", ""), note=cells.get("note", ""), published=published,
               own=(Part(kernel, arguments),))


def _number(where: str, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise UserError(f"{where}: {name} is {text!r}, which is no number; correct it") from None
    if not isfinite(value):
        raise UserError(f"{where}: {name} is {text!r}, which is not finite; correct it")
    return value


def _published(where: str, name: str, text: str) -> float:
    """A count, or a share in per cent."""
    value = _number(where, name, text)
    if name.endswith("_percent"):
        if not 0 <= value <= 100:
            raise UserError(f"{where}: {name} is {text}, but a share is 0 to 100 per cent; correct "
                            "it")
    elif value < 0 or not value.is_integer():
        raise UserError(f"{where}: {name} is {text}, but must be a whole number, 0 or more; "
                        "correct it")
    return value


def unique(rows: Iterable[Row], where: str) -> list[Row]:
    """The rows of a place as a list. UserError if two have the same id."""
    found = list(rows)
    twice = [name for name, count in Counter(row.id for row in found).items() if count > 1]
    if twice:
        raise UserError(f"{where}: row {twice[0]}: is there twice; an id names one measurement, "
                        "give one of them another")
    return found


def choose(rows: Iterable[Row], chip: str | None, family: str | None) -> list[Row]:
    """The rows of a chip and a family. UserError if there are none, with those there are."""
    every = list(rows)
    chip = None if chip is None else short_name(chip)
    for option, wanted, present in (("--chip", chip, {row.chip for row in every}),
                                    ("--family", family, {row.family for row in every})):
        if wanted is not None and wanted not in present:
            raise UserError(f"{option} {wanted}: nothing was measured for it; there is "
                            f"{', '.join(sorted(present))}")
    chosen = [row for row in every
              if chip in (None, row.chip) and family in (None, row.family)]
    if not chosen:
        raise UserError(f"--chip {chip} --family {family}: the family was not measured on that "
                        "chip; leave one of the two out")
    return chosen
