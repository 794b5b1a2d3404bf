# SPDX-License-Identifier: Apache-2.0
# What an iteration of a loop adds to the state of the recorder.
"""Differences between marks are what iterations add; equal ones let those that follow be left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from trnsim.frontend.recorder import Recorder
from trnsim.frontend.records.folding import Folder


class Mark:
    """The state between two iterations of a loop; the differences of three marks are two steps."""

    __slots__ = ("instances", "pieces", "run")

    def __init__(self, active: Recorder, folder: Folder) -> None:
        self.run = folder.count
        self.pieces = len(folder.pieces)
        self.instances = [buffer.instances for buffer in active.buffers]


def are_one_run(marks: Sequence[Mark]) -> bool:
    """Whether the iterations between three marks are one run of the folder, or recorded nothing."""
    first, second, third = ((mark.run, mark.pieces) for mark in marks)
    if third[0] == second[0] + 1:
        return third[0] >= 2 and third[1] == second[1]
    return first == second == third


def leave_out(active: Recorder, folder: Folder, count: int, deltas: list[int] | None,
              instances: Sequence[int]) -> None:
    """Adds `count` iterations, each of which adds `deltas` to the values of its nodes (None if it
    has no nodes) and `instances` to those of the buffers."""
    if deltas is not None:
        folder.deltas = deltas
        folder.repeat(count)
    for buffer, step in zip(active.buffers, instances):
        buffer.instances += step * count
