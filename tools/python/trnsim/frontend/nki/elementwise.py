# SPDX-License-Identifier: Apache-2.0
# nl functions that work element by element: their lowering to nki.isa operations.
"""Element-wise operations of nki.language. [NKI-LANGUAGE]

Lowering: tile with tile is tensor_tensor, tile with number or [P, 1] is tensor_scalar, functions
are activations on the scalar engine. Which instructions AWS's library uses is not published; the
choices here are the cheapest that compute the result. [ASSUMED]
"""

from __future__ import annotations

from math import pi
from typing import Any
from collections.abc import Callable

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.dtypes import float32, uint8
from trnsim.frontend.nki import known_issues
from trnsim.frontend.nki.broadcast import over_same_partitions, spread
from trnsim.frontend.nki.creation import fresh
from trnsim.frontend.nki.emit import broadcast_pair, common_shape, copy, emit, result_dtype, tile
from trnsim.frontend.nki.issue import vectors
from trnsim.frontend.nki.parameters import check_bits, check_probability
from trnsim.frontend.operators import named
from trnsim.frontend.recorder import Operand
from trnsim.frontend.records.tensor import PSUM, View

_FLIPPED = {"less": "greater", "greater": "less", "less_equal": "greater_equal",
            "greater_equal": "less_equal"}




def is_vector(value: View, like: View) -> bool:
    """Whether a tile holds one value per partition of another, larger tile."""
    return (value.form.free_elements == 1 and like.form.free_elements > 1
            and value.shape[0] == like.shape[0])


def binary(name: str, x: Any, y: Any, dtype: Any = None) -> View:
    """x op y, where at least one is a tile."""
    if isinstance(x, View) and isinstance(y, View):
        x, y = over_same_partitions(tile(x, name), tile(y, name))
        if is_vector(y, x):
            return _with_scalar(name, x, y, dtype, False)
        if is_vector(x, y):
            return _with_scalar(name, y, x, dtype, True)
        return _with_tile(name, x, y, dtype)
    if isinstance(x, View):
        return _with_scalar(name, tile(x, name), y, dtype, False)
    return _with_scalar(name, tile(y, name), x, dtype, True)


def _with_tile(name: str, x: View, y: View, dtype: Any) -> View:
    x, y = broadcast_pair(x, y, name)
    if x.space == PSUM and y.space == PSUM:
        y = emit("tensor_copy", fresh(y.shape, y.dtype, name="evicted"), (("data", "read", y),))
    kind = result_dtype(dtype, x, y)
    return emit("tensor_tensor", fresh(x.shape, kind),
                (("data1", "read", x), ("data2", "read", y)), op=name)


def _with_scalar(name: str, x: View, operand: Any, dtype: Any, is_reversed: bool) -> View:
    """x op operand, of which a column counts for the result's type as a tile does."""
    kind = result_dtype(dtype, x, operand)
    operator = _FLIPPED.get(name, name) if is_reversed else name
    is_swapped = is_reversed and name not in _FLIPPED
    operands: tuple[Operand, ...] = (("data", "read", x),)
    check_bits(name, "an operand", operand, name)
    if isinstance(operand, View):
        if operand.dtype.is_float and operand.dtype.itemsize < float32.itemsize:
            operand = copy(operand, float32)
        operands += (("operand0", "read", operand),)
    return emit("tensor_scalar", fresh(x.shape, kind), operands, (operand, is_swapped),
                op0=operator)


def unary_function(name: str, x: Any, dtype: Any = None) -> View:
    """function(x) on the scalar engine."""
    data = tile(x, name)
    return emit("activation", fresh(data.shape, result_dtype(dtype, data)),
                (("data", "read", data),), function=name)


def with_constant(name: str, constant: float, x: Any, dtype: Any = None) -> View:
    """x op constant on the vector engine: negative is multiply -1, and so on."""
    return _with_scalar(name, tile(x, name), constant, dtype, False)


def scalar_copy(x: Any, dtype: Any = None) -> View:
    """nl.copy: a copy on the scalar engine, which only activates before NeuronCore-v3.
    [NKI-RELEASE]"""
    known_issues.of_copy(x)
    active = recorder.required()
    if active.chip.generation < 3:
        return unary_function("copy", x, dtype)
    data = tile(x, "copy")
    operands = (("dst", "write", fresh(data.shape, result_dtype(dtype, data))),
                ("data", "read", data))
    return active.hold("tensor_copy", ("scalar",), operands, {}, None)


def reciprocal(x: Any, dtype: Any = None) -> View:
    """1 / x on the vector engine."""
    data = tile(x, "reciprocal")
    return emit("reciprocal", fresh(data.shape, result_dtype(dtype, data)),
                (("data", "read", data),))


def reverse_square_root(x: Any, dtype: Any = None) -> View:
    """1 / sqrt(x) on GpSimd, slower and more exact than the activation. [NKI-RELEASE]"""
    data = tile(x, "rsqrt")
    if data.space == PSUM:
        raise IllegalInstruction(f"{source.here()}: rsqrt: {data.form.describe()} is in psum, "
                                 "which GpSimd cannot read; copy it to sbuf, or use "
                                 "nisa.activation")
    operands = (("dst", "write", fresh(data.shape, result_dtype(dtype, data))),
                ("data", "read", data))
    return recorder.required().hold("tensor_scalar", ("gpsimd",), operands, {"op0": "rsqrt"}, None,
                                    (0.0, False))


