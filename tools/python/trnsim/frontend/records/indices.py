# SPDX-License-Identifier: Apache-2.0
# How a trace says which operand holds the indices of another one.
"""The key `indirect` of operands (docs/trace-format.md, section 4)."""

from __future__ import annotations

from collections.abc import Sequence

from trnsim.errors import ProgramError
from trnsim.frontend import source
from trnsim.frontend.records.tensor import View

Reference = str | int | None


def references(operands: Sequence[tuple[str, str, View]]) -> Sequence[Reference]:
    """For each operand the one that holds its indices; None if it has none.

    By its role where all go by the same, by its number where they go by different ones.
    ProgramError if the instruction lacks it.
    """
    numbers = [_number(view, operands) for _, _, view in operands]
    used = {number for number in numbers if number is not None}
    if len(used) == 1:
        role = operands[used.pop()][0]
        last = max(number for number, operand in enumerate(operands) if operand[0] == role)
        if last in numbers:
            return [None if number is None else role for number in numbers]
    return numbers


def kinds(operands: Sequence[tuple[str, str, View]]) -> Sequence[str]:
    """What the indices of those operands that have some mean, which rules depend on."""
    return [view.indirection.kind for _, _, view in operands if isinstance(view.indices, View)]


def _number(view: View, operands: Sequence[tuple[str, str, View]]) -> int | None:
    """Which operand holds the indices of a view."""
    if not isinstance(view.indices, View):
        return None
    for number, (_, _, other) in enumerate(operands):
        if other is view.indices:
            return number
    raise ProgramError(f"{source.here()}: the view of {view.name!r} is indexed by "
                       f"{view.indices.name!r}, which is not an operand of the instruction")
