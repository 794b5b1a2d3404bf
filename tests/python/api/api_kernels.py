# SPDX-License-Identifier: Apache-2.0
# A kernel as a user of the API has it: in a module that imports trnsim and nki.
"""Kernels for the tests of the API."""

from __future__ import annotations

from typing import Any

import trnsim  # noqa: F401  nki is found after it
import neuronxcc.nki as old_nki
import neuronxcc.nki.language as old
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def double(x: Any, times: int = 1) -> Any:
    """x + x, `times` times, 128 rows at a time."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(x.shape[0] // 128):
        tile = nl.ndarray((128, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[row * 128:(row + 1) * 128])
        for _ in range(times):
            nisa.tensor_tensor(dst=tile, data1=tile, data2=tile, op=nl.add)
        nisa.dma_copy(dst=out[row * 128:(row + 1) * 128], src=tile)
    return out


@nki.jit
def overflowing(x: Any) -> None:
    """Asks for more partitions than there are."""
    nl.ndarray((256, 4), dtype=x.dtype, buffer=nl.sbuf)


@nki.jit
def half_loaded(x: Any) -> Any:
    """Stores a tile of which only the first half of the columns is loaded."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    half = x.shape[1] // 2
    nisa.dma_copy(dst=tile[:, 0:half], src=x[:, 0:half])
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def masked(x: Any) -> Any:
    """x in its first half of columns, and in the second nothing times 0."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile, mask = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf) for _ in range(2))
    half = x.shape[1] // 2
    nisa.dma_copy(dst=tile[:, 0:half], src=x[:, 0:half])
    nisa.memset(mask[:, 0:half], 1.0)
    nisa.memset(mask[:, half:], 0.0)
    nisa.tensor_tensor(tile, tile, mask, op=nl.multiply)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def counted_half(x: Any, count: Any) -> Any:
    """x times 1, as often as a number in HBM says, with nothing in the second half of columns."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    half = x.shape[1] // 2
    nisa.dma_copy(dst=tile[:, 0:half], src=x[:, 0:half])
    rows = nisa.register_alloc()
    nisa.register_load(rows, count)
    for _ in nl.dynamic_range(rows):
        nisa.tensor_scalar(tile, tile, op0=nl.multiply, operand0=1.0)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def counted(x: Any, count: Any) -> None:
    """Loads x as often as a number in HBM says."""
    rows = nisa.register_alloc()
    nisa.register_load(rows, count)
    for _ in nl.dynamic_range(rows):
        nl.load(x)


def plain(x: Any) -> Any:
    """A function that no decorator has seen."""
    return x


@nki.jit
def irregular(x: Any, times: int) -> Any:
    """Operations whose order no loop tells."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(x.shape[0] // 128):
        tile = nl.ndarray((128, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[row * 128:(row + 1) * 128])
        for i in range(times):
            operation = nl.add if (i * i) % (7 + row % 3) != times % 5 else nl.multiply
            nisa.tensor_tensor(dst=tile, data1=tile, data2=tile, op=operation)
        nisa.dma_copy(dst=out[row * 128:(row + 1) * 128], src=tile)
    return out


@old_nki.jit
def old_scaled(x: Any, factor: float) -> Any:
    """x times a number, with the old API."""
    out = old.ndarray(x.shape, dtype=x.dtype, buffer=old.shared_hbm)
    old.store(out, value=old.load(x) * factor)
    return out
