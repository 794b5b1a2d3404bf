# SPDX-License-Identifier: Apache-2.0
# Kernels in programs of JAX.
"""call_back(): a kernel in a function that jax transforms (`jax.jit`, `jax.grad`, ...).

Mirrors how AWS's nki.jit becomes a custom call of such a function: its shapes are known when the
function is traced, it runs whenever the function does. Results of kernels that are given jax arrays
are jax arrays.
"""

from __future__ import annotations

import importlib
import logging
import sys
import weakref
from contextlib import suppress
from types import ModuleType
from typing import Any
from collections.abc import Callable

from trnsim.errors import FrontendError
from trnsim.frontend.leaves import leaves_of
from trnsim.frontend.records.tensor import View

Launch = Callable[[tuple[Any, ...], dict[str, Any]], Any]

_failures: list[FrontendError] = []


def failure() -> FrontendError | None:
    """The error of a kernel that jax ran, of which jax's own has but the traceback."""
    return _failures[0] if _failures else None


def prepare(jax: ModuleType) -> None:
    """Has jax (0.4.31 or newer) run what it is asked to before it goes on, so that two kernels
    never run at once, and not log the errors of kernels, which are told as such."""
    with suppress(AttributeError):  # The options that it has are not its attributes.
        jax.config.update("jax_cpu_enable_async_dispatch", False)
    logging.getLogger("jax._src.callback").setLevel(logging.CRITICAL)


def jax_of(*values: Any) -> Any:
    """jax, if an array of it is among values; None without."""
    jax = sys.modules.get("jax")
    kind = getattr(jax, "Array", None)
    return jax if isinstance(kind, type) and hasattr(jax, "pure_callback") and any(
        isinstance(one, kind) for one in leaves_of(values)) else None


def are_traced(*values: Any) -> bool:
    """Whether an array among values stands for those that a function of jax will be given."""
    jax = jax_of(*values)
    return jax is not None and any(isinstance(one, jax.core.Tracer) for one in leaves_of(values))


def call_back(launch: Launch, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any,
              shown: Callable[[Any], Any]) -> Any:
    """What a kernel with traced arguments returns: `result`, with traced arrays for its views.

    `launch` runs whenever jax does what it traces, and gives the values. `shown` is the numpy type
    for one of NKI's.
    """
    jax: Any = sys.modules["jax"]
    given, form = jax.tree_util.tree_flatten((arguments, keywords))
    arrays = [place for place, one in enumerate(given) if isinstance(one, jax.Array)]
    returned, shape = jax.tree_util.tree_flatten(result, lambda one: isinstance(one, View))
    views = [place for place, one in enumerate(returned) if isinstance(one, View)]
    types = [jax.ShapeDtypeStruct(tuple(returned[place].shape), shown(returned[place].dtype))
             for place in views]

    def run(*contents: Any) -> list[Any]:
        numpy = importlib.import_module("numpy")
        values = list(given)
        for place, content in zip(arrays, contents, strict=True):
            values[place] = numpy.asarray(content)
        try:
            found = jax.tree_util.tree_leaves(launch(*jax.tree_util.tree_unflatten(form, values)))
        except FrontendError as problem:
            _failures.append(problem)
            raise
        return [numpy.asarray(found[place], one.dtype)
                for place, one in zip(views, types, strict=True)]

    traced = jax.pure_callback(run, types, *(given[place] for place in arrays),
                               vmap_method="sequential")
    for place, array in zip(views, traced, strict=True):
        returned[place] = array
    return jax.tree_util.tree_unflatten(shape, returned)


class Latest:
    """The latest launch on jax arrays, which do not change: drivers repeat it to measure it."""

    def __init__(self) -> None:
        self._given: list[Any] = []
        self._result: Any = None

    def result(self, *given: Any) -> Any:
        """What was returned for these values, if they are the same; None for others."""
        leaves = list(leaves_of(given))
        is_same = len(leaves) == len(self._given) and all(
            (before() if isinstance(before, weakref.ref) else before) is one
            for before, one in zip(self._given, leaves, strict=True))
        return self._result if is_same else None

    def keep(self, result: Any, *given: Any) -> None:
        """Remembers a result, unless an array was given that can change; jax's are not kept
        alive."""
        jax = jax_of(given)
        self._given = [weakref.ref(one) if isinstance(one, jax.Array) else one
                       for one in leaves_of(given)]
        is_constant = not any(hasattr(one, "shape") for one in self._given)
        self._result = result if is_constant else None
