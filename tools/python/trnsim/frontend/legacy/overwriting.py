# SPDX-License-Identifier: Apache-2.0
# Iterations that AWS's compiler runs in any order, and that write to one place.
"""Warns of what AWS documents as an error, unexpected output dependencies.

The iterations of an `nl.affine_range`, and the programs of a launch grid, are independent of each
other: none writes where another one does. Accumulation into one place is no such write.
[NKI-ERRORS-2.26, err_unexpected_output_dependencies]
"""

from __future__ import annotations

from collections.abc import Iterable

from trnsim.frontend.recorder import Recorder
from trnsim.frontend.records.folding import LoopShape, ShapeTable
from trnsim.frontend.records.frame import LoopOrigin
from trnsim.frontend.records.template import Template
from trnsim.frontend.records.tensor import split_operand

_Loops = list[tuple[LoopOrigin, list[int]]]
"""The independent loops around a node, outermost first, and how far an iteration moves its values.
"""


def warn_of_overwriting(active: Recorder) -> None:
    """One warning for each line of a finished program that writes so."""
    _visit(active, active.table, active.program.shapes, [])


def _visit(active: Recorder, table: ShapeTable, shapes: Iterable[int], loops: _Loops) -> None:
    place = 0
    for shape in shapes:
        entry, end = table.entries[shape], place + table.arity[shape]
        around = [(origin, deltas[place:end]) for origin, deltas in loops]
        if isinstance(entry, LoopShape):
            own = [(entry.origin, list(entry.deltas))] if _is_independent(entry) else []
            _visit(active, table, entry.body, [*around, *own])
        elif end > place and around:
            _check(active, entry, [(origin, step) for origin, (step,) in around])
        place = end


def _is_independent(loop: LoopShape) -> bool:
    return loop.trips > 1 and loop.origin.kind == "affine"


def _check(active: Recorder, template: Template, loops: list[tuple[LoopOrigin, int]]) -> None:
    """One instruction, and how far the iterations of each loop move its operands."""
    if not template.operands:
        return
    _, access, form, reference = template.operands[0]
    if access != "write" or reference is not None or form.buffer.extent is not None or any(
            other.buffer is form.buffer for _, _, other, _ in template.operands[1:]):
        return
    for origin, step in loops:
        if not any(split_operand(step)[:3]):
            what = (f"programs along axis {origin.name[len('program_'):]} of the grid"
                    if origin.name.startswith("program_") else
                    f"iterations of nl.affine_range ({origin.name!r})")
            active.note("warning", f"all {what} write to one place in "
                                   f"{form.buffer.name!r}, which AWS documents as an error: index "
                                   "the destination by them, or use nl.sequential_range",
                        template.position)
            return
