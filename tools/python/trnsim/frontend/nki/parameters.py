# SPDX-License-Identifier: Apache-2.0
# Rules for parameters that are no operands and no attributes of the trace.
"""What operators, immediates and commands an instruction takes together. [NKI-ISA]"""

from __future__ import annotations

from typing import Any

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.dtypes import bool_, float32
from trnsim.frontend.operators import BITVEC, UNARY, operator_name
from trnsim.frontend.records.tensor import View

_ALONE = frozenset((*UNARY, "invert", "logical_not", "bypass", "none"))
"""Operators that take no second operand; `none` is none at all."""

_REGISTER_COMMANDS = {
    "activation": ("idle", "reset", "reduce", "reset_reduce"),
    "activate2": ("idle", "reset", "reduce", "reset_reduce"),
    "exponential": ("idle", "reduce", "reset_reduce", "load_reduce"),
    "range_select": ("idle", "reset", "reduce", "reset_reduce"),
    "select_reduce": ("idle", "reduce", "reset_reduce"),
    "scalar_tensor_tensor": ("reduce", "reset_reduce"),
    "tensor_scalar_reduce": ("reduce", "reset_reduce", "load_reduce"),
    "tensor_scalar_cumulative": ("reduce", "reset_reduce", "load_reduce"),
}
"""Members of reduce_cmd that an instruction takes; without a value to load, none loads."""
PRIORITIES = range(4)
"""Classes of quality of service of a DMA, the highest first."""
_PRIORITIES_GENERATION = 4
"""The first NeuronCore whose DMA engines have priorities."""
_STAGES = (("multiply", "add"), ("multiply", "subtract"), ("multiply", "bypass"),
           ("add", "bypass"), ("subtract", "bypass"), ("bypass", "bypass"))
"""Pairs (op0, op1) of activate2."""
FLOAT32_INTEGERS = 2**24
"""Up to here a float32 holds every integer."""
FLOAT32_MIN = -(2.0 ** 128 - 2.0 ** 104)
"""The least float32, which range_select fills with."""


_NUMBER = "a number"
NUMBER_OR_TENSOR = "a number or a tensor with one value per partition"
"""What an instruction takes in the place of an operand."""


def check_number(op: str, parameter: str, value: Any, allowed: str = _NUMBER) -> None:
    """An immediate is a number. `allowed` is what may stand in its place, in words."""
    if isinstance(value, View):
        raise _refused(op, f"{parameter} is tensor {value.name!r}, but must be {allowed}")
    is_number = hasattr(value, "__float__") or hasattr(value, "__index__")
    shape = getattr(value, "shape", ())
    if isinstance(shape, tuple) and shape:
        raise _refused(op, f"{parameter} is an array of shape {list(shape)}, but must be "
                           f"{allowed}; make it an argument of the kernel and load it")
    if not is_number:
        raise _refused(op, f"{parameter} is {value!r}, but must be {allowed}")


def check_operand(op: str, parameter: str, value: Any, operator: str) -> None:
    """What an operator combines a tile with is a tensor or a number; without one, nothing."""
    if isinstance(value, View) or value is None and operator in _ALONE:
        return
    if value is None:
        raise _refused(op, f"{parameter} is None, but {operator} takes two operands; give a number "
                           "or a tensor")
    check_number(op, parameter, value, NUMBER_OR_TENSOR)
    if op == "tensor_scalar":  # The others take no operators on bits.
        check_bits(op, parameter, value, operator)


def check_bits(op: str, parameter: str, value: Any, operator: str) -> None:
    """What an operator combines the bits of a tile with is an integer, if it is a number."""
    if operator in BITVEC and value is not None and not isinstance(value, View) and not hasattr(
            value, "__index__"):
        raise _refused(op, f"{parameter} is {value!r}, but {operator} works on the bits of "
                           "integers; write an integer")


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


def check_probability(probability: Any) -> None:
    """What dropout takes as a number is one."""
    if isinstance(probability, (int, float)) and not 0 <= probability <= 1:
        raise _refused("dropout", f"prob is {probability}, but a probability is 0 to 1; change it")


def check_command(op: str, command: Any, result: Any = None) -> None:
    """reduce_cmd is one that the instruction takes. A warning if it leaves the accumulators, which
    are `result`, as they were."""
    name = getattr(command, "name", command)
    allowed = _REGISTER_COMMANDS[op]
    if name not in allowed:
        raise _refused(op, f"reduce_cmd is {name}, but must be one of {', '.join(allowed)}")
    if name == "idle" and result is not None:
        recorder.required().note(
            "warning", f"{op}: reduce_res gets what the accumulators held before, as reduce_cmd is "
                       "idle; pass nisa.reduce_cmd.reset_reduce to reduce this result")


def check_accumulation(op: str, command: Any, initial: tuple[str, Any]) -> None:
    """What a tensor_scalar that accumulates begins with: `initial`, a name and its value."""
    check_command(op, command)
    parameter, value = initial
    if value is None and getattr(command, "name", command) == "load_reduce":
        raise _refused(op, f"reduce_cmd is load_reduce, but {parameter} is not given; give what "
                           "is loaded")


def check_order(reverse0: Any) -> None:
    """The operands of a tensor_scalar_reduce are not exchanged, in both APIs."""
    if reverse0:
        raise _refused("tensor_scalar_reduce", "reverse0 is True, which NKI does not support yet; "
                                               "use tensor_scalar and tensor_reduce")


