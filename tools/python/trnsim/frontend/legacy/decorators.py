# SPDX-License-Identifier: Apache-2.0
# nki.jit and the other decorators of the 0.1 dialect.
"""Decorators: what they are given besides the function is for AWS's compiler and is ignored."""

from __future__ import annotations

from typing import Any, NoReturn

from trnsim.frontend import source
from trnsim.frontend.errors import UnsupportedFeature, UserError
from trnsim.frontend.kernel import Kernel
from trnsim.frontend.legacy.grid import axis_of

API = "neuronxcc.nki"


class GridKernel(Kernel):
    """A kernel that may be launched on a grid of any size (see grid.py)."""

    def __getitem__(self, grid: Any) -> GridKernel:
        items = grid if isinstance(grid, (tuple, list)) else (grid,)
        axes = tuple(axis_of(item) for item in items)
        if any(axis.size < 1 for axis in axes):
            name = getattr(self, "__name__", "")
            raise UserError(f"{source.here()}: kernel {name} is launched on a grid of "
                            f"{[axis.size for axis in axes]}, but every axis has a program at "
                            "least; launch it on a larger grid")
        return GridKernel(self.function, self.api, axes)  # type: ignore[arg-type]


def jit(function: Any = None, *_: Any, **options: Any) -> Any:
    """Marks a kernel; with and without arguments."""
    if isinstance(function, Kernel):
        return function
    if callable(function):
        return GridKernel(function, API)
    return jit


def simulate_kernel(kernel: Any, *arguments: Any, **keywords: Any) -> NoReturn:
    """The values of a kernel's results are not computed."""
    raise UnsupportedFeature.named(str(source.here()), "neuronxcc.nki.simulate_kernel")