def sine(x: Any, dtype: Any = None) -> View:
    """sin(x): a range reduction, then the activation."""
    data = tile(x, "sin")
    return _sine_of_sum(data, 0.0, dtype or data.dtype)


def cosine(x: Any, dtype: Any = None) -> View:
    """cos(x) as the sine of x + pi / 2, which the range reduction adds too."""
    data = tile(x, "cos")
    return _sine_of_sum(data, pi / 2.0, dtype or data.dtype)


def _sine_of_sum(data: View, turn: float, dtype: Any) -> View:
    """sin(data + turn), by ((data + turn + pi) mod 2 pi) - pi, where the engine has the sine."""
    turned = emit("tensor_scalar", fresh(data.shape, float32), (("data", "read", data),),
                  (turn + pi, False, 2.0 * pi, False), op0="add", op1="mod")
    if recorder.required().chip.generation < 3:  # Whose bias is no number.
        return unary_function("sin", _with_scalar("subtract", turned, pi, float32, False), dtype)
    return emit("activation", fresh(data.shape, result_dtype(dtype, data)),
                (("data", "read", turned),), (1.0, -pi), function="sin")


def tangent(x: Any, dtype: Any = None) -> View:
    """tan(x) as sin(x) / cos(x)."""
    inverse = reciprocal(cosine(x, float32), float32)
    return binary("multiply", sine(x, float32), inverse, dtype or x.dtype)


REMAINDERS = {"floor": ("mod", 1.0), "ceil": ("mod", -1.0), "trunc": ("fmod", 1.0)}
"""What the functions that round take away: the operator and its number."""


def rounded(name: str, x: Any, dtype: Any = None) -> View:
    """floor, ceil, trunc: x less a remainder, in one instruction."""
    data = tile(x, name)
    if data.space == PSUM:
        data = copy(data)
    operator, number = REMAINDERS[name]
    return emit("scalar_tensor_tensor", fresh(data.shape, result_dtype(dtype, x)),
                (("data", "read", data), ("operand1", "read", data)), (number, False, True),
                op0=operator, op1="subtract")


def where(condition: Any, x: Any, y: Any, dtype: Any = None) -> View:
    """x where the condition holds, else y: a copy of y, then a predicated copy of x."""
    given = [tile(one, "where") for one in (x, y) if isinstance(one, View)]
    mask = tile(condition, "where")
    kind = result_dtype(dtype, *(given or [mask]))
    shape = common_shape([mask, *given], "where")
    active = recorder.required()
    if mask.dtype.name not in ("uint8", "uint16", "uint32"):
        mask = emit("tensor_copy", fresh(mask.shape, uint8, name="predicate"),
                    (("data", "read", mask),))
    result = fresh(shape, kind)
    if isinstance(y, View):
        other = spread(y, shape)
        active.record("tensor_copy", None, (("dst", "write", result), ("data", "read", other)), {})
    else:
        active.record("memset", None, (("dst", "write", result),), {"value": y})
    data: tuple[Operand, ...] = ()
    if isinstance(x, View):
        chosen = spread(x, shape)
        data = (("data", "read", chosen if chosen.dtype is kind else copy(chosen, kind)),)
    active.record("tensor_copy_predicated", None,
                  (("dst", "update", result), *data, ("predicate", "read", spread(mask, shape))),
                  {}, None, (x,))
    return result


def dropout(x: Any, rate: Any, dtype: Any = None) -> View:
    """x with elements zeroed at random."""
    data = tile(x, "dropout")
    check_probability(rate)
    return emit("dropout", fresh(data.shape, result_dtype(dtype, data)), (
        ("data", "read", data), *vectors("dropout", ("operand0", "read", rate))), (rate,))


def _named(function: Callable[..., View], name: str) -> Callable[..., View]:
    function.operator_name = name  # type: ignore[attr-defined]
    return named(function, name, "trnsim.frontend.nki.language")


def binary_operator(name: str) -> Callable[..., View]:
    """The public function of a binary operator; also usable as `op=`."""
    def operator(x: Any, y: Any, dtype: Any = None) -> View:
        known_issues.of_binary(name, x, y)
        return binary(name, x, y, dtype)
    operator.__doc__ = f"{name} of two tiles, or of a tile and a number."
    return _named(operator, name)


def unary_operator(name: str, lowering: Callable[..., View]) -> Callable[..., View]:
    """The public function of a unary operator; also usable as `op=`."""
    def operator(x: Any, dtype: Any = None) -> View:
        return lowering(x, dtype)
    operator.__doc__ = f"{name} of a tile."
    return _named(operator, name)


def function_operator(name: str) -> Callable[..., View]:
    """The public function of an activation function; also usable as `op=`."""
    return unary_operator(name, lambda x, dtype: unary_function(name, x, dtype))

