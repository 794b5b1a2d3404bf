# SPDX-License-Identifier: Apache-2.0
# Rounding, saturation and reinterpretation.
"""What a cast makes of the values between, beyond and beside those of the target type."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from trnsim.frontend import dtype
from trnsim.frontend.values.casting import cast
from trnsim.testing import assert_allclose
from values_helpers import evaluate, nisa, nl, normal, tile


def test_floats_round_to_nearest_even() -> None:
    values = np.array([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20], np.float32)
    assert cast(values, dtype("bfloat16")).astype(np.float32).tolist() == [1.0, 1.015625, 1.0078125]


def test_tfloat32_keeps_ten_bits_of_the_fraction() -> None:
    values = np.array([1 + 2**-11, 1 + 3 * 2**-11, np.inf], np.float32)
    assert cast(values, dtype("tfloat32")).tolist() == [1.0, 1 + 2**-9, np.inf]


@pytest.mark.parametrize(("kind", "largest"), [("float8_e4m3", np.inf), ("float8_e5m2", np.inf),
                                               ("float16", np.inf), ("bfloat16", np.inf)])
def test_floats_overflow_to_infinity(kind: str, largest: float) -> None:
    values = np.array([3.4e38, -3.4e38], np.float32)
    with np.errstate(over="ignore"):
        found = cast(values, dtype(kind)).astype(np.float32)
    assert found.tolist() == [largest, -largest]


@pytest.mark.parametrize("kind", ["float8_e4m3", "float8_e5m2", "float8_e4m3fn"])
def test_scales_and_floats_of_eight_bits_convert_into_each_other(kind: str) -> None:
    values = np.array([0.5, 1.0, 8.0], np.float32)
    scales = cast(values, dtype("float8_e8m0"))
    floats = cast(scales, dtype(kind))
    assert floats.astype(np.float32).tolist() == values.tolist()
    assert cast(floats, dtype("float8_e8m0")).tobytes() == scales.tobytes()


def test_integers_round_to_even_and_saturate() -> None:
    values = np.array([0.5, 1.5, 2.5, -0.5, 300.0, -300.0, np.nan, np.inf], np.float32)
    assert cast(values, dtype("int8")).tolist() == [0, 2, 2, 0, 127, -128, 0, 127]
    assert cast(values, dtype("uint8")).tolist() == [0, 2, 2, 0, 255, 0, 0, 255]


def test_casts_between_integers_go_through_float32() -> None:
    data = np.array([[2**24 + 1, 7]], np.int32)

    def body(x: Any) -> Any:
        same, other = tile((1, 2), nl.int32), tile((1, 2), nl.uint32)
        nisa.tensor_copy(same, x)
        nisa.tensor_copy(other, x)
        return same, other
    same, other = evaluate(body, data)
    assert same.tolist() == [[2**24 + 1, 7]] and other.tolist() == [[2**24, 7]]


@pytest.mark.parametrize(("chip", "engine", "wanted"), [
    ("trn1", "scalar", 2**24), ("trn1", "vector", 2**24 + 1), ("trn1", "unknown", 2**24 + 1),
    ("trn2", "scalar", 2**24 + 1)])
def test_the_scalar_engine_of_neuroncore_v2_copies_by_way_of_float32(chip: str, engine: str,
                                                                     wanted: int) -> None:
    def body(x: Any) -> Any:
        copied = tile((1, 1), nl.int32)
        nisa.tensor_copy(copied, x, engine=getattr(nisa.engine, engine))
        return copied
    assert evaluate(body, np.array([[2**24 + 1]], np.int32), chip=chip).tolist() == [[wanted]]


@pytest.mark.parametrize("kind", [ml_dtypes.bfloat16, np.float16, ml_dtypes.float8_e4m3,
                                  ml_dtypes.float8_e5m2])
def test_every_float_type_is_stored_as_it_is(kind: Any) -> None:
    data = normal(32, 40, kind=kind)
    assert_allclose(evaluate(lambda x: x, data), data, rtol=0)


def test_a_tile_is_seen_as_another_type() -> None:
    data = normal(32, 40)

    def body(x: Any) -> Any:
        halves = tile((32, 40), nl.uint16)
        nisa.tensor_copy(halves, x.view(nl.uint16).reshape((32, 40, 2))[:, :, 1])
        return halves
    found = evaluate(body, data)
    assert_allclose(found, data.view(np.uint16)[:, 1::2], rtol=0)


def test_psum_accumulates_in_float32() -> None:
    ones = np.full((128, 128), 1.0, ml_dtypes.bfloat16)
    small = np.full((128, 128), 2.0**-10, ml_dtypes.bfloat16)

    def body(x: Any, y: Any) -> Any:
        psum = tile((128, 128), buffer=nl.psum)
        nisa.nc_matmul(psum, x, x)
        nisa.nc_matmul(psum, x, y)
        return psum
    assert_allclose(evaluate(body, ones, small), np.full((128, 128), 128.125), rtol=0)
