# SPDX-License-Identifier: Apache-2.0
# The public module neuronxcc.nki.compiler.
"""Directives to AWS's compiler: allocation, order and a skipped middle end are honoured, the rest
accepted. [NKI-COMPILER-2.26]"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any, Self

from trnsim.frontend import recorder
from trnsim.frontend.kernel import mark_as_written
from trnsim.frontend.legacy.allocation import psum, sbuf


def _passed_through(func: Any = None, log_level: int = 50, **_: Any) -> Any:
    return func if func is not None else _passed_through


def skip_middle_end_transformations(func: Any = None, log_level: int = 50, **_: Any) -> Any:
    """Has a kernel compiled as it is written: nothing is moved, merged or hoisted."""
    return skip_middle_end_transformations if func is None else mark_as_written(func)


enable_stack_allocator = _passed_through
force_auto_alloc = _passed_through


class Directive:
    """A value for `directives=` of a loop; also a context."""

    def __init__(self, region: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self._region = region
        self._stack = ExitStack()

    @property
    def is_in_order(self) -> bool:
        """Whether it asks for the order of the instructions to be kept."""
        return self._region is not nullcontext

    def __enter__(self) -> Self:
        self._stack.enter_context(self._region())
        return self

    def __exit__(self, *details: object) -> None:
        self._stack.close()


def no_reorder() -> Directive:
    """Keeps the order of a loop's instructions on each queue."""
    return Directive(lambda: recorder.required().in_order())


def multi_buffer(factor: int = 2) -> Directive:
    """Asks for several buffers: the lowering decides."""
    return Directive()


def allocation_scope() -> Any:
    """A scope of allocations: the lowering decides."""
    return nullcontext()


__all__ = ["Directive", "allocation_scope", "enable_stack_allocator", "force_auto_alloc",
           "multi_buffer", "no_reorder", "psum", "sbuf", "skip_middle_end_transformations"]
