# SPDX-License-Identifier: Apache-2.0
# Rules for parameters that are no operands and no attributes of the trace.
"""What operators, immediates and commands an instruction takes together. [NKI-ISA]"""

from __future__ import annotations

from typing import Any

from trnsim.frontend import source
from trnsim.frontend.errors import IllegalInstruction
from trnsim.frontend.operators import UNARY, operator_name
from trnsim.frontend.tensor import View

_ALONE = frozenset((*UNARY, "invert", "logical_not", "bypass"))
"""Operators that take no second operand."""

_REGISTER_COMMANDS = {
    "activation": ("idle", "reset", "reduce", "reset_reduce"),
    "activate2": ("idle", "reset", "reduce", "reset_reduce"),
    "range_select": ("idle", "reset", "reduce", "reset_reduce"),
    "select_reduce": ("idle", "reduce", "reset_reduce"),
    "tensor_scalar_reduce": ("reduce", "reset_reduce", "load_reduce"),
    "tensor_scalar_cumulative": ("reduce", "reset_reduce", "load_reduce"),
}
"""Members of reduce_cmd that an instruction takes; without a value to load, none loads."""
FLOAT32_MIN = -(2.0 ** 128 - 2.0 ** 104)
"""The least float32, which range_select fills with."""


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


def check_command(op: str, command: Any) -> None:
    """reduce_cmd is one that the instruction takes."""
    name = getattr(command, "name", command)
    allowed = _REGISTER_COMMANDS[op]
    if name not in allowed:
        raise _refused(op, f"reduce_cmd is {name}, but must be one of {', '.join(allowed)}")


def check_accumulation(op: str, command: Any, initial: tuple[str, Any]) -> None:
    """What a tensor_scalar that accumulates begins with: `initial`, a name and its value."""
    check_command(op, command)
    parameter, value = initial
    if value is None and getattr(command, "name", command) == "load_reduce":
        raise _refused(op, f"reduce_cmd is load_reduce, but {parameter} is not given; give what "
                           "is loaded")


def check_range(reduce_op: Any, on_false_value: Any) -> None:
    """range_select fills with the least float32, and keeps the maximum."""
    check_maximum("range_select", reduce_op)
    if on_false_value is not None and on_false_value is not Ellipsis and (
            isinstance(on_false_value, View)
            or not abs(float(on_false_value) / FLOAT32_MIN - 1.0) < 2.0 ** -25):
        what = "a tensor" if isinstance(on_false_value, View) else on_false_value
        raise _refused("range_select", f"on_false_value is {what}, but must be the least float32, "
                                       "-3.4028235e+38; use affine_select or select_reduce")


def check_maximum(op: str, reduce_op: Any) -> None:
    """The only reduction of selections is the maximum; None stands for it."""
    if reduce_op is not None and operator_name(reduce_op) != "maximum":
        raise _refused(op, f"reduce_op is {operator_name(reduce_op) or repr(reduce_op)}, but only "
                           "the maximum is kept; use tensor_reduce")


def _refused(op: str, what: str) -> IllegalInstruction:
    return IllegalInstruction(f"{source.here()}: {op}: {what}")
