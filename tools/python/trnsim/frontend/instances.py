# SPDX-License-Identifier: Apache-2.0
# How many instances of each buffer an iteration of a loop makes.
"""Instances that iterations make, and whether those to come make as many.

An instance is numbered at its first access. That of a tile made in the iteration is one of its
nodes, so that equal iterations make as many; that of an older tile is not: its `alloc` stands
before the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from trnsim.frontend.recorder import Recorder
from trnsim.frontend.records.folding import LoopShape, moved
from trnsim.frontend.records.template import Template
from trnsim.frontend.records.tensor import INSTANCE_SHIFT, OPERAND_BITS, Buffer, split_operand


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


def renewed(active: Recorder, shapes: Sequence[int], values: Sequence[int], before: list[int],
            steps: list[int]) -> list[int] | None:
    """The distances of the values of an iteration's nodes to those of the next one, if that does
    the same with instances of its own.

    `before` are the instances of all buffers before it, `steps` those that it has made. None if
    loops in it go from instances that are older to those.
    """
    table = active.table
    deltas: list[int] = []
    place = 0
    for shape in shapes:
        entry = table.entries[shape]
        own = values[place:place + table.arity[shape]]
        place += len(own)
        if isinstance(entry, LoopShape):
            first, last = (renewed(active, entry.body, ends, before, steps)
                           for ends in (own, moved(own, entry.deltas, entry.trips - 1)))
            if first is None or first != last:
                return None
            deltas += first
        elif isinstance(entry, Template):
            deltas.append(_renewed(entry, own[0], before, steps))
    return deltas


def _renewed(entry: Template, value: int, before: list[int], steps: list[int]) -> int:
    """The distance of an instruction's value."""
    delta = 0
    for number, (_, _, form, _) in enumerate(entry.operands):
        buffer = form.buffer
        _, _, instance, value = split_operand(value)
        at = buffer.identifier
        is_new = buffer.extent is None and (at >= len(before) or instance >= before[at])
        if is_new:
            delta += steps[at] << number * OPERAND_BITS + INSTANCE_SHIFT
    return delta
