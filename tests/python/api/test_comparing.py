# SPDX-License-Identifier: Apache-2.0
# Tests of trnsim.comparing.
"""What counts as equal, and what is told about the rest."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from trnsim.comparing import TOLERANCES, compare


def test_equal_arrays_do_not_differ_whatever_is_in_them() -> None:
    values = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-40], np.float32)
    found = compare(values, values.copy())
    assert (found.differing, found.largest, found.first, found.worst) == (0, 0.0, None, None)


@pytest.mark.parametrize("kind", ["float32", "float16", ml_dtypes.bfloat16,
                                  ml_dtypes.float8_e5m2])
def test_the_tolerance_is_that_of_the_type(kind: object) -> None:
    wanted = np.full(4, 1.0)
    assert compare(wanted.astype(kind), wanted).rtol == TOLERANCES[np.dtype(kind).name]


def test_what_is_left_of_a_sum_that_cancels_is_right_to_the_size_of_its_terms() -> None:
    wanted = np.random.default_rng(0).standard_normal(10_000)
    wanted[17] = 1e-9
    rounded = wanted + 1e-6
    assert compare(rounded.astype(np.float32), wanted).differing == 0
    assert compare(rounded.astype(np.float32), wanted, atol=0.0).differing > 100
    assert compare((wanted + 1e-4).astype(np.float32), wanted).differing > 9_000


@pytest.mark.parametrize("mask", [-9999.0, 0.0, np.inf, np.nan])
def test_masked_elements_do_not_loosen_the_tolerance_of_the_others(mask: float) -> None:
    wanted = np.full((128, 128), 0.5)
    wanted[np.triu_indices(128, 1)] = mask
    assert compare(wanted.astype(np.float32), wanted).atol == pytest.approx(0.5e-5)


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
def test_the_tolerance_has_the_scale_of_the_values(size: float) -> None:
    wanted = np.array([1.0, 2.0, -3.0, 4.0]) * size
    assert compare(wanted.astype(np.float32), wanted).atol == pytest.approx(1.75e-5 * size)


def test_zeros_must_be_zero_where_all_are() -> None:
    assert compare(np.array([1e-30], np.float32), np.zeros(1)).differing == 1


def test_integers_must_be_equal() -> None:
    assert compare(np.array([100, 2]), np.array([100, 3])).differing == 1


@pytest.mark.parametrize(("found", "wanted", "apart"), [
    (np.array([2**53]), np.array([2**53 + 1]), 1), (np.array([True]), np.array([2**60]), 2**60 - 1),
    (np.array([2**60]), np.array([2**60 + 1]), 1), (np.array([2**60]), np.array([2**60]), 0),
    (np.array([2**63], np.uint64), np.array([2**63 - 1]), 1),
    (np.array([-2**63]), np.array([2**63 - 1]), 2**64 - 1)])
def test_integers_are_compared_with_all_their_bits(found: np.ndarray, wanted: np.ndarray,
                                                   apart: int) -> None:
    difference = compare(found, wanted)
    assert (difference.differing, difference.largest) == (int(apart > 0), float(apart))


def test_first_and_worst_are_two_things() -> None:
    wanted = np.zeros((2, 3), np.float32)
    found = wanted.copy()
    found[0, 2], found[1, 1] = 1.0, 5.0
    difference = compare(found, wanted, atol=0.5)
    assert difference.first == (0, 2) and difference.worst == (1, 1)
    assert (difference.differing, difference.elements, difference.largest) == (2, 6, 5.0)


def test_a_number_is_never_close_to_infinity_or_nan() -> None:
    found = np.array([1.0, 1.0, np.inf], np.float32)
    wanted = np.array([np.inf, np.nan, 1.0], np.float32)
    difference = compare(found, wanted, rtol=1e-2)
    assert difference.differing == 3
    assert math.isnan(difference.largest)


def test_an_empty_array_does_not_differ() -> None:
    assert compare(np.zeros((0, 3), np.float32), np.zeros((0, 3))).differing == 0
