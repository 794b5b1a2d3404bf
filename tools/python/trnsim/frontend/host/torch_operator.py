# SPDX-License-Identifier: Apache-2.0
# What torch-neuronx has for kernels: nki_op, wrap_nki and, in its old releases, nki_jit.
"""Decorators with which torch code calls kernels."""

from __future__ import annotations

import functools
import importlib
from typing import Any
from collections.abc import Callable

from trnsim.frontend.kernel import Kernel


class NkiOperator:
    """A function that calls kernels, and the operator of torch that nki_op makes of it.

    Only the operator has gradients; the function leaves the values of kernels uncomputed until
    somebody looks at them.
    """

    def __init__(self, function: Callable[..., Any], operator: Any) -> None:
        self._function = function
        self._operator = operator
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        torch = importlib.import_module("torch")
        is_differentiated = torch.is_grad_enabled() and any(
            getattr(one, "requires_grad", False) for one in (*arguments, *keywords.values()))
        chosen = self._operator if is_differentiated else self._function
        return chosen(*arguments, **keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._operator, name)


def nki_op(name: str, function: Callable[..., Any] | None = None, /, *, mutates_args: Any = (),
           **options: Any) -> Any:
    """torch_neuronx.nki_op: a function with typed parameters as the operator `name` of torch."""
    def decorate(inner: Callable[..., Any]) -> NkiOperator:
        library = importlib.import_module("torch.library")
        return NkiOperator(inner, library.custom_op(
            name, inner, mutates_args=mutates_args, **options))
    return decorate if function is None else decorate(function)


def wrap_nki(kernel: Any) -> Kernel:
    """torch_neuronx's wrap_nki: a kernel that torch can call, as it can all kernels here."""
    return _kernel(kernel, "nki")


def nki_jit(kernel: Any = None, **_: Any) -> Any:
    """torch_neuronx.nki_jit, until 2.23: a kernel that writes its last parameters."""
    return nki_jit if kernel is None else _kernel(kernel, "neuronxcc.nki")


def _kernel(function: Any, api: str) -> Kernel:
    if isinstance(function, Kernel):
        return function
    made: Kernel = importlib.import_module(api).jit(function)
    return made
