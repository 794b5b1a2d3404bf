# SPDX-License-Identifier: Apache-2.0
# Rules for parameters that are no operands and no attributes of the trace.
"""What operators, immediates and commands an instruction takes together. [NKI-ISA]"""

from __future__ import annotations

from typing import Any

from trnsim.frontend import source
from trnsim.frontend.errors import IllegalInstruction
from trnsim.frontend.operators import UNARY
from trnsim.frontend.tensor import View

_ALONE = frozenset((*UNARY, "invert", "logical_not", "bypass"))
"""Operators that take no second operand."""


def check_second(op1: Any, operand1: Any) -> None:
    """op1 and operand1 of a tensor_scalar are given both or neither; a unary op1 stands alone."""
    if op1 is None:
        raise _refused("tensor_scalar", "operand1 is given, but op1 is not; give both or neither")
    if operand1 is None and op1 not in _ALONE:
        raise _refused("tensor_scalar", f"op1 is {op1}, but operand1 is not given; give both or "
                                        "neither")


def check_unary(op: str, op0: str, operand0: Any) -> None:
    """The operand of a unary op0 is None or 0."""
    if isinstance(operand0, View):
        raise _refused(op, f"operand0 is a tensor, but {op0} takes one operand; pass 0")
    if isinstance(operand0, (int, float)) and operand0 != 0:
        raise _refused(op, f"operand0 is {operand0}, but {op0} takes one operand; pass 0")


def _refused(op: str, what: str) -> IllegalInstruction:
    return IllegalInstruction(f"{source.here()}: {op}: {what}")
