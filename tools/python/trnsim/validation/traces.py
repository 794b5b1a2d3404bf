# SPDX-License-Identifier: Apache-2.0
# Traces of the validated kernels, kept from one run to the next.
"""Cache.trace(launch, chip): the trace's file; made once for each content of everything it is from.

The cache is $TRNSIM_CACHE_DIR, else trnsim in $XDG_CACHE_HOME or ~/.cache; it may be deleted.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from collections.abc import Iterable

import trnsim
from trnsim.errors import FrontendError, ProgramError, UserError
from trnsim.frontend.chip import load_chip
from trnsim.validation.binding import Launch

CACHE_VARIABLE = "TRNSIM_CACHE_DIR"
FILE_VARIABLE = "TRNSIM_VALIDATION_FILE"
"""Tells a driver which file of the checkout its row was measured with."""
TIMEOUT_SECONDS = 900
_IMPORT = re.compile(r"^\s*(?:from|import)\s+\.?(\w+)", re.MULTILINE)


def cache_folder() -> Path:
    """Where traces are kept."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen) / "traces"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "trnsim" / "traces"


class Cache:
    """A folder of traces, named after the hashes of what they were made from and of themselves."""

    def __init__(self) -> None:
        self.folder = cache_folder()

    def key(self, launch: Launch, chip: str) -> str:
        """Changes with the frontend, what it knows of the chip, and the kernel with its imports."""
        parts = [_frontend_hash(), repr(load_chip(chip)), Path(launch.target).name,
                 *launch.arguments, _module_hash(launch.file)]
        if launch.is_driver:
            parts.append(_module_hash(Path(launch.target)))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    def trace(self, launch: Launch, chip: str) -> Path:
        """The trace of a launch. UserError or ProgramError as the frontend ends."""
        key = self.key(launch, chip)
        for kept in self.folder.glob(f"{key}-*.nkt"):
            if kept.name == _name(key, kept):
                return kept
            kept.unlink(missing_ok=True)  # It was damaged.
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="trnsim-", dir=self.folder) as folder:
            made = Path(folder) / "made.nkt"
            _run_frontend(launch, chip, made)
            return made.replace(self.folder / _name(key, made))


def _name(key: str, trace: Path) -> str:
    """Of a file of the cache; it says what is in it."""
    return f"{key}-{hashlib.sha256(trace.read_bytes()).hexdigest()[:16]}.nkt"


def _run_frontend(launch: Launch, chip: str, output: Path) -> None:
    words = [sys.executable, "-P", "-m", "trnsim.frontend", launch.target, "--chip", chip, "-o",
             str(output)]
    if launch.is_driver:
        words += ["--", *launch.arguments]
    else:
        words += [f"--arg={value}" for value in launch.arguments]
    path = os.pathsep.join([str(Path(trnsim.__file__).resolve().parents[1]),
                            *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, FILE_VARIABLE: str(launch.file),
                   "PYTHONHASHSEED": "0"}
    try:
        ended = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, check=False,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        raise UserError(f"{launch.target}: is not traced after {TIMEOUT_SECONDS} s; leave the row "
                        "out") from None
    if ended.returncode == 0:
        return
    said = ended.stderr.decode(errors="replace").strip()
    kind = {2: UserError, 3: ProgramError}.get(ended.returncode, FrontendError)
    raise kind(said or f"{launch.target}: the frontend ended with status {ended.returncode}")


@cache
def _frontend_hash() -> str:
    return _hash(sorted((Path(trnsim.__file__).resolve().parent / "frontend").rglob("*.py")))


@cache
def _module_hash(file: Path) -> str:
    """Of a Python file and of the files beside it that it imports."""
    found = [file]
    for one in found:
        if one.is_file():
            names = _IMPORT.findall(one.read_text(encoding="utf-8", errors="replace"))
            beside = (one.parent / f"{name}.py" for name in names)
            found += [other for other in beside if other.is_file() and other not in found]
    return _hash(one for one in found if one.is_file())


def _hash(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
