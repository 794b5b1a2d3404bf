# SPDX-License-Identifier: Apache-2.0
# What numpy, torch and Python's own functions may do with a tensor of a kernel: nothing.
"""NotAnArray: `numpy.exp(tensor)`, `torch.exp(tensor)`, `float(tensor)` are errors with advice."""

from __future__ import annotations

import importlib
from typing import Any, NoReturn

from trnsim.errors import UserError
from trnsim.frontend import source


class NotAnArray:
    """A tensor whose elements other libraries ask for in vain while the kernel is traced."""

    __slots__ = ()
    _api = "nki"
    _how_to_read = "load one into a register with nki.isa.register_load"

    def __array_ufunc__(self, function: Any, *_: Any, **__: Any) -> Any:
        self._refuse("numpy", function)

    def __array_function__(self, function: Any, *_: Any, **__: Any) -> NoReturn:
        self._refuse("numpy", function)

    @classmethod
    def __torch_function__(cls, function: Any, *_: Any, **__: Any) -> NoReturn:
        cls._refuse("torch", function)

    @classmethod
    def _refuse(cls, library: str, function: Any) -> NoReturn:
        name = getattr(function, "__name__", str(function))
        language = importlib.import_module(f"{cls._api}.language")
        own = f"{cls._api}.language.{name}" if callable(getattr(language, name, None)) else (
            f"a function of {cls._api}.language or {cls._api}.isa")
        raise UserError(f"{source.here()}: {library}.{name} is called with a tensor, whose "
                        f"elements are only known when the kernel runs; call {own}")

    def _elements(self, *_: Any, **__: Any) -> NoReturn:
        raise UserError(f"{source.here()}: the elements of a tensor are asked for while tracing, "
                        f"but are only known when the kernel runs; {self._how_to_read}, or decide "
                        "by shapes and arguments")

    __array__ = __float__ = __int__ = __complex__ = _elements
