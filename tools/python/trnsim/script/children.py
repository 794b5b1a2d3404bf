# SPDX-License-Identifier: Apache-2.0
# The other processes of a script, and its other threads.
"""Elsewhere: counts the kernel calls that they make. What Python waits for when the script ends.

follow(): kernels are known in processes that multiprocessing starts with `spawn` or `forkserver`,
as they are in forks.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.forkserver
import multiprocessing.spawn
import os
import runpy
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from trnsim.frontend.host.impersonate import KERNEL_NAMES, install, prepare_libraries


class Elsewhere:
    """How many kernel calls other processes make than the one that made this: a byte of a file for
    each. It can be pickled.

    The file has no name, so that none is left however the process ends; others open it as one that
    this process has open.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._file: IO[bytes] | None = tempfile.TemporaryFile()
        self._path = f"/proc/{self._process}/fd/{self._file.fileno()}"
        self._identity = _identity(os.fstat(self._file.fileno()))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_file": None}

    @property
    def calls(self) -> int:
        """So far."""
        with suppress(OSError):
            found = os.stat(self._path)
            return found.st_size if _identity(found) == self._identity else 0
        return 0

    def count(self) -> None:
        """A call of this process."""
        if not self.is_here:
            return
        with suppress(OSError):  # The report has been made, or the script has closed all files.
            if _identity(os.stat(self._path)) == self._identity:
                file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
                os.write(file, b".")
                os.close(file)

    @property
    def is_here(self) -> bool:
        """Whether this is such another process."""
        return os.getpid() != self._process

    def close(self) -> None:
        """Drops the file, in the process that made it."""
        if self._file is not None and not self.is_here:
            with suppress(OSError):
                if _identity(os.fstat(self._file.fileno())) == self._identity:
                    self._file.close()


def _identity(file: os.stat_result) -> tuple[int, int]:
    return file.st_dev, file.st_ino


def await_children() -> None:
    """Waits for the processes that multiprocessing would wait for at the end of the script."""
    for child in multiprocessing.active_children():
        if not child.daemon:
            child.join()


def await_threads() -> None:
    """Waits for what Python waits for at the end of the script: its threads, also those of pools.
    """
    for end_pool in reversed(getattr(threading, "_threading_atexits", [])):
        end_pool()
    ended = {threading.current_thread()}
    while waited := [one for one in threading.enumerate() if not one.daemon and one not in ended]:
        for one in waited:
            one.join()
        ended.update(waited)


class _Beginning:
    """What a new process calls when it reads this, before it imports the script."""

    def __init__(self, begin: Callable[..., None], *arguments: Any) -> None:
        self._begin = begin
        self._arguments = arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self._begin, self._arguments


def follow(begin: Callable[..., None], *arguments: Any) -> None:
    """Has new processes call `begin(*arguments)` first, which they can import."""
    inner = multiprocessing.spawn.get_preparation_data

    def prepared(name: str) -> dict[str, Any]:
        """What a new process is told; it leaves keys alone that it does not know."""
        return {"trnsim": _Beginning(begin, *arguments), **inner(name)}

    multiprocessing.spawn.get_preparation_data = prepared
    multiprocessing.forkserver.set_forkserver_preload([])  # It would import the script too early.


def know_kernels() -> None:
    """Has a new process import the script as run_script executes it."""
    install()
    prepare_libraries()
    run_path = runpy.run_path

    def run_script(path_name: str, init_globals: dict[str, Any] | None = None,
                   run_name: str | None = None) -> dict[str, Any]:
        """The first file that is run is the script."""
        runpy.run_path = run_path
        return run_path(path_name, {**KERNEL_NAMES, **(init_globals or {})}, run_name)

    runpy.run_path = run_script
