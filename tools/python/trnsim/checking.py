# SPDX-License-Identifier: Apache-2.0
# What the Python API refuses before it does anything.
"""require_…: UserErrors in the words of the API for what its parameters cannot be."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import Any
from collections.abc import Iterator, Mapping, Sequence

from trnsim.errors import FrontendError, UserError
from trnsim.frontend.chip import file_of

CHIPS = ("trn1", "inf2", "trn2", "trn3")
METHODS = ("profiler", "benchmark")
_OPTION = re.compile(r"--(set|policy|assume|cores|method|timeline|instructions)\b")
_PARAMETERS = {"set": "settings:", "policy": "policies:", "assume": "trip_counts:"}
"""Parameters with other names than their options."""


def require_chip(chip: Any) -> str:
    """The name of a chip or the path of its file."""
    if not isinstance(chip, (str, Path)) or not str(chip):
        raise UserError(f"chip is {chip!r}, but a chip's name or the path of a chip file is "
                        f"needed; name one, like {CHIPS[2]!r}")
    return str(chip)


def require_chips(chips: Any) -> list[str]:
    """The names of different chips."""
    if isinstance(chips, (str, Path)) or not isinstance(chips, Sequence) or not chips:
        raise UserError(f"chips is {chips!r}, but a list of chips is needed; name some, like "
                        f"{list(CHIPS[2:])}")
    names = [require_chip(each) for each in chips]
    seen: dict[str, str] = {}
    for chip in names:
        try:
            file = str(file_of(chip))
        except UserError:  # Whoever simulates it says so.
            file = chip
        if file in seen:
            raise UserError(f"chips: {seen[file]} and {chip} are the same chip; remove one")
        seen[file] = chip
    return names


def require_files(kernel: Any, **paths: Any) -> None:
    """Paths of files to write, or None: `-` is standard output on the command line only, and that
    of a kernel would be lost."""
    source = str(kernel).partition("::")[0] if isinstance(kernel, (str, Path)) else ""
    for name, path in paths.items():
        if path is None:
            continue
        if not isinstance(path, (str, os.PathLike)) or str(path) in ("", "-"):
            raise UserError(f"{name} is {path!r}, but the path of a file to write is needed; name "
                            "one, or leave it out")
        if source and Path(path).resolve() == Path(source).resolve():
            raise UserError(f"{name} is {path!r}, which would overwrite {kernel}; name another "
                            "file")


def require_launch(cores: Any, method: Any) -> None:
    """A number of NeuronCores, or None, and a method of measurement."""
    is_number = isinstance(cores, Integral) and not isinstance(cores, bool)
    if cores is not None and (not is_number or cores < 1):
        raise UserError(f"cores is {cores!r}, but a kernel runs on 1 NeuronCore at least; give a "
                        "number, or leave it out for one copy")
    if method not in METHODS:
        raise UserError(f"method is {method!r}, allowed are {' and '.join(map(repr, METHODS))}; "
                        "use one of them")


def require_flags(**flags: Any) -> None:
    """Truth values: a text like "no" would be true."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise UserError(f"{name} is {flag!r}, but True or False is needed; give one of them")


def require_trip_counts(counts: Any) -> None:
    """Numbers of iterations by the names of registers, or None."""
    if counts is None:
        return
    if not isinstance(counts, Mapping):
        raise UserError(f"trip_counts is {counts!r}, but a dict is needed; write {{register: "
                        "count}")
    for name, count in counts.items():
        if not isinstance(count, Integral) or isinstance(count, bool) or count < 0:
            raise UserError(f"trip_counts: the loop over register {name!r} runs {count!r} times, "
                            "but a number of times is needed; give one")


@contextmanager
def in_python_words() -> Iterator[None]:
    """Errors of the simulator's options by the names that they have here."""
    try:
        yield
    except FrontendError as problem:
        words = str(problem)
        if not words.startswith("--"):
            raise
        first, colon, rest = words.partition(": ")
        named = _OPTION.sub(lambda found: _PARAMETERS.get(found[1], found[1]), first)
        raise type(problem)(named + colon + rest) from None
