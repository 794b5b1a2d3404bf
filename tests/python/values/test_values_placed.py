# SPDX-License-Identifier: Apache-2.0
# Tests of tiles at fixed addresses that take each other's bytes.
"""A tile that is written where another one lies leaves nothing of it there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from trnsim.frontend import ProgramError, run_kernel
from values_helpers import nisa, nl, normal


def at(byte: int, shape: tuple[int, ...], partition: int = 0, dtype: Any = nl.float32,
       buffer: Any = nl.sbuf, name: str = "") -> Any:
    return nl.ndarray(shape, dtype=dtype, buffer=buffer, name=name, address=(partition, byte))


def kept(x: Any, place: tuple[int, int], write: Any, part: Any) -> Any:
    """A part of a tile at byte 0, after a tile of its shape at (byte, partition) was written to."""
    first = at(0, x.shape, name="first")
    second = at(place[0], x.shape, place[1], name="second")
    nisa.dma_copy(first, x)
    write(second, x)
    found = part(first)
    out = nl.ndarray(found.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, found)
    return out


def fill(tile: Any, x: Any) -> None:
    nisa.memset(tile, 0.0)


def fill_lower_half(tile: Any, x: Any) -> None:
    nisa.memset(tile[32:64], 0.0)


def fill_even(tile: Any, x: Any) -> None:
    nisa.memset(tile[:, 0::2], 0.0)


@pytest.mark.parametrize(("place", "write", "part"), [
    ((128, 0), fill, lambda t: t[:, :32]), ((128, 64), fill, lambda t: t),
    ((256, 0), fill, lambda t: t), ((0, 0), fill_lower_half, lambda t: t[:32]),
    ((4, 0), fill_even, lambda t: t[:, 0::2])])
def test_bytes_that_nobody_took_are_kept(place: tuple[int, int], write: Any, part: Any) -> None:
    x = normal(64, 64)
    assert np.array_equal(run_kernel(lambda x: kept(x, place, write, part), x, api="nki"), part(x))


@pytest.mark.parametrize(("place", "write", "part", "taken"), [
    ((128, 0), fill, lambda t: t, "128 to 255"), ((0, 0), fill_lower_half, lambda t: t, "0 to 255"),
    ((4, 0), fill_even, lambda t: t, "4 to 255"),
    ((128, 0), lambda t, x: nisa.dma_copy(t, x), lambda t: t[:, 32:], "128 to 255")])
def test_bytes_that_another_tile_took_are_gone(place: tuple[int, int], write: Any, part: Any,
                                               taken: str) -> None:
    with pytest.raises(ProgramError, match=rf"'second' is written to bytes {taken} of sbuf, where "
                                           r"'first' lies \(place one"):
        run_kernel(lambda x: kept(x, place, write, part), normal(64, 64), api="nki")


def test_a_tile_that_is_written_again_is_whole() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for _ in range(2):
            first, second = at(0, x.shape), at(128, x.shape)
            nisa.memset(second, 1.0)
            nisa.dma_copy(first, x)
            nisa.dma_copy(out, first)
        return out
    x = normal(64, 64)
    assert np.array_equal(run_kernel(kernel, x, api="nki"), x)


def test_products_take_the_banks_of_others() -> None:
    def kernel(x: Any) -> Any:
        tile = nl.load(x)
        products = [at(0, (64, 64), buffer=nl.psum) for _ in range(2)]
        for product in products:
            nisa.nc_matmul(product, tile, tile)
        result = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(result, products[0])
        out = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, result)
        return out
    with pytest.raises(ProgramError, match="is written to bytes 0 to 255 of psum"):
        run_kernel(kernel, normal(64, 64), api="nki")


def test_bytes_may_be_part_of_an_element() -> None:
    def kernel(x: Any) -> Any:
        first, second = at(0, (64, 64)), at(10, (64, 3), dtype=nl.uint8)
        nisa.dma_copy(first, x)
        nisa.memset(second, 0)
        out = nl.ndarray((64, 63), dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out[:, 0:2], first[:, 0:2])
        nisa.dma_copy(out[:, 2:63], first[:, 3:64])
        return out
    with pytest.raises(ProgramError, match="written to bytes 10 to 12 of sbuf"):
        run_kernel(kernel, normal(64, 64), api="nki")
