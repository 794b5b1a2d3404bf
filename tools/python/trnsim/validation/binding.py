# SPDX-License-Identifier: Apache-2.0
# Which program stands for a row on this machine.
"""bind(row, places): the original kernel in a checkout, else an own one, else why there is none."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from collections.abc import Iterable

from trnsim.binary import find_binary, share_folders
from trnsim.errors import UserError
from trnsim.validation.rows import Part, Row

ROWS = Path("tests") / "validation" / "rows"
DRIVERS = Path("tests") / "validation" / "drivers"
KERNELS = Path("examples") / "kernels"


@dataclass(frozen=True)
class Launch:
    """One launch that can be traced: a kernel with arguments, or a driver with words."""

    target: str
    """As `python3 -m trnsim.frontend` takes it: file.py::function or a script."""
    arguments: tuple[str, ...]
    file: Path
    """The kernel's file, which a driver reads."""
    is_driver: bool


@dataclass(frozen=True)
class Binding:
    """How a row is run: `way` is "original", "own" or "", for which `reason` says why."""

    way: str
    launches: tuple[Launch, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Places:
    """Where things are: the source tree or installation, and the user's checkouts."""

    root: Path
    corpus: Path | None = None

    @classmethod
    def find(cls, corpus: str | None) -> Places:
        """UserError if there are no measurements, or `corpus` is no folder."""
        folder = Path(corpus).resolve() if corpus is not None else None
        if folder is not None and not folder.is_dir():
            raise UserError(f"--corpus {corpus}: is not a folder; name one that holds checkouts "
                            "called owner+repo")
        return cls(data_root(), folder)


def data_root() -> Path:
    """The folder that holds tests/validation: that of the package, else that of the simulator."""
    package = Path(__file__).resolve().parents[1]
    candidates = [*package.parents[:3], *share_folders(find_binary())]
    for folder in candidates:
        if (folder / ROWS).is_dir():
            return folder
    raise UserError(f"trnsim validate: {ROWS} is neither in {package.parents[1]} nor beside the "
                    "simulator; install trnsim with `cmake --install`, or run it in a source tree")


def bind(row: Row, places: Places) -> Binding:
    """How `row` is run here."""
    checkout = places.corpus / row.checkout if places.corpus and row.checkout else None
    if row.corpus and checkout is not None and checkout.is_dir():
        file = checkout / row.source["file"]
        if file.is_file():
            return Binding("original",
                           tuple(_original(part, checkout, file, places) for part in row.corpus))
    if row.own:
        return Binding("own", tuple(_own(part, places) for part in row.own))
    return Binding("", reason=_reason(row, places, checkout))


def _original(part: Part, checkout: Path, file: Path, places: Places) -> Launch:
    if part.is_driver:
        return Launch(str(places.root / DRIVERS / part.kernel), part.arguments, file, True)
    return Launch(str(checkout / part.kernel), part.arguments, file, False)


def _own(part: Part, places: Places) -> Launch:
    target = places.root / KERNELS / part.kernel
    return Launch(str(target), part.arguments, Path(str(target).rpartition("::")[0]), False)


def _reason(row: Row, places: Places, checkout: Path | None) -> str:
    if not row.corpus:
        return "no kernel for it yet"
    if places.corpus is None:
        return f"needs --corpus with a checkout of {row.source['repository']}"
    if checkout is not None and checkout.is_dir():
        return f"{row.source['repository']} has no {row.source['file']} at the checkout's commit"
    return f"no {row.checkout} in {places.corpus}"


def check_corpus(rows: Iterable[Row], places: Places) -> list[str]:
    """Notes on checkouts at another commit. UserError if there is no checkout of any row."""
    if places.corpus is None:
        return []
    named = {row.checkout: row.source for row in rows if row.corpus and row.checkout}
    present = [name for name in named if (places.corpus / name).is_dir()]
    if named and not present:
        raise UserError(f"--corpus {places.corpus}: has none of the checkouts of the chosen rows: "
                        f"{', '.join(sorted(named))}; clone them there under these names")
    notes = []
    for name in present:
        commit = _commit(places.corpus / name)
        if commit and commit != named[name]["commit"]:
            notes.append(f"{name} is at {commit[:12]}, its rows were measured at "
                         f"{named[name]['commit'][:12]}")
    return notes


def _commit(checkout: Path) -> str:
    """The commit of a checkout, "" if it cannot be told."""
    try:
        told = subprocess.run(["git", "-C", str(checkout), "-c", "safe.directory=*", "rev-parse",
                               "HEAD"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return told.stdout.strip() if told.returncode == 0 else ""
