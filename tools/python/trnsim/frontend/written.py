# SPDX-License-Identifier: Apache-2.0
# What the user wrote of what is called as a kernel.
"""The function behind functools.partial, and behind an object that can be called; its name."""

from __future__ import annotations

from functools import partial
from typing import Any


def function_of(kernel: Any) -> Any:
    """The function or method with the code; what has none as it is."""
    while isinstance(kernel, partial):
        kernel = kernel.func
    called = getattr(type(kernel), "__call__", None)  # noqa: B004
    if hasattr(kernel, "__code__") or not hasattr(called, "__code__"):
        return kernel
    return function_of(kernel.__wrapped__) if hasattr(kernel, "__wrapped__") else called


def name_of(kernel: Any) -> str:
    """What messages call it: an object is called by its class."""
    while isinstance(kernel, partial):
        kernel = kernel.func
    return str(getattr(kernel, "__name__", type(kernel).__name__))
