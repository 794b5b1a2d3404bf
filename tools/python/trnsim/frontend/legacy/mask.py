# SPDX-License-Identifier: Apache-2.0
# mask= of the 0.1 dialect: conjunctions of affine predicates, and how they clip an instruction.
"""Masks: which elements of an instruction's tile are processed.

A mask is a conjunction of predicates `expression >= 0`. A predicate on one axis shortens that axis
and costs nothing. One that couples two axes cannot be an access pattern: an instruction element by
element keeps its full tile, which is an upper bound, and the trace says so in a note; others are
refused (`rectangle`). [NKI-SHARED-2.26]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trnsim.errors import IllegalInstruction, UserError
from trnsim.frontend import source
from trnsim.frontend.legacy.index import (ArrayIndex, Index, broadcast_shapes, form, from_values,
                                          values_of)


class Mask:
    """A conjunction of `predicates >= 0`; `opaque` when a part of it is not one (see `|`, `!=`)."""

    __slots__ = ("_evaluate", "opaque", "predicates")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, predicates: tuple[Index, ...], opaque: bool, evaluate: Any) -> None:
        self.predicates = predicates
        self.opaque = opaque
        self._evaluate = evaluate

    def index_values(self) -> Any:
        """One for each element that the mask keeps, else zero, as a numpy array."""
        return self._evaluate()

    def spanning(self, shape: tuple[int, ...]) -> Mask:
        """The mask repeated along axes of size 1, and along those that it does not have."""
        everywhere = at_least(Index(0, form(shape, (0,) * len(shape))), 0, 0)
        return self & everywhere  # type: ignore[no-any-return]

    def within(self, bounds: Any, shape: tuple[int, ...]) -> Mask:
        """What it keeps of the part of a tile of `shape` that a clip leaves."""
        part = tuple(slice(start, start + count) for start, count in bounds)
        return Mask((), True, lambda: np.broadcast_to(self.index_values(), shape)[part])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the mask spans."""
        if self.opaque:
            return tuple(self.index_values().shape)
        shape: tuple[int, ...] = ()
        for predicate in self.predicates:
            shape = broadcast_shapes(shape, predicate.shape)
        return shape

    def __and__(self, other: Any) -> Any:
        if isinstance(other, bool) or other is None:
            return self if other in (True, None) else False
        if not isinstance(other, Mask):
            return NotImplemented
        return Mask(self.predicates + other.predicates, self.opaque or other.opaque,
                    lambda: self.index_values() * other.index_values())

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        if isinstance(other, bool):
            return True if other else self
        if not isinstance(other, Mask):
            return NotImplemented
        return Mask((), True, lambda: (self.index_values() + other.index_values()) > 0)

    __ror__ = __or__

    def __invert__(self) -> Mask:
        if len(self.predicates) == 1 and not self.opaque:
            return at_least(-1, self.predicates[0], 0)  # type: ignore[no-any-return]
        return Mask((), True, lambda: 1 - self.index_values())

    def __add__(self, other: Any) -> Any:
        return as_index(self) + other

    def __sub__(self, other: Any) -> Any:
        return as_index(self) - other

    def __rsub__(self, other: Any) -> Any:
        return -as_index(self) + other

    def __mul__(self, other: Any) -> Any:
        return as_index(self) * other

    __radd__ = __add__
    __rmul__ = __mul__

    def __getitem__(self, item: Any) -> Any:
        raise UserError(f"{source.here()}: a mask is subscripted, but it has the axes of the "
                        "indices that it compares; subscript these, as with nl.arange(n)[:, None]")

    def __bool__(self) -> bool:
        raise UserError(f"{source.here()}: the kernel branches on a mask, which has one value per "
                        "element; combine masks with & instead of 'and', and branch on loop "
                        "indices only")


def as_index(mask: Mask) -> Index | ArrayIndex:
    """A comparison used as a number: the index expression of its zeros and ones."""
    return from_values(mask.index_values())


