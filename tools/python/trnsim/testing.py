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

from trnsim.comparing import TOLERANCES, compare
from trnsim.errors import UserError
from trnsim.expectations import assert_bound_by, assert_latency

__all__ = ["TOLERANCES", "assert_allclose", "assert_bound_by", "assert_latency"]


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None,
                    atol: float | None = None, name: str = "the result") -> None:
    """AssertionError unless |actual - expected| <= atol + rtol * |expected| for every element.

    `rtol` is by default that of the type of `actual`, `atol` rtol times the lower quartile of the
    expected magnitudes: sums that nearly cancel are right to the size of their terms. Two NaNs or
    equal infinities are equal. Lists, tuples and dicts are compared item by item. The message
    names the worst element, both of its values and the type. UserError for what is no real numbers.
    """
    if isinstance(actual, dict) and isinstance(expected, dict):
        if actual.keys() != expected.keys():
            raise AssertionError(f"{name}: has {list(actual)}, expected are {list(expected)}")
        for key, one in actual.items():
            assert_allclose(one, expected[key], rtol, atol, f"{name}[{key!r}]")
        return
    if isinstance(actual, (list, tuple)):
        try:
            len(expected)
        except TypeError:
            raise UserError(f"what is expected of {name} is {expected!r}, but {len(actual)} "
                            "tensors are needed; give as many") from None
        if len(actual) != len(expected):
            raise AssertionError(f"{name}: {len(actual)} tensors, expected are {len(expected)}")
        for at, (one, other) in enumerate(zip(actual, expected)):
            assert_allclose(one, other, rtol, atol, f"{name}[{at}]")
        return
    found, wanted = _numbers(actual, name), _numbers(expected, f"what is expected of {name}")
    if found.shape != wanted.shape:
        raise AssertionError(f"{name}: shape {list(found.shape)}, expected is "
                             f"{list(wanted.shape)}")
    difference = compare(found, wanted, rtol, atol)
    index = difference.worst
    if index is None:
        return
    error = abs(found[index].item() - wanted[index].item())
    raise AssertionError(
        f"{name}: {difference.differing} of {found.size} {found.dtype.name} elements differ; the "
        f"worst is {list(index)}: {found[index]!s}, expected is {wanted[index]!s} (difference "
        f"{error:.3g}, allowed {difference.limit(wanted[index]):.3g} with "
        f"rtol={difference.rtol:.3g}, atol={difference.atol:.2g})")


def _numbers(value: Any, name: str) -> Any:
    """The array of a value. UserError if it is none of real numbers."""
    try:
        array = np.asarray(value)
    except ValueError:  # Rows of several lengths.
        array = np.array(None)
    if array.dtype.kind in "OSUMmc" or array.dtype.names or array.dtype.type is np.void:
        what = type(value).__name__ if array.dtype == object else f"an array of {array.dtype}"
        raise UserError(f"{name} is {what}, which is no array of real numbers; give one")
    return array
