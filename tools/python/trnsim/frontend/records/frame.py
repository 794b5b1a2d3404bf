# SPDX-License-Identifier: Apache-2.0
# The loops that are being executed, and what a loop record says of each.
"""Frames: the stack of open loops of a traced program."""

from __future__ import annotations

from typing import NamedTuple

from trnsim.frontend import source
from trnsim.frontend.records.folding import Folder


class LoopOrigin(NamedTuple):
    """What a loop record says besides its count."""

    name: str
    kind: str
    position: source.Position
    is_in_order: bool = False
    """Whether its instructions keep their order on each queue."""


RUNTIME = "runtime"
"""The kind of loops whose bounds or conditions are in registers."""
UNMARKED = LoopOrigin("i", "python", source.UNKNOWN)
IN_ORDER = LoopOrigin("in_order", "python", source.UNKNOWN, is_in_order=True)


class Frame:
    """A loop that is being executed, or the program itself. Identity is the loop's token.

    The program and loops of one iteration have no folder. `varies` says whether a loop of the run
    time is in it, whose iterations may be more or fewer each time.
    """

    __slots__ = ("folder", "parent", "shapes", "values", "is_open", "opened", "varies")

    def __init__(self, folder: Folder | None, parent: Frame | None, opened: int) -> None:
        self.folder = folder
        self.parent = parent
        self.shapes: list[int] = []
        self.values: list[int] = []
        self.is_open = True
        self.varies = False
        self.opened = opened
