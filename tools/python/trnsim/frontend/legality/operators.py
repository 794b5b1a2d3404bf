# SPDX-License-Identifier: Apache-2.0
# Which math operators an operation takes.
"""Operators by operation and attribute, for both APIs. [NKI-ISA] [NKI-SHARED]"""

from __future__ import annotations

from trnsim.errors import IllegalInstruction
from trnsim.frontend import source
from trnsim.frontend.chip import Chip
from trnsim.frontend.legality.instruction import Instruction
from trnsim.frontend.operators import ALU, ARITHMETIC, BITVEC
from trnsim.frontend.source import Position

REDUCTIONS = ("add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or",
              "bitwise_xor", "logical_and", "logical_or", "logical_xor")
"""Operators that tensor_reduce accepts. [NKI-SHARED]"""
PARTITION_REDUCTIONS = ("add", "average", "maximum", "bitwise_or", "bitwise_and", "bitwise_xor")
ACCUMULATIONS = ("add", "multiply", "maximum", "minimum")
CUMULATIVE = ("add", "subtract", "multiply", "maximum", "minimum")
WITHOUT_BITS = tuple(sorted(ALU.difference(BITVEC)))
"""Arithmetic operators, of one operand too."""
BINARY = tuple(sorted({*ARITHMETIC, "average"} - {"logical_not"}))
"""Arithmetic operators of two operands."""
PAIRED = (*BINARY, *(one for one in BITVEC if one != "invert"))
"""Operators of two operands, on bits too."""

RANGE_COMPARISONS = ("equal", "less", "less_equal", "greater", "greater_equal")
ACTIVATION_REDUCTIONS = ("add", "maximum", "minimum", "abs_max", "abs_min")
"""Reductions of activate2."""

_MAGNITUDES = ("abs_max", "abs_min")
_MAGNITUDES_GENERATION = 4
"""The first NeuronCore that compares magnitudes. [NKI-LANGUAGE]"""

_TAKEN: dict[str, dict[str, tuple[str, ...]]] = {
    "tensor_tensor": {"op": PAIRED},
    "tensor_tensor_scan": {"op0": BINARY, "op1": BINARY},
    "scalar_tensor_tensor": {"op0": WITHOUT_BITS, "op1": WITHOUT_BITS, "reduce_op": ACCUMULATIONS},
    "tensor_scalar_reduce": {"op0": WITHOUT_BITS, "reduce_op": ACCUMULATIONS},
    "tensor_scalar_cumulative": {"op0": WITHOUT_BITS, "op1": CUMULATIVE},
    "tensor_partition_reduce": {"op": PARTITION_REDUCTIONS},
    "activate2": {"reduce_op": (*ACTIVATION_REDUCTIONS, "none")},
    "dma_compute": {"reduce_op": ("add",)},
    "range_select": {"comp_op0": RANGE_COMPARISONS, "comp_op1": RANGE_COMPARISONS},
}


def reducing(op: str, operator: str, *more: str) -> str:
    """The operator of a reduction; `more` are those of an API alone. IllegalInstruction if it is
    none."""
    if operator not in REDUCTIONS and operator not in more:
        raise IllegalInstruction(f"{source.here()}: {op}: op {operator} does not reduce; use one "
                                 f"of {', '.join((*REDUCTIONS, *more))}")
    return operator


def check_operators(chip: Chip, it: Instruction) -> None:
    """IllegalInstruction if an operator is none that the operation takes, or the generation has."""
    for name in ("op", "op0", "op1", "reduce_op"):
        operator = it.attributes.get(name)
        if operator in _MAGNITUDES and chip.generation < _MAGNITUDES_GENERATION:
            raise it.reject(f"{name} is {operator}, which needs NeuronCore-v"
                            f"{_MAGNITUDES_GENERATION}, but {chip.name} has {chip.neuron_core}; "
                            "choose another chip")
    for argument in _TAKEN.get(it.op, {}):
        if argument in it.attributes:
            take(it.op, argument, it.attributes[argument], it.position)


def take(op: str, argument: str, operator: str, position: Position) -> None:
    """IllegalInstruction if an operation does not take an operator as an argument."""
    taken = _TAKEN[op][argument]
    if operator not in taken:
        raise IllegalInstruction(f"{position}: {op}: {argument} is {operator}, but must be "
                                 f"{_called(taken)}")


def _called(taken: tuple[str, ...]) -> str:
    if taken == WITHOUT_BITS:
        return "an arithmetic operator; use tensor_scalar or tensor_tensor for bits"
    if taken == BINARY:
        return "an arithmetic operator of two operands, such as add or maximum"
    if taken == PAIRED:
        return "an operator of two operands; use tensor_scalar or activation for one"
    names = [one for one in taken if one != "none"]
    return f"one of {', '.join(names)}" if len(names) > 1 else names[0]
