# SPDX-License-Identifier: Apache-2.0
# How far two arrays are apart.
"""compare(found, wanted) -> Difference, which trnsim.testing and `trnsim run --check` tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCES = {"float32": 1e-5, "tfloat32": 2e-3, "float16": 2e-3, "bfloat16": 1.6e-2,
              "float8_e4m3": 0.13, "float8_e4m3fn": 0.13, "float8_e5m2": 0.26}
"""Default relative tolerances: a few units in the last place of the type."""

Index = tuple[int, ...]


@dataclass(frozen=True)
class Difference:
    """Two arrays of one shape. Errors are absolute; NaN if a NaN meets a number."""

    elements: int
    differing: int
    largest: float
    """The largest error of all elements, within the tolerance or not."""
    first: Index | None
    """The first element that differs, in row-major order."""
    worst: Index | None
    """The element that exceeds its limit by most."""
    rtol: float
    atol: float

    def limit(self, wanted: Any) -> float:
        """The error that is allowed for an element."""
        size = abs(float(wanted))
        return self.atol + self.rtol * (size if np.isfinite(size) else 0.0)


def compare(found: Any, wanted: Any, rtol: float | None = None,
            atol: float | None = None) -> Difference:
    """How far two arrays of real numbers are apart.

    Elements are equal if |found - wanted| <= atol + rtol * |wanted|, as are two NaNs.

    `rtol` is by default that of the type of `found`, `atol` what it allows for an element of
    ordinary size: a sum's rounding error has the size of its terms, not of the element that is left
    of them near zero. The arrays must have one shape.
    """
    if rtol is None:
        rtol = TOLERANCES.get(found.dtype.name, 0.0)
    right = wanted.astype(np.float64)
    if atol is None:
        atol = rtol * _ordinary_size(right)
    with np.errstate(all="ignore"):
        same, error = _errors(found, wanted)
        limit = atol + rtol * np.where(np.isfinite(right), np.abs(right), 0.0)
        wrong = ~same & ~(error <= limit)
        excess = np.where(wrong, np.where(np.isnan(error - limit), np.inf, error - limit), -np.inf)
    count = int(wrong.sum())
    return Difference(found.size, count, float(error.max()) if found.size else 0.0,
                      _index(wrong) if count else None, _index(excess) if count else None,
                      rtol, atol)


def _errors(found: Any, wanted: Any) -> tuple[Any, Any]:
    """Which elements are equal, and by how much the others are apart."""
    left, right = found.astype(np.float64), wanted.astype(np.float64)
    if all(one.dtype.kind in "iub" for one in (found, wanted)) and any(
            np.abs(one).max(initial=0) >= EXACT for one in (left, right)):
        apart = np.asarray(found.astype(object) - wanted.astype(object), object)
        return (np.asarray(apart == 0, bool),
                np.asarray(np.abs(apart), object).astype(np.float64))
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    return same, np.where(same, 0.0, np.abs(left - right))


EXACT = 2**53
"""From here on a double does not have every integer."""


def _ordinary_size(wanted: Any) -> float:
    """The lower quartile of the magnitudes; zeros, infinities and NaN have none.

    Not the mean: the scores of a masked attention are -9999 for half of the elements.
    """
    sizes = np.abs(wanted[np.isfinite(wanted) & (wanted != 0)])
    return float(np.quantile(sizes, 0.25)) if sizes.size else 0.0


def _index(values: Any) -> Index:
    """Where the largest value is, the first of several."""
    return tuple(int(one) for one in np.unravel_index(int(np.argmax(values)), values.shape))
