# SPDX-License-Identifier: Apache-2.0
# Shapes as kernels give them.
"""The sizes of a shape: integers, or what stands for one, like a loop's index or 4.0."""

from __future__ import annotations

from operator import index
from typing import Any

from trnsim.frontend import source
from trnsim.frontend.errors import UserError


def given_sizes(shape: Any) -> tuple[Any, ...]:
    """The sizes of a shape as they are. UserError if it is no sequence."""
    try:
        return tuple(shape)
    except TypeError:
        raise UserError(f"{source.here()}: the shape is {shape!r}, but must be a tuple of sizes"
                        ) from None


def sizes_of(shape: Any) -> tuple[int, ...]:
    """The sizes of a shape as integers. UserError if one is no whole number."""
    return tuple(size if type(size) is int else _whole(size) for size in given_sizes(shape))


def _whole(size: Any) -> int:
    try:
        return index(size)
    except TypeError:
        pass
    if isinstance(size, float) and size.is_integer():
        return int(size)
    raise UserError(f"{source.here()}: a size of the shape is {size!r}, but must be an integer")
