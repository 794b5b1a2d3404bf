# SPDX-License-Identifier: Apache-2.0
# How the commands of this package end.
"""end_with(main): what `python3 -m` of a module of ours does."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import NoReturn

from trnsim.interpreter import NEEDED, missing


def end_with(main: Callable[[], int]) -> NoReturn:
    """Ends the process with the status that `main` returns; when interrupted, or when nobody
    reads its output, as a program that the signal ends, without a stack of ours; with status 2
    where a file or the output cannot be read or written, or a package is missing. Kernels may
    import what is in the current folder, after all else: nothing in it replaces a module of
    Python's (PYTHONSAFEPATH, which what they start does not get)."""
    if os.environ.get("PYTHONSAFEPATH") == "trnsim":
        del os.environ["PYTHONSAFEPATH"]
    with suppress(FileNotFoundError):  # It may have been removed.
        sys.path.append(os.getcwd())
    try:
        status = main()
        flush_output()
        sys.exit(status)
    except KeyboardInterrupt:
        _end_by(signal.SIGINT)
        raise
    except BrokenPipeError:
        _end_by(signal.SIGPIPE)
        raise
    except ModuleNotFoundError as problem:
        if problem.name not in NEEDED:
            raise
        print(missing(problem.name), file=sys.stderr)
        sys.exit(2)
    except OSError as problem:
        where = f"{os.fsdecode(problem.filename)}: " if problem.filename is not None else ""
        if not where and not _has_directory():
            where = "the current directory: "
        print(f"{where}{problem.strerror or problem}; choose a place that can be read and written, "
              "and has room", file=sys.stderr)
        _drop_output()
        sys.exit(2)


def _end_by(number: signal.Signals) -> None:
    """Ends the process as one that a signal ends."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _tell(kind: type[BaseException], problem: BaseException, at: TracebackType | None) -> None:
    """What Python does about an exception that nobody has caught."""
    if issubclass(kind, KeyboardInterrupt):  # While the command's modules are imported.
        _end_by(signal.SIGINT)
    sys.__excepthook__(kind, problem, at)


sys.excepthook = _tell


def flush_output() -> None:
    """Writes what is printed, unless a script has closed its standard output."""
    for stream in (sys.stdout, sys.__stdout__):
        with suppress(AttributeError, ValueError), naming_output():
            stream.flush()  # type: ignore[union-attr]


@contextmanager
def naming_output() -> Iterator[None]:
    """What cannot be written inside is told to be for standard output, as files are named."""
    try:
        yield
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, "standard output") from problem


def _has_directory() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _drop_output() -> None:
    """Lets the interpreter end without a word about output that it cannot write."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
