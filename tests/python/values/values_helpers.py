# SPDX-License-Identifier: Apache-2.0
# What the tests of values share.
"""Small kernels of the `nki` API around one operation, and arrays to run them on."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from trnsim.frontend import install, run_kernel

install()
nki: Any = importlib.import_module("nki")
nl: Any = importlib.import_module("nki.language")
nisa: Any = importlib.import_module("nki.isa")
collectives: Any = importlib.import_module("nki.collectives")

Array = Any
BF16, FP16 = ml_dtypes.bfloat16, np.float16


def normal(*shape: int, kind: Any = np.float32, seed: int = 0) -> Array:
    """Standard normal numbers that depend on the shape and the seed only."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(kind)


def integers(low: int, high: int, *shape: int, kind: Any = np.int32, seed: int = 0) -> Array:
    """Random integers."""
    return np.random.default_rng([seed, *shape]).integers(low, high, shape).astype(kind)


def loaded(array: Any) -> Any:
    """An SBUF tile with the contents of an argument."""
    tile = nl.ndarray(array.shape, dtype=array.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, array)
    return tile


def stored(tile: Any) -> Any:
    """An output with the contents of a tile."""
    if tile.buffer is nl.psum:
        copy = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(copy, tile)
        tile = copy
    out = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out


def tile(shape: tuple[int, ...], dtype: Any = None, buffer: Any = None) -> Any:
    """A new tile; float32 in SBUF by default."""
    return nl.ndarray(shape, dtype=dtype or nl.float32, buffer=buffer or nl.sbuf)


def half_loaded(array: Any) -> Any:
    """An SBUF tile of which the first half of the columns is written."""
    half = array.shape[1] // 2
    data = tile(array.shape, array.dtype)
    nisa.dma_copy(data[:, 0:half], array[:, 0:half])
    return data


def evaluate(body: Callable[..., Any], *arrays: Array, chip: str = "trn2") -> Any:
    """What `body` makes of tiles with the given contents; it returns a tile or several."""
    def kernel(*arguments: Any) -> Any:
        result = body(*(loaded(one) for one in arguments))
        return tuple(stored(one) for one in result) if isinstance(result, tuple) else stored(result)
    return run_kernel(kernel, *arrays, chip=chip, api="nki")


def evaluate_old(body: Callable[..., Any], *arrays: Array) -> Any:
    """What `body` makes of tiles of the `neuronxcc.nki` API with the given contents."""
    language = importlib.import_module("neuronxcc.nki.language")

    def kernel(*given: Any) -> Any:
        result = body(*(language.load(one) for one in given))
        output = language.ndarray(result.shape, dtype=result.dtype, buffer=language.shared_hbm)
        language.store(output, result)
        return output
    return run_kernel(kernel, *arrays, api="neuronxcc.nki")
