# SPDX-License-Identifier: Apache-2.0
# Python's operators on tensors, which the `nki` API does not have.
"""WithoutOperators: `tensor + 1`, `numpy.exp(tensor)`, `float(tensor)` are errors with advice."""

from __future__ import annotations

from typing import Any, NoReturn
from collections.abc import Callable

from trnsim.frontend import source
from trnsim.frontend.errors import UserError

_FUNCTIONS = {
    "add": ("+", "add"), "sub": ("-", "subtract"), "mul": ("*", "multiply"),
    "truediv": ("/", "divide"), "floordiv": ("//", "floor"), "mod": ("%", "mod"),
    "pow": ("**", "power"), "matmul": ("@", "matmul"), "and": ("&", "bitwise_and"),
    "or": ("|", "bitwise_or"), "xor": ("^", "bitwise_xor"), "lshift": ("<<", "left_shift"),
    "rshift": (">>", "right_shift")}
_COMPARISONS = {"lt": ("<", "less"), "le": ("<=", "less_equal"), "gt": (">", "greater"),
                "ge": (">=", "greater_equal")}
_UNARY = {"neg": ("-", "negative"), "abs": ("abs()", "abs"), "invert": ("~", "invert")}


class WithoutOperators:
    """A tensor of this API: functions of nki.language compute, and Python's operators do not."""

    __slots__ = ()

    def _numpy(self, function: Any, *_: Any, **__: Any) -> NoReturn:
        raise UserError(f"{source.here()}: numpy.{function.__name__} is called with a tensor, "
                        "whose elements are only known when the kernel runs; call a function of "
                        "nki.language or nki.isa")

    def _elements(self, *_: Any, **__: Any) -> NoReturn:
        raise UserError(f"{source.here()}: the elements of a tensor are asked for while tracing, "
                        "but are only known when the kernel runs; load one into a register with "
                        "nki.isa.register_load, or decide by shapes and arguments")

    __array_ufunc__ = __array_function__ = _numpy
    __array__ = __float__ = __int__ = __complex__ = _elements


def _refusal(symbol: str, function: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any) -> NoReturn:
        raise UserError(f"{source.here()}: tensors of nki have no operator {symbol}; call "
                        f"nki.language.{function}")
    return refuse


for _kind, _forms in ((_FUNCTIONS, ("__{}__", "__r{}__", "__i{}__")), (_COMPARISONS, ("__{}__",)),
                      (_UNARY, ("__{}__",))):
    for _name, _words in _kind.items():
        for _form in _forms:
            setattr(WithoutOperators, _form.format(_name), _refusal(*_words))
