# SPDX-License-Identifier: Apache-2.0
# nki.isa: activation functions of the scalar engine.
"""activation, activation_reduce, activate2. [NKI-ISA] `engine`: [NKI-ISA-2.33]"""

from __future__ import annotations

from typing import Any

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.nki import enums
from trnsim.frontend.nki.issue import NkiInstruction, float_vectors, given, issue, vectors
from trnsim.frontend.nki.parameters import check_command, check_operand, check_stages
from trnsim.frontend.operators import alu, function, optional_alu
from trnsim.frontend.recorder import Operand
from trnsim.frontend.records.tensor import View

_any = enums.engine.unknown
_scalar = enums.engine.scalar
_idle = enums.reduce_cmd.idle


def activation(dst: Any, op: Any, data: Any, bias: Any = None, scale: Any = 1.0,
               reduce_op: Any = None, reduce_res: Any = None, reduce_cmd: Any = _idle,
               engine: Any = _scalar, name: str | None = None) -> NkiInstruction:
    """dst = op(data * scale + bias); optionally adds up dst along the free dimensions."""
    check_command("activation", reduce_cmd, reduce_res)
    attributes = {"function": function(op)}
    operands = _scaled("activation", dst, data, bias, scale)
    _check_bias(attributes["function"], bias)
    if reduce_op is not None:
        attributes["reduce_op"] = _add_only(reduce_op)
    return issue("activation",
                 (*operands, *given(("reduce_result", "write", reduce_res))), attributes, engine,
                 (scale, bias, reduce_cmd))


def activation_reduce(dst: Any, op: Any, data: Any, reduce_op: Any, reduce_res: Any,
                      bias: Any = None, scale: Any = 1.0,
                      name: str | None = None) -> NkiInstruction:
    """dst = op(data * scale + bias), and its sum along the free dimensions in reduce_res.

    Without reduce_res the accumulator is not read out, which costs what activation costs.
    """
    operands = _scaled("activation_reduce", dst, data, bias, scale)
    _check_bias(function(op), bias)
    if reduce_res is None:
        return issue("activation", operands,
                     {"function": function(op), "reduce_op": _add_only(reduce_op)}, _any,
                     (scale, bias, enums.reduce_cmd.reset_reduce))
    return issue("activation_reduce",
                 (*operands, ("reduce_result", "write", reduce_res)),
                 {"function": function(op), "reduce_op": _add_only(reduce_op)}, _any,
                 (scale, bias))


def activate2(dst: Any, op: Any, data: Any, imm0: Any, imm1: Any, op0: Any, op1: Any,
              relu_param: Any = 0.0, reverse0: bool = False, reverse1: bool = False,
              reduce_op: Any = None, reduce_res: Any = None, reduce_cmd: Any = _idle,
              engine: Any = _scalar, name: str | None = None) -> NkiInstruction:
    """dst = op((data op0 imm0) op1 imm1), optionally reduced (NeuronCore-v4)."""
    check_command("activate2", reduce_cmd, reduce_res)
    attributes = {"function": function(op), "op0": optional_alu(op0, "op0"),
                  "op1": optional_alu(op1, "op1"),
                  "reduce_op": optional_alu(reduce_op, "reduce_op")}
    check_stages(attributes["op0"], attributes["op1"], (imm0, imm1), (reverse0, reverse1))
    check_operand("activate2", "imm0", imm0, attributes["op0"])
    check_operand("activate2", "imm1", imm1, attributes["op1"])
    return issue("activate2",
                 (("dst", "write", dst), ("data", "read", data),
                  *vectors("activate2", *given(("operand0", "read", imm0),
                                               ("operand1", "read", imm1)),
                           ("relu_param", "read", relu_param)),
                  *given(("reduce_result", "write", reduce_res))), attributes, engine,
                 (imm0, reverse0, imm1, reverse1, relu_param, reduce_cmd))


def _scaled(op: str, dst: Any, data: Any, bias: Any, scale: Any) -> tuple[Operand, ...]:
    """The operands of data * scale + bias."""
    return (("dst", "write", dst), ("data", "read", data),
            *vectors(op, *given(("bias", "read", bias))),
            *float_vectors(op, ("scale", "read", scale)))


def _add_only(reduce_op: Any) -> str:
    name = alu(reduce_op, "reduce_op")
    if name != "add":
        raise IllegalInstruction(f"{source.here()}: activation: reduce_op is {name}, but the "
                                 "scalar engine only adds; use tensor_reduce")
    return name


def _check_bias(of_function: str, bias: Any) -> None:
    """Before NeuronCore-v3 a bias is a tensor [NKI-ISA], but a number where elements are copied.
    [KILN]"""
    chip = recorder.required().chip
    if bias is None or chip.generation >= 3:
        return
    is_tensor, is_copy = isinstance(bias, View), of_function == "copy"
    if is_tensor and is_copy:
        raise IllegalInstruction(f"{source.here()}: activation: bias is a tensor, but a copy by "
                                 f"the Scalar Engine of {chip.neuron_core} takes a number; give "
                                 "one, or add the tensor with nki.isa.tensor_scalar")
    if not is_tensor and not is_copy and bias != 0:
        raise IllegalInstruction(f"{source.here()}: activation: bias is the number {bias}, but "
                                 f"{chip.neuron_core} takes a [P, 1] tensor; memset one")
