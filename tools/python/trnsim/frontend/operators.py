# SPDX-License-Identifier: Apache-2.0
# Names of math operators and activation functions, however a kernel spells them.
"""Operators: `op=` arguments to the names of the trace format (docs/trace-format.md, section 5).

Both dialects' public functions (`nl.add`, ...) carry their name in `operator_name`; numpy functions
and strings are accepted too, as older kernels use them. [NKI-SHARED]
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import FunctionType
from typing import Any

from trnsim.errors import IllegalInstruction
from trnsim.frontend import source

BITVEC = ("invert", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
SUMS = ("add", "subtract")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
LOGICAL = ("logical_and", "logical_or", "logical_xor", "logical_not")
ARITHMETIC = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "mod", "fmod",
              "abs_max", "abs_min", *COMPARISONS, *LOGICAL)
UNARY = ("abs", "square", "relu", "rsqrt", "sqrt", "reciprocal", "negative", "sign")
ALU = frozenset((*BITVEC, *ARITHMETIC, *UNARY, "average", "bypass"))
"""Operators of the vector and gpsimd engines, as traces know them."""
LEGACY_OPERATORS = frozenset(("divide", "mod", "fmod", "logical_not", "sqrt", "negative", "sign",
                              "average", "bypass"))
"""Those that AWS's table does not have, though kernels of the old API use them. [NKI-SHARED]"""
OPERATORS = ALU - LEGACY_OPERATORS
"""The operators of AWS's table. [NKI-SHARED]"""
_INSTEAD = {
    "divide": "multiply by what nisa.reciprocal returns",
    "logical_not": "compare with 0 by equal",
    "negative": "multiply by -1",
    "sqrt": "use nisa.activation",
    "sign": "use nisa.activation",
}

FUNCTIONS = frozenset((
    "copy", "square", "sigmoid", "relu", "prelu", "gelu", "gelu_dx", "gelu_apprx_tanh",
    "gelu_apprx_sigmoid", "gelu_apprx_sigmoid_dx", "silu", "silu_dx", "tanh", "softplus", "mish",
    "erf", "erf_dx", "exp", "log", "sin", "arctan", "sqrt", "rsqrt", "reciprocal", "sign", "abs"))
"""Activation functions of the scalar engine. [NKI-SHARED]"""
LEGACY_FUNCTIONS = frozenset(("cos", "tan", "negative", "ceil", "floor", "trunc"))
"""Those that only the old API has."""

_ALIASES = {
    "max": "maximum", "min": "minimum", "amax": "maximum", "amin": "minimum", "sum": "add",
    "prod": "multiply", "mult": "multiply", "true_divide": "divide", "absolute": "abs",
    "bitwise_not": "invert", "remainder": "mod", "identity": "copy", "mean": "average",
    "all": "logical_and", "any": "logical_or",
}


def named(function: Callable[..., Any], name: str, module: str) -> Callable[..., Any]:
    """A function that is made in another one, with its public name: it is pickled as one of
    `module`, where it is to be found by that name."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    return function


_functions: dict[FunctionType, str] = {}
"""The names of NKI's own functions."""


def operator_name(operator: Any) -> str:
    """The name of an operator given as an NKI function, a numpy function or a string."""
    if type(operator) is FunctionType:
        known = _functions.get(operator)
        if known is None:
            known = _functions[operator] = _operator_name(operator)
        return known
    return _operator_name(operator)


def _operator_name(operator: Any) -> str:
    name = getattr(operator, "operator_name", None)
    if name is None:
        name = operator if isinstance(operator, str) else getattr(operator, "__name__", "")
    return _ALIASES.get(name, name)


def _shown(operator: Any) -> str:
    """A function by its name, anything else as it is."""
    name = getattr(operator, "__qualname__", None) or getattr(operator, "__name__", None)
    return name or repr(operator)


def alu(operator: Any, argument: str, more: Collection[str] = ()) -> str:
    """The name of an ALU operator; `more` are those of an instruction or an API alone.
    IllegalInstruction if it is none."""
    name = operator_name(operator)
    if name not in OPERATORS and name not in more:
        instead = _INSTEAD.get(name) or f"use one of {', '.join(sorted(OPERATORS.union(more)))}"
        raise IllegalInstruction(f"{source.here()}: {argument}={_shown(operator)} is not a math "
                                 f"operator of NKI; {instead}")
    return name


def legacy_alu(operator: Any, argument: str) -> str:
    """Like alu, with the operators of the old API."""
    return alu(operator, argument, LEGACY_OPERATORS)


def optional_alu(operator: Any, argument: str) -> str:
    """Like alu, with `none` for None; also takes `bypass`."""
    return "none" if operator is None else alu(operator, argument, ("bypass",))


def function(operator: Any, more: frozenset[str] = frozenset()) -> str:
    """The name of an activation function; `more` are those of an API alone. IllegalInstruction if
    it is none."""
    name = operator_name(operator)
    if name not in FUNCTIONS and name not in more:
        raise IllegalInstruction(
            f"{source.here()}: op={_shown(operator)} is not an activation function of NKI; "
            f"use one of {', '.join(sorted(FUNCTIONS | more))}")
    return name
