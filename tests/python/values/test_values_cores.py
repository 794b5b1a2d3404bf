# SPDX-License-Identifier: Apache-2.0
# Kernels on the two cores of a logical NeuronCore, registers and runtime loops.
"""What depends on another core, or on a value that the kernel has computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from trnsim.frontend import ProgramError, run_kernel
from trnsim.testing import assert_allclose
from values_helpers import integers, loaded, nisa, nki, nl, normal, stored, tile


@nki.jit
def swap_halves(x: Any) -> Any:
    """Each core writes its half to shared HBM, and after a barrier loads that of the other."""
    core = nl.program_id(0)
    shared = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="between")
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="out")
    mine, other = nl.ds(core * 64, 64), nl.ds(64 - core * 64, 64)
    data = tile((64, 32))
    nisa.dma_copy(data, x[mine, :])
    nisa.dma_copy(shared[mine, :], data)
    nisa.core_barrier(shared, (0, 1))
    nisa.dma_copy(data, shared[other, :])
    nisa.dma_copy(out[mine, :], data)
    return out


@nki.jit
def sum_of_both(x: Any) -> Any:
    """Each core sends its half to the other and adds the two."""
    core = nl.program_id(0)
    out = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    mine, theirs = tile((64, 32)), tile((64, 32))
    nisa.dma_copy(mine, x[nl.ds(core * 64, 64), :])
    nisa.sendrecv(mine, theirs, 1 - core, 1 - core, 0)
    nisa.tensor_tensor(mine, mine, theirs, nl.add)
    nisa.dma_copy(out[nl.ds(core * 64, 64), :], mine)
    return out


@nki.jit
def lonely_barrier(x: Any) -> Any:
    if nl.program_id(0) == 0:
        nisa.core_barrier(x, (0, 1))
    return stored(loaded(x))


def test_cores_share_memory_and_wait_at_barriers() -> None:
    data = normal(128, 32)
    assert_allclose(run_kernel(swap_halves[2], data), np.roll(data, 64, axis=0), rtol=0)


def test_cores_exchange_tiles() -> None:
    data = normal(128, 32)
    total = data[:64] + data[64:]
    assert_allclose(run_kernel(sum_of_both[2], data), np.concatenate([total, total]), rtol=0)


def test_a_core_that_waits_for_ever_is_an_error() -> None:
    with pytest.raises(ProgramError, match="core 0 waits for the other cores at a core_barrier"):
        run_kernel(lonely_barrier[2], normal(64, 32))


def test_registers_hold_what_is_loaded() -> None:
    def kernel(x: Any, counts: Any) -> Any:
        data, total = loaded(x), tile((64, 1))
        nisa.memset(total, 0.0)
        bound = nisa.register_alloc()
        nisa.register_load(bound, counts[0:1, 0:1])
        for at in nl.dynamic_range(bound):
            column = tile((64, 1))
            nisa.tensor_copy(column, data.ap([[32, 64], [1, 1]], scalar_offset=at, indirect_dim=1))
            nisa.tensor_tensor(total, total, column, nl.add)
        nisa.register_store(counts[0:1, 1:2], bound + 7)
        return stored(total)
    data, counts = normal(64, 32), np.array([[5, 0]], np.int32)
    found = run_kernel(kernel, data, counts, api="nki")
    assert_allclose(found, data[:, :5].sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-6)
    assert counts.tolist() == [[5, 12]]


def test_a_while_runs_as_often_as_its_values_say() -> None:
    def kernel(x: Any) -> Any:
        data, left = loaded(x), tile((1, 1), nl.int32)
        nisa.memset(left, 3)
        condition = nisa.register_alloc()
        nisa.register_load(condition, left)
        while condition:
            nisa.tensor_scalar(data, data, nl.multiply, 2.0)
            nisa.tensor_scalar(left, left, nl.subtract, 1)
            nisa.register_load(condition, left)
        return stored(data)
    data = normal(64, 32)
    assert_allclose(run_kernel(kernel, data, api="nki"), 8 * data, rtol=0)


def test_columns_by_index_on_trainium3() -> None:
    index = integers(0, 32, 64, 2, kind=np.uint16)

    def kernel(x: Any, i: Any) -> Any:
        result = tile((64, 32))
        nisa.tensor_copy(result, loaded(x).indirect(loaded(i), 32))
        return stored(result)
    data = normal(64, 32)
    columns = np.concatenate([np.repeat(index[first:first + 16].T.reshape(1, -1), 16, axis=0)
                              for first in range(0, 64, 16)])
    assert_allclose(run_kernel(kernel, data, index, api="nki", chip="trn3"),
                    np.take_along_axis(data, columns.astype(np.int64), axis=1), rtol=0)