def at_least(greater: Any, smaller: Any, margin: int) -> Any:
    """The mask of `greater - smaller - margin >= 0`; a tensor on either side is NotImplemented."""
    if not isinstance(greater, ArrayIndex) and not isinstance(smaller, ArrayIndex):
        difference = greater - smaller
        if difference is NotImplemented:
            return NotImplemented
        if isinstance(difference, Index):
            predicate = difference - margin
            return Mask((predicate,), False, lambda: (predicate.values() >= 0).astype("int64"))
    left, right = values_of(greater), values_of(smaller)
    if left is None or right is None:
        return NotImplemented
    return Mask((), True, lambda: (left - right - margin >= 0).astype("int64"))


FULL = None
"""The clip that changes nothing."""
EMPTY = ()
"""The clip that leaves nothing: the instruction is dropped."""


def clip(mask: Any, shape: tuple[int, ...]) -> tuple[Any, bool]:
    """What `mask` leaves of a tile of `shape`.

    Returns the (start, count) of every axis (or FULL or EMPTY), and whether that is exact: a mask
    that couples axes leaves the whole tile and is not. What another mask left is one too.
    """
    if mask is None or mask is True:
        return FULL, True
    if isinstance(mask, tuple) and all(isinstance(one, tuple) for one in mask):
        return mask, True
    if not isinstance(mask, Mask):
        if isinstance(mask, Index):
            raise UserError(f"{source.here()}: mask= is an index expression, it must be a "
                            "comparison; write expression >= 0")
        if not isinstance(mask, (int, np.integer, np.bool_)):
            raise UserError(f"{source.here()}: mask= is {type(mask).__name__}, it must be "
                            "comparisons of indices; combine several with &")
        return (FULL, True) if mask else (EMPTY, True)
    if mask.opaque:
        kept = mask.index_values()
        if kept.all():
            return FULL, True
        return (FULL, False) if kept.any() else (EMPTY, True)
    return _clip_axes(mask, shape)


def _clip_axes(mask: Mask, shape: tuple[int, ...]) -> tuple[Any, bool]:
    exact, clips = True, False
    start, stop = [0] * len(shape), list(shape)
    for predicate in mask.predicates:
        if predicate.const >= -predicate.form.low:
            continue
        if predicate.const < -predicate.form.high:
            return EMPTY, True
        const = int(predicate.const)
        coefficients = predicate.form.coefficients
        axes = [axis for axis, coefficient in enumerate(coefficients) if coefficient]
        if len(axes) > 1:
            exact = False
            continue
        axis, coefficient = axes[0], coefficients[axes[0]]
        own = axis + len(shape) - len(coefficients)
        if own < 0 or shape[own] != predicate.form.shape[axis]:
            raise UserError(
                f"{source.here()}: mask= spans {list(predicate.form.shape)}, but the instruction's "
                f"tile is {list(shape)}; the axes of both must be equal")
        clips = True
        if coefficient > 0:
            start[own] = max(start[own], -(const // coefficient))
        else:
            stop[own] = min(stop[own], const // -coefficient + 1)
    if not clips:
        return FULL, exact
    if any(first >= last for first, last in zip(start, stop)):
        return EMPTY, True
    clipped = tuple((first, last - first) for first, last in zip(start, stop))
    full = all(count == size for (_, count), size in zip(clipped, shape))
    return (FULL if full else clipped), exact


def rectangle(what: str, mask: Any, shape: tuple[int, ...]) -> Any:
    """The clip of a mask whose elements are not those of a result: IllegalInstruction if it is not
    exact.
    """
    bounds, is_exact = clip(mask, shape)
    if not is_exact:
        raise IllegalInstruction(
            f"{source.here()}: {what}: the mask couples axes of a tile of shape {list(shape)}, or "
            "is no conjunction of affine comparisons, but must clip each axis by itself here; "
            "compare one index at a time, or choose elements with nl.where first")
    return bounds
