# SPDX-License-Identifier: Apache-2.0
# Python's operators on tensors of the 0.1 dialect.
"""Operators: `a + b` is nl.add(a, b), `a < b` nl.less(a, b), and so on. [NKI-PROGRAMMING-2.26]"""

from __future__ import annotations

from typing import Any

from trnsim.errors import UserError
from trnsim.frontend import source
from trnsim.frontend.foreign import NotAnArray
from trnsim.frontend.legacy.late import language

_REFLECTED = {"add": "__radd__", "subtract": "__rsub__", "multiply": "__rmul__",
              "divide": "__rtruediv__", "less": "__gt__", "less_equal": "__ge__",
              "greater": "__lt__", "greater_equal": "__le__", "equal": "__eq__",
              "not_equal": "__ne__"}
"""The operator of a tensor that numpy's function stands for when the other operand is numpy's."""


class Operators(NotAnArray):
    """Python operators on tensors; they are the functions of nl with the same meaning."""

    __slots__ = ()
    _api = "neuronxcc.nki"
    _how_to_read = "compute with functions of neuronxcc.nki.language"

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """`numpy.float32(2) * tile`, which numpy sees first; UserError for any other call."""
        is_operator = (function.__name__ in _REFLECTED and method == "__call__" and len(inputs) == 2
                       and not isinstance(inputs[0], Operators))
        if not is_operator:
            self._refuse("numpy", function)
        return getattr(self, _REFLECTED[function.__name__])(inputs[0])

    def __matmul__(self, other: Any) -> Any:
        raise _no_operator("@", "matmul")

    def __floordiv__(self, other: Any) -> Any:
        raise _no_operator("//", "floor with a quotient")

    def __abs__(self) -> Any:
        raise _no_operator("abs()", "abs")

    __rmatmul__ = __matmul__
    __rfloordiv__ = __floordiv__

    def __add__(self, other: Any) -> Any:
        return language().add(self, other)

    def __radd__(self, other: Any) -> Any:
        return language().add(other, self)

    def __sub__(self, other: Any) -> Any:
        return language().subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return language().subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        return language().multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return language().multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        return language().divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return language().divide(other, self)

    def __pow__(self, other: Any) -> Any:
        return language().power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return language().power(other, self)

    def __mod__(self, other: Any) -> Any:
        return language().mod(self, other)

    def __rmod__(self, other: Any) -> Any:
        return language().mod(other, self)

    def __neg__(self) -> Any:
        return language().negative(self)

    def __invert__(self) -> Any:
        return language().invert(self)

    def __and__(self, other: Any) -> Any:
        return language().bitwise_and(self, other)

    def __rand__(self, other: Any) -> Any:
        return language().bitwise_and(other, self)

    def __or__(self, other: Any) -> Any:
        return language().bitwise_or(self, other)

    def __ror__(self, other: Any) -> Any:
        return language().bitwise_or(other, self)

    def __xor__(self, other: Any) -> Any:
        return language().bitwise_xor(self, other)

    def __rxor__(self, other: Any) -> Any:
        return language().bitwise_xor(other, self)

    def __lshift__(self, other: Any) -> Any:
        return language().left_shift(self, other)

    def __rlshift__(self, other: Any) -> Any:
        return language().left_shift(other, self)

    def __rshift__(self, other: Any) -> Any:
        return language().right_shift(self, other)

    def __rrshift__(self, other: Any) -> Any:
        return language().right_shift(other, self)

    def __lt__(self, other: Any) -> Any:
        return language().less(self, other)

    def __le__(self, other: Any) -> Any:
        return language().less_equal(self, other)

    def __gt__(self, other: Any) -> Any:
        return language().greater(self, other)

    def __ge__(self, other: Any) -> Any:
        return language().greater_equal(self, other)

    def __eq__(self, other: object) -> Any:
        return language().equal(self, other)

    def __ne__(self, other: object) -> Any:
        return language().not_equal(self, other)

    __hash__ = object.__hash__


def _no_operator(sign: str, function: str) -> UserError:
    return UserError(f"{source.here()}: tensors of neuronxcc.nki have no operator {sign}; call "
                     f"neuronxcc.nki.language.{function}")
