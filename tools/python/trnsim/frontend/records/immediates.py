# SPDX-License-Identifier: Apache-2.0
# Numbers in instructions that may count the iterations of loops.
"""The constants that `memset` writes: the one operation whose template has a number of the program.

A whole number is no part of the instruction's shape, which would have to be another one in each
iteration of a loop that counts it, but of its value, as the positions of its operands are
(recorder.py): behind that of the last operand. The writer tells what stays from what moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign
from typing import Any

from trnsim.frontend.loop_index import LoopIndex
from trnsim.frontend.records.tensor import OPERAND_BITS, View

LARGEST = 1 << 48
"""That of the integers that a run may have (docs/trace-format.md, section 2)."""


def separate(attributes: dict[str, Any],
             operands: Sequence[tuple[str, str, View]]) -> tuple[dict[str, Any], int]:
    """The attributes of a memset with `int` or `float` for a whole number, and that number.

    Other numbers stay as they are: what is not 0 in a packed type is an error, so that all of them
    are looked at.
    """
    value = attributes["value"]
    if operands[0][2].form.dtype.is_packed:
        return attributes, 0
    if type(value) is LoopIndex:
        value = value.value
    is_whole = isinstance(value, int) or (
        type(value) is float and value.is_integer() and (value != 0.0 or copysign(1.0, value) > 0))
    if not is_whole or abs(value) > LARGEST:
        return attributes, 0
    return {"value": float if type(value) is float else int}, int(value)


def number_in(value: int, operands: int) -> int:
    """The number behind the positions of so many operands; each may be negative."""
    shift = operands * OPERAND_BITS
    return (value + (1 << shift >> 1)) >> shift
