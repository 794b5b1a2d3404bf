# SPDX-License-Identifier: Apache-2.0
# Shapes and numbers as kernels give them.
"""Sizes and other integers, or what stands for one, like a loop's index or 4.0; and numbers."""

from __future__ import annotations

from operator import index
from typing import Any

from trnsim.errors import UserError
from trnsim.frontend import source


def given_sizes(shape: Any) -> tuple[Any, ...]:
    """The sizes of a shape as they are. UserError if it is no sequence."""
    try:
        return tuple(shape)
    except TypeError:
        raise UserError(f"{source.here()}: the shape is {shape!r}, but must be a tuple of sizes"
                        ) from None


def sizes_of(shape: Any) -> tuple[int, ...]:
    """The sizes of a shape as integers. UserError if one is no whole number."""
    return tuple(size if type(size) is int else whole_number(size, "a size of the shape")
                 for size in given_sizes(shape))


def whole_numbers(values: Any, what: str) -> tuple[int, ...]:
    """The integers that `what` has to be. UserError if they are none, or no sequence."""
    try:
        given = tuple(values)
    except TypeError:
        raise UserError(f"{source.here()}: {what} is {values!r}, but must be a list of integers"
                        ) from None
    return tuple(whole_number(one, f"an element of {what}") for one in given)


def whole_number(value: Any, what: str) -> int:
    """The integer that `what` has to be. UserError if it is none."""
    try:
        return index(value)
    except TypeError:
        pass
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise UserError(f"{source.here()}: {what} is {value!r}, but must be an integer")


def number(value: Any, what: str, allowed: str) -> float:
    """The number that `what` has to be, if it is nothing else that is allowed. UserError if it is
    none.
    """
    try:
        if not isinstance(value, (str, bytes)):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise UserError(f"{source.here()}: {what} is {type(value).__name__}, but must be {allowed}")
