# SPDX-License-Identifier: Apache-2.0
# What tests of kernels need.
"""Assertions on what a kernel computes and how long it takes, for any test framework.

    from trnsim.frontend import run_kernel
    from trnsim.testing import assert_allclose, assert_latency
    assert_allclose(run_kernel(kernel, a, b), a @ b, rtol=1e-2)
    assert_latency(kernel, [a, b], chip="trn2", max_us=120)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trnsim.expectations import assert_bound_by, assert_latency

__all__ = ["TOLERANCES", "assert_allclose", "assert_bound_by", "assert_latency"]

TOLERANCES = {"float32": 1e-5, "tfloat32": 2e-3, "float16": 2e-3, "bfloat16": 1.6e-2,
              "float8_e4m3": 0.13, "float8_e4m3fn": 0.13, "float8_e5m2": 0.26}
"""Default relative tolerances: a few units in the last place of the type."""


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float = 0.0,
                    name: str = "the result") -> None:
    """AssertionError unless |actual - expected| <= atol + rtol * |expected| for every element.

    `rtol` is by default that of the type of `actual`; two NaNs or equal infinities are equal. Lists
    and tuples are compared item by item. The message names the worst element, both of its values
    and the type.
    """
    if isinstance(actual, (list, tuple)):
        if len(actual) != len(expected):
            raise AssertionError(f"{name}: {len(actual)} tensors, expected are {len(expected)}")
        for at, (one, other) in enumerate(zip(actual, expected)):
            assert_allclose(one, other, rtol, atol, f"{name}[{at}]")
        return
    found, wanted = np.asarray(actual), np.asarray(expected)
    if found.shape != wanted.shape:
        raise AssertionError(f"{name}: shape {list(found.shape)}, expected is "
                             f"{list(wanted.shape)}")
    if rtol is None:
        rtol = TOLERANCES.get(found.dtype.name, 0.0)
    _compare(found, wanted, rtol, atol, name)


def _compare(found: Any, wanted: Any, rtol: float, atol: float, name: str) -> None:
    left, right = found.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(all="ignore"):
        error = np.abs(left - right)
        limit = atol + rtol * np.abs(right)
        excess = error - limit
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    wrong = ~same & ~(error <= limit)
    if not wrong.any():
        return
    order = np.where(wrong, np.where(np.isnan(excess), np.inf, excess), -np.inf)
    index = tuple(int(one) for one in np.unravel_index(int(np.argmax(order)), order.shape))
    raise AssertionError(
        f"{name}: {int(wrong.sum())} of {found.size} {found.dtype.name} elements differ; the worst "
        f"is {list(index)}: {found[index]!s}, expected is {wanted[index]!s} (difference "
        f"{error[index]:.3g}, allowed {limit[index]:.3g} with rtol={rtol:g}, atol={atol:g})")
