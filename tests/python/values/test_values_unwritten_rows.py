# SPDX-License-Identifier: Apache-2.0
# What nothing has written, along rows and through accumulators.
"""Scans, searches, reductions and accumulator registers take along what nothing has written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from trnsim.frontend import ProgramError, run_kernel, trace
from values_helpers import half_loaded, loaded, nisa, nl, normal, stored, tile

ROWS, COLUMNS = 64, 32
X = normal(ROWS, COLUMNS)


def in_the_middle(x: Any) -> Any:
    """A tile of which column 16 is not written."""
    data = half_loaded(x)
    nisa.dma_copy(data[:, 17:], x[:, 17:])
    return data


def half_of_the_rows(x: Any) -> Any:
    """A tile of which the first half of the rows is written."""
    half = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(half[0:ROWS // 2, :], x[0:ROWS // 2, :])
    return half


def scanned(data: Any, other: Any) -> Any:
    result = tile(data.shape)
    nisa.tensor_tensor_scan(result, data, other, 0.0, op0=nl.multiply, op1=nl.add)
    return result


def accumulated(data: Any, other: Any) -> Any:
    result = tile(data.shape)
    nisa.tensor_scalar_cumulative(dst=result, src=data, op0=nl.multiply, op1=nl.add, imm0=1.0,
                                  reduce_cmd=nisa.reduce_cmd.reset_reduce)
    return result


@pytest.mark.parametrize(("scan", "chip"), [(scanned, "trn2"), (accumulated, "trn3")])
def test_all_that_follows_garbage_in_a_scan_is_garbage(scan: Callable[..., Any], chip: str) -> None:
    def kernel(x: Any, at: int) -> Any:
        return stored(scan(in_the_middle(x), loaded(x))[:, at:at + 1])
    assert np.isfinite(run_kernel(kernel, X, 15, api="nki", chip=chip)).all()
    for at in (16, 17, 31):
        with pytest.raises(ProgramError, match=r"element .0, 16. of .* is read, but nothing has "
                                               r"written it, and element .0, 0. of 'out', stored at"):
            run_kernel(kernel, X, at, api="nki", chip=chip)


def largest(data: Any) -> Any:
    result = tile((ROWS, 8))
    nisa.max8(dst=result, src=data)
    return result


def found(data: Any) -> Any:
    result = tile((ROWS, 8), nl.uint32)
    nisa.nc_find_index8(dst=result, data=data, vals=data[:, 0:8])
    return result


def replaced(data: Any) -> Any:
    result = tile(data.shape)
    nisa.nc_match_replace8(dst=result, data=data, vals=data[:, 0:8], imm=0.0)
    return result


@pytest.mark.parametrize("search", [largest, found, replaced])
@pytest.mark.parametrize("columns", [8, COLUMNS])
def test_a_search_in_a_row_with_garbage_finds_garbage(search: Callable[..., Any],
                                                      columns: int) -> None:
    def kernel(x: Any, rows: int) -> Any:
        data = half_of_the_rows(x)
        nisa.dma_copy(data[32:, 0:7], x[32:, 0:7])
        return stored(search(data[:, 0:columns])[0:rows, 0:1])
    run_kernel(kernel, X, 32, api="nki")
    with pytest.raises(ProgramError, match=r"element .32, 7. of .* and element .32, 0. of 'out', s"):
        run_kernel(kernel, X, 33, api="nki")


def test_a_reduction_is_garbage_where_it_reduces_garbage() -> None:
    def kernel(x: Any, groups: int) -> Any:
        result = tile((ROWS, 4))
        nisa.tensor_reduce(result, nl.add, in_the_middle(x).reshape((ROWS, 4, 8)), axis=2)
        return stored(result[:, 0:groups])
    sums = X.reshape(ROWS, 4, 8).sum(axis=2)
    np.testing.assert_allclose(run_kernel(kernel, X, 2, api="nki"), sums[:, 0:2], rtol=1e-4)
    with pytest.raises(ProgramError, match=r"and element .0, 2. of 'out', stored at"):
        run_kernel(kernel, X, 3, api="nki")


def test_a_reduction_over_partitions_is_garbage_in_the_columns_of_garbage() -> None:
    def kernel(x: Any, columns: int) -> Any:
        result = tile((1, COLUMNS))
        nisa.tensor_partition_reduce(result, nl.add, half_loaded(x))
        return stored(result[:, 0:columns])
    np.testing.assert_allclose(run_kernel(kernel, X, 16, api="nki")[0], X.sum(axis=0)[0:16], rtol=1e-4)
    with pytest.raises(ProgramError, match=r"and element .0, 16. of 'out', stored at"):
        run_kernel(kernel, X, 17, api="nki")


COMMAND = nisa.reduce_cmd


@pytest.mark.parametrize(("last", "is_error"), [(COMMAND.reduce, True), (COMMAND.idle, True),
                                                (COMMAND.reset_reduce, False)])
def test_registers_remember_garbage_until_they_are_reset(last: Any, is_error: bool) -> None:
    def kernel(x: Any) -> Any:
        data, result, total = loaded(x), tile((ROWS, COLUMNS)), tile((ROWS, 1))
        nisa.activation(dst=result, op=nl.copy, data=half_of_the_rows(x), reduce_op=nl.add,
                        reduce_res=total, reduce_cmd=COMMAND.reset_reduce)
        nisa.activation(dst=result, op=nl.copy, data=data, reduce_op=nl.add, reduce_res=total,
                        reduce_cmd=last)
        return stored(total)
    if not is_error:
        np.testing.assert_allclose(run_kernel(kernel, X, api="nki")[:, 0], X.sum(axis=1), rtol=1e-4)
        return
    with pytest.raises(ProgramError, match=r"element .32, 0. of 'half' .* and element .32, 0. of 'ou"):
        run_kernel(kernel, X, api="nki")


def summed(commands: list[tuple[Any, int, int]], rows: int) -> Callable[[Any], Any]:
    """A kernel that sums tiles of which rows from `first` to `end` are written, one after another,
    and stores some rows of the sum."""
    def kernel(x: Any) -> Any:
        result, total, whole = tile((ROWS, COLUMNS)), tile((ROWS, 1)), tile((ROWS, 1))
        nisa.memset(whole, 0.0)
        for command, first, end in commands:
            data = tile(x.shape)
            nisa.dma_copy(data[first:end, :], x[first:end, :])
            initial = {"reduce_init": whole} if command is COMMAND.load_reduce else {}
            nisa.exponential(dst=result, src=data, max_value=0.0, reduce_res=total,
                             reduce_cmd=command, **initial)
        return stored(total[0:rows, :])
    return kernel


def test_registers_remember_the_garbage_of_all_that_is_added() -> None:
    parts = [(COMMAND.reset_reduce, 0, 32), (COMMAND.reduce, 0, 48), (COMMAND.reduce, 0, ROWS)]
    found = run_kernel(summed(parts, 32), X, api="nki", chip="trn3")
    np.testing.assert_allclose(found[:, 0], 3 * np.exp(X[0:32]).sum(axis=1), rtol=1e-4)
    with pytest.raises(ProgramError, match=r"and element .32, 0. of 'out', stored at"):
        run_kernel(summed(parts, 33), X, api="nki", chip="trn3")


def test_what_is_not_added_is_not_remembered() -> None:
    parts = [(COMMAND.reset_reduce, 0, ROWS), (COMMAND.idle, 0, 32), (COMMAND.reduce, 0, ROWS)]
    found = run_kernel(summed(parts, ROWS), X, api="nki", chip="trn3")
    np.testing.assert_allclose(found[:, 0], 2 * np.exp(X).sum(axis=1), rtol=1e-4)


def test_a_loaded_register_forgets_garbage() -> None:
    parts = [(COMMAND.reset_reduce, 0, 32), (COMMAND.load_reduce, 0, ROWS)]
    found = run_kernel(summed(parts, ROWS), X, api="nki", chip="trn3")
    np.testing.assert_allclose(found[:, 0], np.exp(X).sum(axis=1), rtol=1e-4)


def test_a_scan_begins_with_what_the_registers_hold() -> None:
    def kernel(x: Any, command: Any) -> Any:
        result = tile((ROWS, COLUMNS))
        for data in (half_of_the_rows(x), loaded(x)):
            nisa.tensor_scalar_cumulative(dst=result, src=data, op0=nl.multiply, op1=nl.add,
                                          imm0=1.0, reduce_cmd=command)
        return stored(result)
    wanted = np.cumsum(X, axis=1)
    result = run_kernel(kernel, X, COMMAND.reset_reduce, api="nki", chip="trn3")
    np.testing.assert_allclose(result, wanted, rtol=1e-3, atol=1e-4)
    with pytest.raises(ProgramError, match=r"element .32, 0. of .* and element .32, 0. of 'out', sto"):
        run_kernel(kernel, X, COMMAND.reduce, api="nki", chip="trn3")


def mask(kind: Any) -> Any:
    """A tile with ones in its first half and zeros in the other."""
    data = tile((ROWS, COLUMNS), kind)
    nisa.memset(data, 0)
    nisa.memset(data[:, 0:COLUMNS // 2], 1)
    return data


def masked(data: Any) -> Any:
    result = tile(data.shape, data.dtype)
    nisa.tensor_tensor(result, data, mask(data.dtype), op=nl.multiply)
    return result


def masked_from_the_left(data: Any) -> Any:
    result = tile(data.shape, data.dtype)
    nisa.tensor_tensor(result, mask(data.dtype), data, op=nl.multiply)
    return result


def masked_in_integers(data: Any) -> Any:
    result = tile(data.shape, data.dtype)
    nisa.tensor_tensor(result, data, mask(data.dtype), op=nl.multiply, engine=nisa.engine.gpsimd)
    return result


def twice_masked(data: Any) -> Any:
    result = tile(data.shape, data.dtype)
    nisa.scalar_tensor_tensor(result, data=masked(data), op0=nl.multiply, operand0=2.0, op1=nl.multiply,
                              operand1=mask(data.dtype))
    return result


@pytest.mark.parametrize(("product", "factor"), [
    (masked, 1), (masked_from_the_left, 1), (masked_in_integers, 1), (twice_masked, 2)])
def test_a_mask_of_zeros_takes_garbage_away_and_is_warned_of(product: Callable[..., Any],
                                                             factor: int) -> None:
    kind = np.int32 if product is masked_in_integers else np.float32
    data = (100 * X).astype(kind)
    program = trace(lambda x: stored(product(half_loaded(x))), [data], api="nki", values=True)
    half = COLUMNS // 2
    assert (program.outputs[:, 0:half] == factor * data[:, 0:half]).all()
    assert (program.outputs[:, half:] == 0).all()
    assert any("what nothing has written is multiplied by 0" in note for note in program.notes)


@pytest.mark.parametrize("chosen", [0.0, 1.0])
def test_a_column_of_zeros_takes_garbage_away_in_its_rows(chosen: float) -> None:
    def kernel(x: Any) -> Any:
        data, keeps = half_of_the_rows(x), tile((ROWS, 1))
        nisa.memset(keeps, 1.0)
        nisa.memset(keeps[ROWS // 2:, :], chosen)
        result = tile(x.shape)
        nisa.tensor_scalar(result, data, op0=nl.multiply, operand0=keeps, op1=nl.add, operand1=1.0)
        return stored(result)
    if chosen:
        with pytest.raises(ProgramError, match=r"element .32, 0. of 'half' .* element .32, 0. of 'out'"):
            run_kernel(kernel, X, api="nki")
    else:
        wanted = 1 + np.where(np.arange(ROWS)[:, None] < ROWS // 2, X, 0)
        assert (run_kernel(kernel, X, api="nki") == wanted).all()


@pytest.mark.parametrize("op", [nl.multiply, nl.add, nl.maximum])
def test_garbage_times_itself_or_with_zeros_otherwise_stays_garbage(op: Any) -> None:
    def kernel(x: Any) -> Any:
        data, result = half_loaded(x), tile(x.shape)
        nisa.tensor_tensor(result, data, data if op is nl.multiply else mask(x.dtype), op=op)
        return stored(result)
    with pytest.raises(ProgramError, match=r"element .0, 16. of 'out', stored at"):
        run_kernel(kernel, X, api="nki")


def test_a_column_of_zeros_does_so_before_a_second_operator() -> None:
    def kernel(x: Any) -> Any:
        keeps, result = tile((ROWS, 1)), tile(x.shape)
        nisa.memset(keeps, 1.0)
        nisa.memset(keeps[ROWS // 2:, :], 0.0)
        nisa.scalar_tensor_tensor(result, data=half_of_the_rows(x), op0=nl.multiply, operand0=keeps, op1=nl.add,
                                  operand1=loaded(x))
        return stored(result)
    assert (run_kernel(kernel, X, api="nki") == X + np.where(np.arange(ROWS)[:, None] < ROWS // 2, X, 0)).all()


def test_a_column_of_zeros_does_so_before_a_reduction() -> None:
    def kernel(x: Any) -> Any:
        keeps, sums = tile((ROWS, 1)), tile((ROWS, 1))
        nisa.memset(keeps, 1.0)
        nisa.memset(keeps[ROWS // 2:, :], 0.0)
        nisa.tensor_scalar_reduce(tile(x.shape), half_of_the_rows(x), op0=nl.multiply, operand0=keeps,
                                  reduce_op=nl.add, reduce_res=sums)
        return stored(sums)
    found = run_kernel(kernel, np.round(8 * X), api="nki")
    assert (found[:, 0] == np.where(np.arange(ROWS) < ROWS // 2, np.round(8 * X).sum(axis=1), 0)).all()


def test_garbage_that_no_zero_multiplies_is_not_warned_of() -> None:
    def kernel(x: Any) -> Any:
        nisa.tensor_tensor(tile(x.shape), half_loaded(x), loaded(x), op=nl.multiply)
        return stored(loaded(x))
    program = trace(kernel, [1 + X ** 2], api="nki", values=True)
    assert not any("multiplied by 0" in note for note in program.notes)
