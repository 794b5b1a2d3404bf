# SPDX-License-Identifier: Apache-2.0
# nki.jit and the other decorators of the 0.1 dialect.
"""Decorators: what they are given besides the function and its grid is for AWS's compiler."""

from __future__ import annotations

from math import prod
from typing import Any

from trnsim.errors import UserError
from trnsim.frontend import recorder, source
from trnsim.frontend.kernel import Kernel, decorator_with, launched_on
from trnsim.frontend.legacy.grid import axis_of
from trnsim.frontend.timed import TimedKernel, timed

API = "neuronxcc.nki"


class GridKernel(Kernel):
    """A kernel on a grid of any size (see grid.py); `kernel[0]` is one program, as without one."""

    def __getitem__(self, grid: Any) -> Kernel:
        items = grid if isinstance(grid, (tuple, list)) else (grid,)
        is_whole = items in ((None,), (0,))
        axes = (axis_of(1),) if is_whole else tuple(axis_of(item) for item in items)
        if any(axis.size < 1 for axis in axes):
            raise UserError(f"{source.here()}: kernel {self.name} is launched on a grid of "
                            f"{[axis.size for axis in axes]}, but every axis has a program at "
                            "least; launch it on a larger grid")
        return self.changed(grid=axes)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        programs = [axis_of(axis).size for axis in self.grid]
        if recorder.active() is not None and prod(programs) > 1:
            raise UserError(f"{source.here()}: kernel {self.name} is launched on a grid of "
                            f"{programs} inside of another kernel; call it without a grid, or loop")
        return super().__call__(*arguments, **keywords)


MODES = ("auto", "jax", "torchxla", "baremetal", "benchmark", "simulation", "trace")
"""Of nki.jit; here all of them simulate. [NKI-API-2.26]"""


def jit(fn: Any = None, *_: Any, func: Any = None, mode: str = "auto", **options: Any) -> Any:
    """Marks a kernel; with and without arguments."""
    if mode not in MODES:
        raise UserError(f"{source.here()}: nki.jit: mode is {mode!r}, but must be one of "
                        f"{', '.join(MODES)}; leave it out")
    if mode == "benchmark":
        return benchmark(fn, func=func, **options)
    function = func if fn is None else fn
    if isinstance(function, TimedKernel):
        return launched_on(function.inner, **options)
    if isinstance(function, Kernel):
        return launched_on(function, **options)
    if callable(function):
        return launched_on(GridKernel(function, API), **options)
    return decorator_with(jit, options, function)


benchmark = timed(jit, "benchmark")
profile = timed(jit, "profiler")


def simulate_kernel(kernel: Any, *arguments: Any, **keywords: Any) -> Any:
    """Calls a kernel; the values of its results are not computed."""
    return jit(kernel)(*arguments, **keywords)
