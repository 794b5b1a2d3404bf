# SPDX-License-Identifier: Apache-2.0
# What a kernel is made from.
"""ReadFiles: the user's modules that are imported, and the files that their code opens.

The source of a module is always opened: the finder looks for nki in it (impersonate.py).
"""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

from trnsim.frontend.host.own import is_own, is_own_file

_OF_THE_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/")


class ReadFiles:
    """From when it is made; Python tells of every file that it opens, for as long as it runs."""

    def __init__(self) -> None:
        self._paths: dict[str, None] = {}
        sys.addaudithook(self._hear)

    def paths(self) -> list[str]:
        """Those that are there, in the order in which they were first opened."""
        return [path for path in self._paths
                if is_own_file(path) and not path.startswith(_OF_THE_SYSTEM)
                and os.path.isfile(path)]

    def _hear(self, event: str, details: tuple[Any, ...]) -> None:
        if event != "open":
            return
        path, _, flags = details
        is_written = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
        if is_written or not isinstance(path, (str, bytes, os.PathLike)):
            return
        name = os.path.abspath(os.fsdecode(path))
        if name.endswith(".py") or (not name.endswith(".pyc") and _is_opened_by_user()):
            self._paths.setdefault(name)


def _is_opened_by_user() -> bool:
    """Whether code of the user's is at work; trnsim opens files of its own."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and not is_own(frame.f_code):
        frame = frame.f_back
    return frame is not None
