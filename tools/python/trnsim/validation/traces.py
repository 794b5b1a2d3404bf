# SPDX-License-Identifier: Apache-2.0
# Traces of the validated kernels, kept from one run to the next.
"""Cache.trace(launch, chip): the trace's file; made once for each content of everything it is from.

The cache is $TRNSIM_CACHE_DIR, else trnsim in $XDG_CACHE_HOME or ~/.cache; it may be deleted.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import trnsim
from trnsim.errors import FrontendError, ProgramError, UserError
from trnsim.frontend.chip import load_chip
from trnsim.validation.binding import Launch

CACHE_VARIABLE = "TRNSIM_CACHE_DIR"
FILE_VARIABLE = "TRNSIM_VALIDATION_FILE"
"""Tells a driver which file of the checkout its row was measured with."""
TIMEOUT_SECONDS = 900


def cache_folder() -> Path:
    """Where traces are kept."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen) / "traces"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "trnsim" / "traces"


class Cache:
    """A folder of traces, named after the hashes of what they were made from and of themselves.

    What a kernel reads is only known when it has been traced: `KEY-….files` lists it, relative to
    the folder of the kernel, and `KEY-CONTENTS-….nkt` is the trace for what these files contain.
    """

    def __init__(self) -> None:
        self.folder = cache_folder()

    def trace(self, launch: Launch, chip: str, settings: tuple[str, ...] = ()) -> Path:
        """The trace of a launch. UserError or ProgramError as the frontend ends."""
        key = _key(launch, chip, settings)
        home = Path(launch.target.partition("::")[0]).resolve().parent
        for listed in self.folder.glob(f"{key}-*.files"):
            contents = _contents(home, listed)
            for kept in self.folder.glob(f"{key}-{contents}-*.nkt"):
                if kept.name == _name(f"{key}-{contents}", kept):
                    return kept
                kept.unlink(missing_ok=True)  # It was damaged.
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="trnsim-", dir=self.folder) as folder:
            made, listed = Path(folder) / "made.nkt", Path(folder) / "made.files"
            _run_frontend(launch, chip, settings, made, listed)
            files = json.loads(listed.read_text(encoding="utf-8"))
            names = sorted({os.path.relpath(one, home) for one in files})
            listed.write_text(json.dumps(names), encoding="utf-8")
            contents = _contents(home, listed)
            listed.replace(self.folder / f"{key}-{_hash_of(*names)[:16]}.files")
            return made.replace(self.folder / _name(f"{key}-{contents}", made))


def _key(launch: Launch, chip: str, settings: tuple[str, ...]) -> str:
    """Changes with the frontend, what it knows of the chip, the kernel's name and arguments."""
    return _hash_of(_frontend_hash(), repr(load_chip(chip, settings)), Path(launch.target).name,
                    launch.file.name, *launch.arguments)[:32]


def _contents(home: Path, listed: Path) -> str:
    """Of all files in a list, relative to a folder; changes with their contents."""
    try:
        names = json.loads(listed.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "damaged"
    return _hash_of(*(_file_hash(home / name) for name in names))[:16]


def _name(key: str, trace: Path) -> str:
    """Of a file of the cache; it says what is in it."""
    return f"{key}-{hashlib.sha256(trace.read_bytes()).hexdigest()[:16]}.nkt"


def _run_frontend(launch: Launch, chip: str, settings: tuple[str, ...], output: Path,
                  read_files: Path) -> None:
    words = [sys.executable, "-P", "-m", "trnsim.frontend", launch.target, "--chip", chip,
             "--read-files", str(read_files), "-o", str(output)]
    words += [f"--set={setting}" for setting in settings]
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
    return _hash_of(*(f"{file.name} {_file_hash(file)}" for file in sorted(
        (Path(trnsim.__file__).resolve().parent / "frontend").rglob("*.py"))))


@cache
def _file_hash(file: Path) -> str:
    """Of the contents of a file, which does not change while rows are run; "" without one."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def _hash_of(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()
