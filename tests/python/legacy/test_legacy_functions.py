# SPDX-License-Identifier: Apache-2.0
# Kernels of the 0.1 dialect that are made of functions.
"""A function of the kernel is inlined: its tiles are those of each call, as if it were written out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from legacy_helpers import nisa, nl, program, tensor
from trnsim.frontend import run_kernel

X = tensor("float32", 128, 512)


def tiles_of(kernel: Any) -> list[tuple[str, list[int]]]:
    """Memory and shape of every tile of the kernel, in the order of the trace."""
    records = [json.loads(line) for line in program(kernel, X).lines()]
    return [(one["space"], one["shape"]) for one in records
            if one["record"] == "buffer" and one["space"] != "hbm"]


def turned(tile: Any) -> Any:
    return nl.copy(nisa.nc_transpose(tile))


def squared(tile: Any) -> Any:
    return nisa.nc_matmul(tile, tile)


def in_functions(x: Any) -> None:
    tile = nl.load(x[0:128, 0:128])
    first, second = turned(tile), turned(tile)
    for i in nl.affine_range(4):
        nl.store(x[0:128, nl.ds(i * 128, 128)], value=nl.copy(squared(first)))
    nl.store(x[0:128, 0:128], value=nl.copy(squared(second)))


def written_out(x: Any) -> None:
    tile = nl.load(x[0:128, 0:128])
    first = nl.copy(nisa.nc_transpose(tile))
    second = nl.copy(nisa.nc_transpose(tile))
    for i in nl.affine_range(4):
        product = nisa.nc_matmul(first, first)
        nl.store(x[0:128, nl.ds(i * 128, 128)], value=nl.copy(product))
    product = nisa.nc_matmul(second, second)
    nl.store(x[0:128, 0:128], value=nl.copy(product))


def test_results_of_instructions_are_tiles_of_each_call() -> None:
    found = tiles_of(in_functions)
    assert found == tiles_of(written_out)
    assert len(found) == 9


def test_reductions_over_loops_are_those_of_each_call() -> None:
    def mean_of(source: Any, i: Any) -> Any:
        part = nl.load(source[nl.ds(i * 128, 128), 0:1])
        total = nl.loop_reduce(part, op=np.add, loop_indices=[i], dtype=nl.float32)
        return total

    def kernel(x: Any, y: Any) -> Any:
        out = nl.ndarray((2, 128, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        sums = nl.ndarray((2, nl.par_dim(128), 1), dtype=x.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(4):
            sums[0] = nl.copy(mean_of(x, i))
            sums[1] = nl.copy(mean_of(y, i))
        nl.store(out[0], value=sums[0])
        nl.store(out[1], value=sums[1])
        return out

    x, y = (np.random.default_rng(seed).standard_normal((512, 1)).astype(np.float32)
            for seed in (1, 2))
    found = run_kernel(kernel, x, y)
    wanted = np.stack([one.reshape(4, 128, 1).sum(axis=0) for one in (x, y)])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
