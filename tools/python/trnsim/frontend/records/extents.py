# SPDX-License-Identifier: Apache-2.0
# How far the tiles of a site with fixed addresses reach, in all iterations.
"""The memory of a site spans the tiles of every iteration, of which a trace executes some.

A nest may end with an iteration that no loop has executed: the last of an inner loop in the last of
an outer one. What the folded program says of it widens the extents (see sites.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trnsim.frontend.records.folding import LoopShape, ShapeTable
from trnsim.frontend.records.tensor import Form, split_operand

_Loops = list[tuple[int, list[int]]]
"""Of each open loop: its last iteration, and how far one moves the values."""


def widen(table: ShapeTable, shapes: Iterable[int], values: list[int],
          loops: _Loops | None = None) -> None:
    """Adds the places of all iterations to the extents of the sites that the nodes use."""
    loops, place = loops or [], 0
    for shape in shapes:
        entry, end = table.entries[shape], place + table.arity[shape]
        around = [(last, deltas[place:end]) for last, deltas in loops]
        if isinstance(entry, LoopShape):
            widen(table, entry.body, values[place:end],
                  [*around, (entry.trips - 1, list(entry.deltas))])
        elif end > place:
            _widen_by(entry.operands, values[place], [(last, step) for last, (step,) in around])
        place = end


def _widen_by(operands: Iterable[tuple[str, str, Form, Any]], value: int,
              loops: list[tuple[int, int]]) -> None:
    """One instruction."""
    for _, _, form, _ in operands:
        _, _, first, value = split_operand(value)
        lowest = highest = first
        rest = []
        for last, delta in loops:
            _, _, step, delta = split_operand(delta)
            lowest += min(0, last * step)
            highest += max(0, last * step)
            rest.append((last, delta))
        loops = rest
        extent = form.buffer.extent
        if extent is not None:
            extent.add(lowest)
            extent.add(highest)
