# SPDX-License-Identifier: Apache-2.0
# How many instances of each buffer an iteration of a loop makes.
"""Instances that iterations make, and whether those to come make as many.

An instance is numbered at its first access. That of a tile made in the iteration is one of its
nodes, so that equal iterations make as many; that of an older tile is not: its `alloc` stands
before the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from trnsim.frontend.folding import LoopShape
from trnsim.frontend.recorder import Recorder
from trnsim.frontend.tensor import Buffer


Growth = tuple[list[int], list[int]]
"""The instances of all buffers before and after an iteration."""


def instance_steps(active: Recorder, shapes: Sequence[int], first: list[int], second: list[int],
                   third: list[int]) -> list[int] | None:
    """Instances that each buffer got in the last iteration, if those to come are like it.

    `shapes` are its nodes, and the lists the instances of all buffers before and after the last
    two iterations. None if the one before was another, unless all come from its nodes.
    """
    if not len(first) <= len(second) == len(third):
        return None
    steps = [after - before for before, after in zip(second, third)]
    earlier = [after - before for before, after in zip(first, second)]
    if steps[:len(earlier)] == earlier or len(first) < len(second):
        return steps
    return steps if steps == allocated(active, shapes) else None


def adds(before: list[int], after: list[int], instances: list[int]) -> bool:
    """Whether each buffer got as many instances between two marks; none for those left out."""
    steps = [value - (before[at] if at < len(before) else 0) for at, value in enumerate(after)]
    known = len(instances)
    return steps[:known] == instances and not any(steps[known:])


def adds_alike(known: Growth, latest: Growth) -> bool:
    """Whether an iteration made as many instances of each buffer as another one."""
    return _difference(*known) == _difference(*latest)


def _difference(before: list[int], after: list[int]) -> list[int]:
    """The instances of each buffer between two marks, without buffers at the end that got none."""
    steps = [value - (before[at] if at < len(before) else 0) for at, value in enumerate(after)]
    while steps and not steps[-1]:
        steps.pop()
    return steps


def allocated(active: Recorder, shapes: Sequence[int]) -> list[int]:
    """Instances of each buffer that nodes make."""
    counts = [0] * len(active.buffers)
    _count(active, shapes, 1, counts)
    return counts


def _count(active: Recorder, shapes: Sequence[int], times: int, counts: list[int]) -> None:
    for shape in shapes:
        entry = active.table.entries[shape]
        if isinstance(entry, LoopShape):
            _count(active, entry.body, times * entry.trips, counts)
        elif isinstance(entry, Buffer):
            counts[entry.identifier] += times
