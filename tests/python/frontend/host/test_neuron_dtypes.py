# SPDX-License-Identifier: Apache-2.0
# Tests of what scripts find in the place of AWS's neuron_dtypes.
"""Casts keep values that both types have, packed types hold four of the last axis, and any other
name is that of an absent library."""

from __future__ import annotations

import importlib
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernels import nl
from trnsim.frontend import UserError

neuron_dtypes: Any = importlib.import_module("neuron_dtypes")
static_cast = neuron_dtypes.static_cast
PACKED = ("float8_e5m2_x4", "float8_e4m3fn_x4", "float4_e2m1fn_x4")
EXACT = np.array([[0.5, 1, -1.5, 6], [4, -3, 2, 0]], dtype=np.float32)
"""Numbers that all types of four packed elements have."""


@pytest.mark.parametrize("name", PACKED)
def test_a_packed_type_holds_four_of_the_last_axis(name: str) -> None:
    packed = static_cast(EXACT, getattr(neuron_dtypes, name))
    assert packed.shape == (2, 1)
    assert packed.dtype == getattr(nl, name).dtype
    assert packed.nbytes == 2 * neuron_dtypes.sizeinbytes(packed.dtype)
    np.testing.assert_array_equal(static_cast(packed, np.float32), EXACT)
    assert static_cast(packed, getattr(nl, name)) is packed


def test_the_first_of_four_is_in_the_lowest_bits() -> None:
    packed = static_cast(np.array([1, 2, 0, 0], dtype=np.float32), nl.float8_e5m2_x4)
    assert packed.view(np.uint32).tolist() == [0x0000403C]
    packed = static_cast(np.array([1, 2, 0, 6], dtype=np.float32), nl.float4_e2m1fn_x4)
    assert packed.view(np.uint16).tolist() == [0x7042]


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize(("shape", "shown"), [((2, 3), r"\[2, 3\]"), ((), r"\[\]")])
def test_what_four_do_not_divide_is_not_packed(name: str, shape: tuple[int, ...],
                                               shown: str) -> None:
    with pytest.raises(UserError, match=rf"the shape is {shown}, but four elements of the last axis "
                       rf"become one of {name}; let it be a multiple of 4"):
        static_cast(np.ones(shape, np.float32), name)


def test_other_types_are_those_of_numpy_and_ml_dtypes() -> None:
    assert static_cast([1.0, 2.5], neuron_dtypes.bfloat16).dtype == ml_dtypes.bfloat16
    assert static_cast(EXACT, dtype=np.uint8).dtype == np.uint8
    assert np.zeros(3).astype(neuron_dtypes.float8_e4m3).dtype == ml_dtypes.float8_e4m3


@pytest.mark.parametrize(("kind", "size", "is_float", "is_x4"), [
    (np.float32, 4, True, False), (nl.float8_e4m3fn, 1, True, False), (np.int32, 4, False, False),
    ("float8_e5m2_x4", 4, False, True), (np.zeros(2, nl.float4_e2m1fn_x4).dtype, 2, False, True)])
def test_types_say_what_they_are(kind: Any, size: int, is_float: bool, is_x4: bool) -> None:
    assert neuron_dtypes.sizeinbytes(kind) == size
    assert neuron_dtypes.is_float_type(kind) is is_float
    assert neuron_dtypes.is_x4_dtype(kind) is is_x4


def test_limits_are_those_of_the_type() -> None:
    assert float(neuron_dtypes.finfo(nl.float8_e4m3fn).max) == 448


def test_what_nki_has_no_type_for_is_said() -> None:
    with pytest.raises(UserError, match="data type 'complex64' is not one of NKI's: float32 "):
        static_cast(EXACT, np.complex64)


def test_other_names_are_those_of_an_absent_library() -> None:
    with pytest.raises(UserError, match=r"neuron_dtypes\.\w+ is computed with, but neuron_dtypes "
                       "is not installed"):
        neuron_dtypes.BIAS + 1
