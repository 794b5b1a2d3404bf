# SPDX-License-Identifier: Apache-2.0
# Instructions some of whose operands go by indices of their own.
"""Gathers and scatters in one instruction, by equal and by different indices."""

from __future__ import annotations

import importlib
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from trnsim.frontend import ProgramError, run_kernel
from trnsim.testing import assert_allclose
from values_helpers import integers, loaded, nisa, nl, normal, stored, tile

old: Any = importlib.import_module("neuronxcc.nki.language")
oldisa: Any = importlib.import_module("neuronxcc.nki.isa")

Array = np.ndarray[Any, Any]


def columns(index: Array, count: int, group: int) -> Array:
    """The column of each element where a group of partitions shares its indices."""
    shared = [index[first:first + group].T.reshape(-1)[:count]
              for first in range(0, len(index), group)]
    return np.repeat(shared, group, axis=0).astype(np.int64)


def different_columns(partitions: int, count: int, limit: int, group: int) -> Array:
    """Indices no two of which are equal in a group of partitions."""
    random = np.random.default_rng(3)
    found = [random.permutation(limit)[:count].reshape(-1, group).T
             for _ in range(partitions // group)]
    return np.concatenate(found).astype(np.uint16)


def test_a_copy_gathers_columns_and_scatters_them() -> None:
    data, there = normal(64, 96), normal(64, 80)
    source, target = integers(0, 96, 64, 2, kind=np.uint16), different_columns(64, 32, 80, 16)

    def kernel(x: Any, y: Any, i: Any, j: Any) -> Any:
        result = loaded(y)
        nisa.tensor_copy(result.indirect(loaded(j), 32), loaded(x).indirect(loaded(i), 32))
        return stored(result)
    wanted = there.copy()
    np.put_along_axis(wanted, columns(target, 32, 16),
                      np.take_along_axis(data, columns(source, 32, 16), axis=1), axis=1)
    found = run_kernel(kernel, data, there, source, target, api="nki", chip="trn3")
    assert_allclose(found, wanted, rtol=0)


def test_a_predicated_scatter_writes_where_the_predicate_holds() -> None:
    data, there = normal(64, 32), normal(64, 80)
    chosen, target = integers(0, 2, 64, 32, kind=np.uint8), different_columns(64, 32, 80, 16)

    def kernel(x: Any, y: Any, p: Any, j: Any) -> Any:
        result = loaded(y)
        nisa.tensor_copy_predicated(result.indirect(loaded(j), 32), loaded(x), loaded(p))
        return stored(result)
    where = columns(target, 32, 16)
    wanted = there.copy()
    np.put_along_axis(wanted, where, np.where(
        chosen != 0, data, np.take_along_axis(there, where, axis=1)), axis=1)
    found = run_kernel(kernel, data, there, chosen, target, api="nki", chip="trn3")
    assert_allclose(found, wanted, rtol=0)


def test_both_tiles_of_a_matmul_go_by_indices() -> None:
    weights = normal(64, 24, kind=ml_dtypes.bfloat16)
    data = normal(64, 48, kind=ml_dtypes.bfloat16)
    first, second = (integers(0, 24, 64, 1, kind=np.uint16),
                     integers(0, 48, 64, 2, kind=np.uint16))

    def kernel(w: Any, x: Any, i: Any, j: Any) -> Any:
        result = tile((20, 40), buffer=nl.psum)
        nisa.nc_matmul(result, loaded(w).indirect(loaded(i), 20), loaded(x).indirect(loaded(j), 40))
        return stored(result)
    left, right = (np.take_along_axis(one.astype(np.float32), columns(index, count, 32), axis=1)
                   for one, index, count in ((weights, first, 20), (data, second, 40)))
    found = run_kernel(kernel, weights, data, first, second, api="nki", chip="trn3")
    assert_allclose(found, left.T @ right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("columns", [[[1, 24]], [[8, 3], [1, 8]], [[1, 8], [8, 3]]])
def test_a_transfer_gathers_rows_and_scatters_them(columns: list[list[int]]) -> None:
    table, into = normal(100, 24), normal(70, 24)
    source = integers(0, 100, 64, 1, kind=np.int32)
    target = np.random.default_rng(4).permutation(70)[:64].astype(np.int32)[:, None]

    def kernel(x: Any, y: Any, i: Any, j: Any) -> None:
        nisa.dma_copy(y.ap([[24, 64], *columns], vector_offset=loaded(j), indirect_dim=0),
                      x.ap([[24, 64], *columns], vector_offset=loaded(i), indirect_dim=0),
                      oob_mode=nisa.oob_mode.skip)
    source[5] = 1000  # Neither read nor written.
    wanted = into.copy()
    for row, (of, to) in enumerate(zip(source[:, 0], target[:, 0])):
        if row != 5:
            wanted[to] = table[of]
    run_kernel(kernel, table, into, source, target, api="nki")
    assert_allclose(into, wanted, rtol=0)


def test_a_gather_goes_by_its_own_indices_in_data_that_is_selected() -> None:
    data, index = normal(64, 3, 32), integers(0, 32, 64, 20, kind=np.uint32)

    def kernel(x: Any, i: Any, which: Any) -> Any:
        result = tile((64, 20))
        nisa.nc_n_gather(result, loaded(x).select(1, loaded(which)), loaded(i))
        return stored(result)
    found = run_kernel(kernel, data, index, np.array([[2]], np.int32), api="nki")
    assert_allclose(found, np.take_along_axis(data[:, 2], index.astype(np.int64), axis=1), rtol=0)


@pytest.mark.parametrize("rows", [64, 50])
def test_a_transfer_of_the_old_api_gathers_and_scatters(rows: int) -> None:
    table = normal(100, 24)
    source = integers(0, 100, 64, 1, kind=np.int32)
    target = np.random.default_rng(4).permutation(64).astype(np.int32)[:, None]

    def kernel(x: Any, i: Any, j: Any) -> Any:
        out = old.ndarray((64, 24), dtype=x.dtype, buffer=old.shared_hbm)
        row, column = old.arange(64)[:, None], old.arange(24)[None, :]
        gathered, scattered = old.load(i), old.load(j)
        oldisa.dma_copy(dst=out[scattered[row, 0], column], src=x[gathered[row, 0], column],
                        mask=row < rows if rows < 64 else None)
        return out
    found = run_kernel(kernel, table, source, target, api="neuronxcc.nki")
    wanted = np.full((64, 24), np.nan, np.float32)
    wanted[target[:rows, 0]] = table[source[:rows, 0]]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("start", "what"), [
    (200, r"lets an access of shape \[128, 8\] leave 'table'"), (256, "selects from 'table'")])
def test_an_offset_out_of_bounds_is_told_from_an_access_that_is(start: int, what: str) -> None:
    def kernel(table: Any) -> Any:
        row, data = tile((1, 1), nl.int32), tile((128, 8))
        nisa.memset(row, start)
        nisa.dma_copy(data, table.ap([[8, 128], [1, 8]], scalar_offset=row))
        return stored(data)
    with pytest.raises(ProgramError, match=rf"index {start} \(element .* of 'sbuf_0'\) {what}, which "
                                           "has 256 there; keep it in bounds"):
        run_kernel(kernel, normal(256, 8), api="nki")


def test_an_index_out_of_bounds_says_what_indices_there_are() -> None:
    def kernel(x: Any, i: Any) -> Any:
        found = tile((64, 32))
        nisa.nc_n_gather(found, loaded(x), loaded(i))
        return stored(found)
    indices = np.tile(np.arange(1, 33, dtype=np.uint32), (64, 1))
    with pytest.raises(ProgramError, match="nc_n_gather: the indices are 1 to 32, but a partition of "
                                           "data has 32 elements; keep them in bounds"):
        run_kernel(kernel, normal(64, 32), indices, api="nki")
