# SPDX-License-Identifier: Apache-2.0
# MXFP8 and MXFP4 against numpy.
"""Packed arrays as arguments and results, and matmuls that accumulate."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from trnsim.frontend import dtype, run_kernel
from trnsim.frontend.values.microscaling import packed, unpacked
from trnsim.testing import assert_allclose
from values_helpers import loaded, nisa, nl, normal, stored, tile

KINDS = {"float8_e5m2_x4": ml_dtypes.float8_e5m2, "float8_e4m3fn_x4": ml_dtypes.float8_e4m3fn,
         "float4_e2m1fn_x4": ml_dtypes.float4_e2m1fn}
TILES = 3
"""512 rows of the contraction each."""


@pytest.mark.parametrize("name", KINDS)
def test_packed_elements_are_the_rounded_numbers_in_their_order(name: str) -> None:
    data = normal(16, 12)
    found = packed(data, dtype(name))
    assert found.shape == (16, 3) and found.dtype == dtype(name)
    assert_allclose(unpacked(found, dtype(name)).reshape(16, 12),
                    data.astype(KINDS[name]).astype(np.float32), rtol=0)


@pytest.mark.parametrize("name", KINDS)
def test_a_packed_array_is_an_argument_and_a_result(name: str) -> None:
    given = packed(normal(32, 16), dtype(name))

    def body(x: Any) -> Any:
        return stored(loaded(x))
    found = run_kernel(body, given, chip="trn3", api="nki")
    assert found.dtype == given.dtype and found.tobytes() == given.tobytes()


def test_a_packed_array_is_updated_where_the_kernel_writes_it() -> None:
    given = packed(normal(32, 16), dtype("float8_e5m2_x4"))

    def body(x: Any) -> None:
        data = tile(x.shape, x.dtype)
        nisa.memset(data, 0)
        nisa.dma_copy(x, data)
    run_kernel(body, given, chip="trn3", api="nki")
    assert not given.view(np.uint32).any()


@pytest.mark.parametrize(("name", "largest_exponent", "largest"), [
    ("float8_e5m2_x4", 15, 57344.0), ("float8_e4m3fn_x4", 8, 448.0)])
def test_blocks_are_quantized_by_twice_the_scale_of_the_standard(name: str, largest_exponent: int,
                                                                 largest: float) -> None:
    """8 partitions by 4 elements share a scale, a power of two. [NKI-ISA, quantize_mx]"""
    data = (normal(64, 24) * 2.0 ** np.arange(-12, 12)).astype(np.float16)
    data[8:16, 4:8] = 0

    def body(x: Any) -> Any:
        result, scale = tile((64, 6), getattr(nl, name)), tile((64, 6), nl.uint8)
        nisa.quantize_mx(result, loaded(x), scale)
        return tuple(map(stored, (result, scale[0:4], scale[32:36])))
    result, *scales = run_kernel(body, data, chip="trn3", api="nki")
    groups = data.astype(np.float64).reshape(8, 8, 6, 4)
    most = np.abs(groups).max(axis=(1, 3))
    exponents = np.where(most > 0, np.floor(np.log2(np.maximum(most, 1e-30))) - largest_exponent + 1, -127)
    assert (np.concatenate(scales) == exponents + 127).all()
    scaled = np.clip(groups / 2.0 ** exponents[:, None, :, None], -largest, largest).reshape(64, 24)
    assert_allclose(unpacked(result, dtype(name)).reshape(64, 24),
                    scaled.astype(np.float32).astype(KINDS[name]).astype(np.float32), rtol=0)


def blocks(name: str, columns: int, seed: int) -> tuple[Any, Any, Any]:
    """Packed elements [128, TILES, columns], scales [16, TILES, columns], and the values."""
    random = np.random.default_rng(seed)
    numbers = random.standard_normal((128, TILES * columns * 4)).astype(np.float32)
    scales = random.integers(122, 130, (16, TILES, columns)).astype(np.uint8)
    factors = np.exp2(np.repeat(scales, 8, axis=0).astype(np.float64) - 127)
    elements = numbers.astype(KINDS[name]).astype(np.float64)
    return (packed(numbers, dtype(name)).reshape(128, TILES, columns), scales,
            elements.reshape(128, TILES, columns, 4) * factors[..., None])


def scattered(scales: Any) -> Any:
    """Scales in the partitions where the hardware has them."""
    found = tile((128, *scales.shape[1:]), scales.dtype)
    for quadrant in range(4):
        nisa.dma_copy(found[32 * quadrant:32 * quadrant + 4],
                      scales[4 * quadrant:4 * quadrant + 4])
    return found


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("accumulate", [None, True])
def test_matmuls_into_one_tile_accumulate(name: str, accumulate: bool | None) -> None:
    left, left_scale, a = blocks(name, 64, 1)
    right, right_scale, b = blocks(name, 96, 2)

    def body(left: Any, left_scale: Any, right: Any, right_scale: Any) -> Any:
        left, right = loaded(left), loaded(right)
        left_scale, right_scale = scattered(left_scale), scattered(right_scale)
        psum = tile((64, 96), buffer=nl.psum)
        for one in range(TILES):
            nisa.nc_matmul_mx(psum, left[:, one], right[:, one], left_scale[:, one],
                              right_scale[:, one], accumulate=accumulate if one else None)
        return stored(psum)
    found = run_kernel(body, left, left_scale, right, right_scale, chip="trn3", api="nki")
    wanted = np.einsum("khiq,khjq->ij", a, b)
    assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * float(np.abs(wanted).max()))


def test_a_matmul_that_does_not_accumulate_overwrites() -> None:
    left, left_scale, a = blocks("float8_e5m2_x4", 64, 1)

    def body(left: Any, left_scale: Any) -> Any:
        left, scale = loaded(left), scattered(left_scale)
        psum = tile((64, 64), buffer=nl.psum)
        for one in (0, 1):
            nisa.nc_matmul_mx(psum, left[:, one], left[:, one], scale[:, one], scale[:, one],
                              accumulate=False)
        return stored(psum)
    found = run_kernel(body, left, left_scale, chip="trn3", api="nki")
    wanted = np.einsum("kiq,kjq->ij", a[:, 1], a[:, 1])
    assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * float(np.abs(wanted).max()))
