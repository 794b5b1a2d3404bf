# SPDX-License-Identifier: Apache-2.0
# Element-wise instructions of the vector, scalar and gpsimd engines.
"""Evaluators whose parameters after `call` are the instruction's immediates, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trnsim.frontend.operators import SUMS
from trnsim.frontend.recorder import required
from trnsim.frontend.records.tensor import PSUM, View
from trnsim.frontend.values import activation as functions
from trnsim.frontend.values import alu
from trnsim.frontend.values.call import Call, command_name
from trnsim.frontend.values.casting import Array
from trnsim.frontend.values.products import factors

_NATIVE = ("int32", "uint32")


def memset(call: Call) -> None:
    """dst = a constant."""
    value = call.attributes["value"]
    kind = np.int64 if isinstance(value, int) else np.float32
    call.write(np.full((1, 1), value, dtype=kind))


def tensor_copy(call: Call) -> None:
    """dst = data, bit by bit if the types are equal, else by way of float32, as always where a
    program names the scalar engine of NeuronCore-v2. [NKI-ISA]"""
    data = call.read("data")
    same = call.views["data"].form.dtype is call.views["dst"].form.dtype
    is_cast = call.engines == ("scalar",) and required().chip.generation == 2
    call.write(data if same and not is_cast else alu.f32(1) * call.floats("data"))


def tensor_tensor(call: Call) -> None:
    """dst = data1 op data2."""
    op = call.attributes["op"]
    if alu.is_bitwise(op):
        call.write(alu.apply_bitwise(op, call.rows("data1"), call.rows("data2")))
        return
    if _is_native(call):
        result = alu.apply_integer(op, *_pair(call, op, lambda: call.rows("data1"),
                                              lambda: call.rows("data2")))
        if result is not None:
            call.write(result)
            return
    call.write(alu.apply(op, *_pair(call, op, lambda: call.floats("data1"),
                                    lambda: call.floats("data2"))))


def _pair(call: Call, op: str, left: Callable[[], Any],
          right: Callable[[], Any]) -> tuple[Any, Any]:
    """Both operands of an operator, which are read in this order."""
    first = left()
    if op != "multiply":
        return first, right()
    unwritten = call.take_garbage()
    second = right()
    return factors(call, first, second, unwritten, call.take_garbage())


def _first(call: Call, operand0: Any, reverse0: bool) -> Array:
    """data op0 operand0."""
    op: str = call.attributes["op0"]
    data, operand = _pair(call, op, lambda: call.floats("data"),
                          lambda: call.number("operand0", operand0))
    return alu.apply(op, data, operand, reverse0)


def _is_native(call: Call) -> bool:
    """Whether gpsimd computes in integers: all operands are, and the program lets it."""
    if call.engines not in (None, ("gpsimd",)):
        return False
    return all(view.form.dtype.name in _NATIVE and view.form.space != PSUM
               for view in call.views.values())


def tensor_scalar(call: Call, operand0: Any = 0.0, reverse0: bool = False, operand1: Any = None,
                  reverse1: bool = False, accumulation: Any = None) -> None:
    """dst = (data op0 operand0) op1 operand1.

    `accumulation` (operator, command, initial) is that of a tensor_scalar_reduce without result.
    """
    op0, op1 = call.attributes["op0"], call.attributes.get("op1", "none")
    if alu.is_bitwise(op0):
        result = alu.apply_bitwise(op0, call.rows("data"),
                                   call.raw_number("operand0", operand0), reverse0)
        if op1 != "none":
            result = alu.apply_bitwise(op1, result, call.raw_number("operand1", operand1),
                                       reverse1)
        call.write(result)
        return
    if accumulation is None and _is_sum_of_integers(call, op0, op1, operand0, operand1):
        call.write(_sum_of_integers(call, operand0, reverse0, operand1, reverse1))
        return
    result = _two_operators(call, operand0, reverse0, op1, operand1, reverse1)
    call.write(result)
    if accumulation is not None:
        op, command, initial = accumulation
        call.accumulate("vector", command_name(command), op, _reduced(call, op, result),
                        call.number("initial", initial))


def _is_sum_of_integers(call: Call, op0: str, op1: str, operand0: Any, operand1: Any) -> bool:
    """Whether integers of 32 bits alone are added, a column among them: addresses. [ASSUMED]"""
    immediates = [one for role, one in (("operand0", operand0), ("operand1", operand1))
                  if role not in call.views and one is not None]
    return (op0 in SUMS and op1 in (*SUMS, "none") and len(call.views) > 2
            and all(view.form.dtype.name in _NATIVE for view in call.views.values())
            and all(hasattr(one, "__index__") for one in immediates))


def _sum_of_integers(call: Call, operand0: Any, reverse0: bool, operand1: Any,
                     reverse1: bool) -> Array:
    """(data op0 operand0) op1 operand1, which wraps at 32 bits in the type of dst."""
    result = call.rows("data").astype(np.int64)
    steps = (("op0", "operand0", operand0, reverse0), ("op1", "operand1", operand1, reverse1))
    for name, role, immediate, is_reversed in steps:
        op = call.attributes.get(name, "none")
        if op != "none":
            other = call.rows(role) if role in call.views else np.int64(int(immediate))
            result = alu.apply(op, result, other.astype(np.int64), is_reversed)
    kind = call.views["dst"].form.dtype.name
    return result.astype(np.uint32).view(np.dtype(kind))


def _two_operators(call: Call, operand0: Any, reverse0: bool, op1: str, operand1: Any,
                   reverse1: bool) -> Array:
    result = _first(call, operand0, reverse0)
    if op1 not in ("none", "bypass"):
        result = alu.apply(op1, result, call.number("operand1", operand1), reverse1)
    return result


def scalar_tensor_tensor(call: Call, operand0: Any = 0.0, reverse0: bool = False,
                         reverse1: bool = False, accumulation: Any = None) -> None:
    """dst = (data op0 operand0) op1 operand1, where operand1 is a tensor.

    `accumulation` is (operator, command) of its reduction over the row, in reduce_result.
    """
    first = _first(call, operand0, reverse0)
    result = alu.apply(call.attributes["op1"], first, call.floats("operand1"), reverse1)
    call.write(result)
    if accumulation is not None:
        op, command = accumulation
        total = call.accumulate("vector", command_name(command), op, _reduced(call, op, result))
        if "reduce_result" in call.views:
            call.write(total, "reduce_result")


def tensor_scalar_reduce(call: Call, operand0: Any = 0.0, reverse0: bool = False,
                         command: Any = "reset_reduce", initial: Any = None,
                         negates: bool = False) -> None:
    """dst = data op0 operand0; its reduction over the row in reduce_result."""
    op = call.attributes["reduce_op"]
    result = _first(call, operand0, reverse0)
    call.write(result)
    total = call.accumulate("vector", command_name(command), op, _reduced(call, op, result),
                            call.number("initial", initial))
    if "reduce_result" in call.views:
        call.write(-total if negates else total, "reduce_result")


def _reduced(call: Call, op: str, values: Array) -> Array:
    """The reduction of rows, without what a mask leaves out."""
    if call.kept is not None and call.kept.size == values.size:
        values = np.where(call.kept.reshape(values.shape), values,
                          np.float32(alu.IDENTITIES[op]))
    return alu.reduce(op, values)


def activation(call: Call, scale: Any = 1.0, bias: Any = None, command: Any = "idle") -> None:
    """dst = function(data * scale + bias); optionally its sum over the row."""
    values = call.floats("data")
    if "scale" in call.views or not _is_number(scale, 1.0):
        values = values * call.number("scale", scale)
    if "bias" in call.views or not _is_number(bias, 0.0):
        values = values + call.number("bias", bias)
    result = functions.activate(_function(call), values)
    call.write(result)
    name = command_name(command)
    if name != "idle" or "reduce_result" in call.views:
        total = call.accumulate("scalar", name, "add", _reduced(call, "add", result))
        if "reduce_result" in call.views:
            call.write(total, "reduce_result")


def _function(call: Call) -> str:
    """The function of an activation; in the `nki` API the sine is one from -pi to pi only."""
    name = str(call.attributes["function"])
    return "bounded_sin" if name == "sin" and required().api == "nki" else name


def _is_number(value: Any, number: float) -> bool:
    return value is None or (not isinstance(value, View) and float(value) == number)


def activation_reduce(call: Call, scale: Any = 1.0, bias: Any = None) -> None:
    """dst = function(data * scale + bias), and its sum over the row in reduce_result."""
    activation(call, scale, bias, "reset_reduce")


def activate2(call: Call, operand0: Any = 0.0, reverse0: bool = False, operand1: Any = 0.0,
              reverse1: bool = False, slope: Any = 0.0, command: Any = "idle") -> None:
    """dst = function((data op0 operand0) op1 operand1); optionally reduced."""
    values = _two_operators(call, operand0, reverse0, call.attributes["op1"], operand1, reverse1)
    result = functions.activate(_function(call), values, call.number("relu_param", slope))
    call.write(result)
    op = call.attributes["reduce_op"]
    if op != "none":
        total = call.accumulate("scalar", command_name(command), op, alu.reduce(op, result))
        if "reduce_result" in call.views:
            call.write(total, "reduce_result")


def reciprocal(call: Call) -> None:
    """dst = 1 / data."""
    call.write(alu.f32(1.0) / call.floats("data"))


def exponential(call: Call, maximum: Any = 0.0, command: Any = "idle",
                initial: Any = 0.0) -> None:
    """dst = exp(data - max_value); optionally its sum."""
    result = np.exp(call.floats("data") - call.number("max_value", maximum))
    call.write(result)
    total = call.accumulate("vector", command_name(command), "add", alu.reduce("add", result),
                            call.number("initial", initial))
    if "reduce_result" in call.views:
        call.write(total, "reduce_result")