def check_reduction(reverse0: Any, command: Any, initial: Any) -> None:
    """A tensor_scalar_reduce takes its operands in order, and loads a float32 or nothing."""
    op = "tensor_scalar_reduce"
    check_order(reverse0)
    check_accumulation(op, command, ("reduce_init", initial))
    what = initial.name if isinstance(initial, View) else initial
    name = getattr(command, "name", command)
    if initial is not None and name != "load_reduce":
        raise _refused(op, f"reduce_init is {what!r}, but reduce_cmd is {name}, and only "
                           "load_reduce loads it; leave it out")
    if isinstance(initial, View) and initial.dtype is not float32:
        raise _refused(op, f"reduce_init is {initial.dtype}, but must be float32; convert it")


def check_range(reduce_op: Any, on_false_value: Any) -> None:
    """range_select fills with the least float32, and keeps the maximum."""
    check_maximum("range_select", reduce_op)
    if on_false_value is not None and on_false_value is not Ellipsis and (
            isinstance(on_false_value, View)
            or not abs(float(on_false_value) / FLOAT32_MIN - 1.0) < 2.0 ** -25):
        what = "a tensor" if isinstance(on_false_value, View) else on_false_value
        raise _refused("range_select", f"on_false_value is {what}, but must be the least float32, "
                                       "-3.4028235e+38; use affine_select or select_reduce")


def check_range_start(start: Any, elements: int) -> None:
    """The indices that range_select compares are integers that a float32 holds."""
    if not hasattr(start, "__index__"):
        raise _refused("range_select", f"range_start is {start!r}, but must be an integer")
    if int(start) < 0 or int(start) + elements > FLOAT32_INTEGERS:
        raise _refused("range_select", f"range_start is {int(start)} for {elements} elements, but "
                                       f"their indices are 0 to {FLOAT32_INTEGERS}; compare "
                                       "smaller ones")


def check_maximum(op: str, reduce_op: Any) -> None:
    """The only reduction of selections is the maximum; None stands for it."""
    if reduce_op is not None and operator_name(reduce_op) != "maximum":
        raise _refused(op, f"reduce_op is {operator_name(reduce_op) or repr(reduce_op)}, but only "
                           "the maximum is kept; use tensor_reduce")


def check_same_type(op: str, **operands: Any) -> None:
    """Two operands have one type; what is no tensor is found later."""
    (first, one), (second, other) = operands.items()
    if isinstance(one, View) and isinstance(other, View) and one.dtype is not other.dtype:
        raise _refused(op, f"{first} is {one.dtype} and {second} is {other.dtype}, but both must "
                           "have the same type")


def check_priority(op: str, priority: Any) -> None:
    """Priorities are 0 to 3, and the newest DMA engines have them."""
    if priority is None:
        return
    chip = recorder.required().chip
    if chip.generation < _PRIORITIES_GENERATION:
        raise _refused(op, f"priority={priority} needs NeuronCore-v{_PRIORITIES_GENERATION}, but "
                           f"{chip.name} has {chip.neuron_core}; leave it out")
    if priority not in PRIORITIES:
        raise _refused(op, f"priority is {priority!r}, but must be 0 to {PRIORITIES[-1]}, where 0 "
                           "is the highest")


def check_fill(value: Any, dst: View) -> None:
    """Integers are filled with integers, or with 0.0 as nki-library does. [NKI-MIGRATION] A warning
    if the value is none of the type's."""
    if not hasattr(value, "__index__") and hasattr(value, "__float__") and value != 0.0:
        raise _refused("memset", f"value is {value}, but dst is {dst.dtype}, which is filled with "
                                 "an integer; write one")
    count = 2 ** (8 * dst.dtype.itemsize)
    low = 0 if dst.dtype.name.startswith("u") else -count // 2
    high = low + count - 1
    if dst.dtype is not bool_ and not low <= value <= high:
        recorder.required().note("warning", f"memset: value is {value}, but dst is {dst.dtype}, "
                                            f"which holds {low} to {high}; write one of those")


def check_exponential(command: Any, initial: Any, result: Any) -> None:
    """Only load_reduce begins with a value; 0.0 stands for none."""
    check_command("exponential", command, result)
    name = getattr(command, "name", command)
    if name != "load_reduce" and (isinstance(initial, View) or initial != 0):
        what = "a tensor" if isinstance(initial, View) else initial
        raise _refused("exponential", f"reduce_init is {what}, but reduce_cmd is {name}, and only "
                                      "load_reduce loads it; leave it out")


def check_int32(op: str, parameter: str, value: Any) -> None:
    """An immediate is an integer of 32 bits."""
    if not hasattr(value, "__index__"):
        raise _refused(op, f"{parameter} is {value!r}, but it is an int32; write an integer")
    if not -2**31 <= int(value) < 2**31:
        raise _refused(op, f"{parameter} is {value}, but it is an int32; take one from -2147483648 "
                           "to 2147483647")


def check_stages(op0: str, op1: str, operands: tuple[Any, Any],
                 reverses: tuple[bool, bool]) -> None:
    """activate2 has a few pairs of operators before its function; none stands for bypass."""
    pair = tuple("bypass" if one == "none" else one for one in (op0, op1))
    if pair not in _STAGES:
        allowed = ", ".join("/".join(one) for one in _STAGES)
        raise _refused("activate2", f"op0 and op1 are {op0} and {op1}, but must be one of "
                                    f"{allowed}; use two instructions")
    for number, (operator, is_reversed) in enumerate(zip((op0, op1), reverses)):
        if is_reversed and operator == "none":
            raise _refused("activate2", f"reverse{number} is True, but op{number} is not given; "
                                        "give it or leave reverse out")
    check_same_type("activate2", imm0=operands[0], imm1=operands[1])


def _refused(op: str, what: str) -> IllegalInstruction:
    return IllegalInstruction(f"{source.here()}: {op}: {what}")
