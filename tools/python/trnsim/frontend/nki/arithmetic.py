# SPDX-License-Identifier: Apache-2.0
# Python's operators on tensors, which the `nki` API does not have.
"""WithoutOperators: `tensor + 1` is an error with advice."""

from __future__ import annotations

from typing import Any, NoReturn
from collections.abc import Callable

from trnsim.errors import UserError
from trnsim.frontend import source
from trnsim.frontend.foreign import NotAnArray

_FUNCTIONS = {
    "add": ("+", "add"), "sub": ("-", "subtract"), "mul": ("*", "multiply"),
    "truediv": ("/", "divide"), "floordiv": ("//", "floor"), "mod": ("%", "mod"),
    "pow": ("**", "power"), "matmul": ("@", "matmul"), "and": ("&", "bitwise_and"),
    "or": ("|", "bitwise_or"), "xor": ("^", "bitwise_xor"), "lshift": ("<<", "left_shift"),
    "rshift": (">>", "right_shift")}
_COMPARISONS = {"lt": ("<", "less"), "le": ("<=", "less_equal"), "gt": (">", "greater"),
                "ge": (">=", "greater_equal")}
_UNARY = {"neg": ("-", "negative"), "abs": ("abs()", "abs"), "invert": ("~", "invert")}


class WithoutOperators(NotAnArray):
    """A tensor of this API: functions of nki.language compute, and Python's operators do not."""

    __slots__ = ()


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
