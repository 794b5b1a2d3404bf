# SPDX-License-Identifier: Apache-2.0
# What nothing has written, on its way through memories and packed types.
"""DMAs, indirect accesses and microscaling take along what nothing has written; leaving it in a
result is an error, leaving it elsewhere is none."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from trnsim.frontend import ProgramError, dtype, run_kernel, trace
from trnsim.frontend.values.microscaling import packed
from values_helpers import half_loaded, loaded, nisa, nl, normal, stored, tile

old: Any = importlib.import_module("neuronxcc.nki.language")
ROWS, COLUMNS = 64, 32
X = normal(ROWS, COLUMNS)


def scratch(shape: tuple[int, ...], kind: Any = nl.float32) -> Any:
    return nl.ndarray(shape, dtype=kind, buffer=nl.private_hbm)


def copied(x: Any) -> Any:
    result = tile(x.shape)
    nisa.dma_copy(result, half_loaded(x))
    return result


def through_hbm(x: Any) -> Any:
    there = scratch(x.shape)
    nisa.dma_copy(there, half_loaded(x))
    return loaded(there)


def cast_on_the_way(x: Any) -> Any:
    there = scratch(x.shape, nl.bfloat16)
    nisa.dma_copy(there, half_loaded(x))
    result = tile(x.shape)
    nisa.dma_copy(result, there)
    return result


def in_another_shape(x: Any) -> Any:
    there = scratch((ROWS * 2, COLUMNS // 2))
    nisa.dma_copy(there.reshape((ROWS, 2, COLUMNS // 2)), half_loaded(x).reshape((ROWS, 2, COLUMNS // 2)))
    return loaded(there.reshape((ROWS, COLUMNS)))


def with_other_rows(x: Any) -> Any:
    there = scratch((ROWS * 2, COLUMNS // 2))
    nisa.dma_copy(there, half_loaded(x))
    result = tile(x.shape)
    nisa.dma_copy(result, there)
    return result


def summed(x: Any) -> Any:
    return sum_of(half_loaded(x), zeros(x))


def summed_the_other_way(x: Any) -> Any:
    return sum_of(zeros(x), half_loaded(x))


def zeros(x: Any) -> Any:
    data = tile(x.shape)
    nisa.memset(data, 0.0)
    return data


def sum_of(*sources: Any) -> Any:
    result = tile(sources[0].shape)
    nisa.dma_compute(result, list(sources), reduce_op=nl.add)
    return result


@pytest.mark.parametrize("move", [copied, through_hbm, cast_on_the_way, in_another_shape, with_other_rows,
                                  summed, summed_the_other_way])
def test_a_dma_takes_garbage_along(move: Callable[[Any], Any]) -> None:
    def kernel(x: Any, columns: int) -> Any:
        return stored(move(x)[:, 0:columns])
    found = run_kernel(kernel, X, 16, api="nki")
    np.testing.assert_allclose(found, X[:, 0:16], rtol=1e-2)
    with pytest.raises(ProgramError, match=r"element .0, (16|1, 0). of .* is read, but nothing "
                                           r"has written it, and element .0, 16. of 'out', sto"):
        run_kernel(kernel, X, 17, api="nki")


def test_a_dma_transposes_garbage() -> None:
    def kernel(x: Any, rows: int) -> Any:
        there = scratch((ROWS, COLUMNS), nl.bfloat16)
        nisa.dma_copy(there, half_loaded(x))
        result = tile((COLUMNS, ROWS), nl.bfloat16)
        nisa.dma_transpose(result, there)
        return stored(result[0:rows, :])
    found = run_kernel(kernel, X, 16, api="nki")
    np.testing.assert_allclose(found.astype(np.float32), X[:, 0:16].T, rtol=1e-2)
    with pytest.raises(ProgramError, match=r"and element .16, 0. of 'out', stored at"):
        run_kernel(kernel, X, 17, api="nki")


def test_a_gather_of_rows_takes_garbage_along() -> None:
    def kernel(x: Any, index: Any, rows: int) -> Any:
        there = scratch((ROWS, COLUMNS))
        nisa.dma_copy(there[0:32, :], loaded(x)[0:32, :])
        result = tile((ROWS, COLUMNS))
        nisa.dma_copy(result, there.ap([[COLUMNS, ROWS], [1, COLUMNS]],
                                       vector_offset=loaded(index), indirect_dim=0))
        return stored(result[0:rows, :])
    index = np.concatenate([np.arange(32)[::-1], np.arange(32, ROWS)]).astype(np.int32)[:, None]
    np.testing.assert_array_equal(run_kernel(kernel, X, index, 32, api="nki"), X[0:32][::-1])
    with pytest.raises(ProgramError, match=r"element .32, 0. of .* and element .32, 0. of 'out', s"):
        run_kernel(kernel, X, index, 33, api="nki")


def test_a_scatter_of_rows_takes_garbage_along() -> None:
    def kernel(x: Any, index: Any, first: int) -> Any:
        there = scratch((ROWS, COLUMNS))
        data = tile((ROWS, COLUMNS))
        nisa.dma_copy(data[0:32, :], x[0:32, :])
        nisa.dma_copy(there.ap([[COLUMNS, ROWS], [1, COLUMNS]], vector_offset=loaded(index),
                               indirect_dim=0), data)
        return stored(loaded(there)[first:ROWS, :])
    index = np.arange(ROWS)[::-1].astype(np.int32)[:, None].copy()
    np.testing.assert_array_equal(run_kernel(kernel, X, index, 32, api="nki"), X[0:32][::-1])
    with pytest.raises(ProgramError, match=r"element .32, 0. of .* and element .0, 0. of 'out', sto"):
        run_kernel(kernel, X, index, 31, api="nki")


def test_garbage_of_a_scatter_stays_when_other_rows_are_written() -> None:
    def kernel(x: Any, index: Any) -> Any:
        there, data = scratch((ROWS, COLUMNS)), tile((32, COLUMNS))
        nisa.dma_copy(there[0:32, :], loaded(x)[0:32, :])
        nisa.dma_copy(data[:, 0:16], x[0:32, 0:16])
        nisa.dma_copy(there.ap([[COLUMNS, 32], [1, COLUMNS]], vector_offset=loaded(index),
                               indirect_dim=0), data)
        nisa.dma_copy(there[32:64, :], loaded(x)[32:64, :])
        return stored(loaded(there))
    index = np.arange(32)[::-1].astype(np.int32)[:, None].copy()
    with pytest.raises(ProgramError, match=r"element .0, 16. of .* and element .0, 16. of 'out', st"):
        run_kernel(kernel, X, index, api="nki")


def test_sums_by_index_are_of_what_is_written() -> None:
    def kernel(x: Any, index: Any) -> Any:
        out = old.ndarray(x.shape, dtype=x.dtype, buffer=old.shared_hbm)
        old.store(out, old.load(x))
        row, column = old.arange(ROWS)[:, None], old.arange(COLUMNS)[None, :]
        data = old.ndarray((ROWS, COLUMNS), dtype=x.dtype, buffer=old.sbuf)
        data[row, old.arange(16)[None, :]] = old.load(x[row, old.arange(16)[None, :]])
        at = old.load(index)
        old.atomic_rmw(out[at[row, 0], column], data, op=np.add)
        return out
    index = np.repeat(np.arange(ROWS // 2), 2).astype(np.int32)[:, None].copy()
    with pytest.raises(ProgramError, match=r"element .0, 16. of .* nothing has written it; write it"):
        run_kernel(kernel, X, index, api="neuronxcc.nki")


def test_a_scatter_of_columns_takes_garbage_along() -> None:
    def kernel(x: Any, index: Any, columns: int) -> Any:
        result = tile((ROWS, COLUMNS))
        nisa.tensor_copy(result.indirect(loaded(index), COLUMNS), half_loaded(x))
        return stored(result[:, COLUMNS - columns:])
    order = np.arange(COLUMNS)[::-1].astype(np.uint16)
    index = np.tile(order.reshape(COLUMNS // 16, 16).T, (ROWS // 16, 1))
    found = run_kernel(kernel, X, index, 16, chip="trn3", api="nki")
    np.testing.assert_array_equal(found, X[:, 0:16][:, ::-1])
    with pytest.raises(ProgramError, match=r"element .0, 16. of .* and element .0, 0. of 'out', sto"):
        run_kernel(kernel, X, index, 17, chip="trn3", api="nki")


def test_garbage_may_not_be_an_index() -> None:
    def kernel(x: Any) -> Any:
        index, result = tile((ROWS, 1), nl.int32), tile((ROWS, COLUMNS))
        nisa.memset(index[0:32, :], 0)
        nisa.dma_copy(result, x.ap([[COLUMNS, ROWS], [1, COLUMNS]], vector_offset=index,
                                   indirect_dim=0))
        return stored(x)
    with pytest.raises(ProgramError, match=r"element .32, 0. of \S+ .sbuf int32.64, 1.. is read, but"):
        run_kernel(kernel, X, api="nki")


def test_garbage_in_an_argument_is_an_error_too() -> None:
    def kernel(x: Any, given: Any, columns: int) -> None:
        nisa.dma_copy(given[:, 0:columns], half_loaded(x)[:, 0:columns])
    given = np.zeros_like(X)
    run_kernel(kernel, X, given, 16, api="nki")
    np.testing.assert_array_equal(given[:, 0:16], X[:, 0:16])
    with pytest.raises(ProgramError, match=r"and element .0, 16. of 'given', stored at"):
        run_kernel(kernel, X, given, 20, api="nki")


def test_elements_of_an_argument_are_counted_in_its_own_type() -> None:
    def kernel(x: Any, given: Any) -> None:
        halves = tile((ROWS, 2 * COLUMNS), nl.uint16)
        nisa.memset(halves[:, 0:41], 0)
        nisa.dma_copy(given.view(nl.uint16), halves)
    with pytest.raises(ProgramError, match=r"element .0, 41. of .* and element .0, 20. of 'given', s"):
        run_kernel(kernel, X, np.zeros_like(X), api="nki")


def test_the_message_names_the_first_of_several_stores() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        data = half_loaded(x)
        nisa.dma_copy(out[0:32, :], data[0:32, :])
        nisa.dma_copy(out[32:64, :], data[32:64, :])
        return out
    line = kernel.__code__.co_firstlineno + 3
    with pytest.raises(ProgramError, match=rf":{line}: element .0, 16. .* 'out', stored at .*:{line},"):
        run_kernel(kernel, X, api="nki")


def test_what_is_overwritten_in_hbm_was_no_error() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, half_loaded(x))
        nisa.dma_copy(out[:, 16:], loaded(x)[:, 16:])
        return out
    np.testing.assert_array_equal(run_kernel(kernel, X, api="nki"), X)


# Microscaling -----------------------------------------------------------------------------------

KIND = "float8_e4m3fn_x4"
DATA = normal(ROWS, 64, kind=np.float16)


def scale_tile(columns: int) -> Any:
    return tile((ROWS, columns), nl.uint8)


def quantized(x: Any, written: int) -> tuple[Any, Any]:
    """The packed elements of a tile of which some columns are written, and their scales."""
    data = tile((ROWS, 64), nl.float16)
    nisa.dma_copy(data[:, 0:written], x[:, 0:written])
    result, scale = tile((ROWS, 16), getattr(nl, KIND)), scale_tile(16)
    nisa.quantize_mx(result, data, scale)
    return result, scale


@pytest.mark.parametrize(("written", "whole"), [(64, 16), (32, 8), (31, 7)])
def test_blocks_with_garbage_are_garbage(written: int, whole: int) -> None:
    def kernel(x: Any, columns: int, part: str) -> Any:
        result, scale = quantized(x, written)
        return stored(result[:, 0:columns] if part == "elements" else scale[0:4, 0:columns])
    for part in ("elements", "scales"):
        run_kernel(kernel, DATA, whole, part, chip="trn3", api="nki")
        if whole < 16:
            with pytest.raises(ProgramError, match=rf"and element .0, {whole}. of 'out', stored at"):
                run_kernel(kernel, DATA, whole + 1, part, chip="trn3", api="nki")


@pytest.mark.parametrize("spoiled", ["stationary", "moving", "stationary_scale", "moving_scale"])
def test_a_product_of_blocks_has_garbage_where_it_depends_on_it(spoiled: str) -> None:
    def kernel(x: Any, rows: int, columns: int) -> Any:
        given = {}
        for role in ("stationary", "moving"):
            given[role], scale = quantized(x, 64)
            given[f"{role}_scale"] = scale
            for name in (role, f"{role}_scale"):
                if name == spoiled:
                    part = tile(given[name].shape, given[name].dtype)
                    nisa.tensor_copy(part[:, 0:12], given[name][:, 0:12], engine=nisa.engine.gpsimd)
                    given[name] = part
        result = tile((16, 16), buffer=nl.psum)
        nisa.nc_matmul_mx(result, **given)
        kept = tile((16, 16))
        nisa.tensor_copy(kept, result)
        return stored(kept[0:rows, 0:columns])
    is_left = spoiled.startswith("stationary")
    part, more = ((12, 16), (13, 16)) if is_left else ((16, 12), (16, 13))
    found = run_kernel(kernel, DATA, *part, chip="trn3", api="nki")
    exact = DATA.astype(np.float32).reshape(ROWS, 16, 4)
    wanted = np.einsum("kiq,kjq->ij", exact, exact)[:part[0], :part[1]]
    assert np.abs(found - wanted).max() < 0.1 * np.abs(wanted).max()
    place = r".12, 0." if is_left else r".0, 12."
    with pytest.raises(ProgramError, match=rf"and element {place} of 'out', stored at"):
        run_kernel(kernel, DATA, *more, chip="trn3", api="nki")


def test_garbage_in_data_and_in_its_scales_adds_up() -> None:
    def kernel(x: Any, columns: int) -> Any:
        whole, scale = quantized(x, 64)
        data, scales = quantized(x, 48)
        part = scale_tile(16)
        nisa.tensor_copy(part[:, 0:14], scale[:, 0:14])
        result, kept = tile((16, 16), buffer=nl.psum), tile((16, 16))
        nisa.nc_matmul_mx(result, whole, data, scale, part)
        nisa.tensor_copy(kept, result)
        return stored(kept[:, 0:columns])
    run_kernel(kernel, DATA, 12, chip="trn3", api="nki")
    with pytest.raises(ProgramError, match=r"and element .0, 12. of 'out', stored at"):
        run_kernel(kernel, DATA, 13, chip="trn3", api="nki")


def padded_with_zeros(x: Any, pads: bool, is_left: bool = True) -> Any:
    """The product of a tile padded with zeros and one padded with nothing."""
    left, right = tile((ROWS, COLUMNS)), tile((ROWS, COLUMNS))
    if pads:
        nisa.memset(left if is_left else right, 0.0)
    for data in (left, right):
        nisa.dma_copy(data[0:32, :], x[0:32, :])
    result = tile((COLUMNS, COLUMNS), buffer=nl.psum)
    nisa.nc_matmul(result, left, right)
    return result


def padded_at_the_right(x: Any, pads: bool) -> Any:
    return padded_with_zeros(x, pads, False)


def blocks_padded_with_zeros(x: Any, pads: bool) -> Any:
    """The same of packed elements and their scales."""
    given = []
    for is_left in (True, False):
        data, scale = quantized(x, 64)
        part, parts = tile((ROWS, 16), data.dtype), scale_tile(16)
        if pads and is_left:
            nisa.memset(part, 0)
            nisa.memset(parts, 0)
        nisa.tensor_copy(part[0:32, :], data[0:32, :], engine=nisa.engine.gpsimd)
        nisa.tensor_copy(parts[0:4, :], scale[0:4, :])
        given.append((part, parts))
    (left, left_scale), (right, right_scale) = given
    result = tile((16, 16), buffer=nl.psum)
    nisa.nc_matmul_mx(result, left, right, left_scale, right_scale)
    return result


@pytest.mark.parametrize(("product", "data", "chip"), [
    (padded_with_zeros, X, "trn2"), (padded_at_the_right, X, "trn2"),
    (blocks_padded_with_zeros, DATA, "trn3")])
def test_garbage_times_zero_is_zero_and_warned_of(product: Callable[..., Any], data: Any,
                                                  chip: str) -> None:
    def kernel(x: Any, pads: bool) -> Any:
        return stored(product(x, pads))
    program = trace(kernel, [data, True], chip, api="nki", values=True)
    half = data.astype(np.float32).reshape(ROWS, -1, data.shape[1] // program.outputs.shape[1])[0:32]
    wanted = np.einsum("kiq,kjq->ij", half, half)
    assert np.abs(program.outputs - wanted).max() < 0.1 * np.abs(wanted).max()
    assert any("what nothing has written is multiplied by 0" in note for note in program.notes)
    with pytest.raises(ProgramError, match=r"element .32, 0. of .* and element .0, 0. of 'out', sto"):
        run_kernel(kernel, data, False, chip=chip, api="nki")


def test_packed_garbage_is_seen_as_such() -> None:
    given = packed(normal(ROWS, 64), dtype(KIND))

    def kernel(x: Any, columns: int) -> Any:
        data, result = tile((ROWS, 16), getattr(nl, KIND)), tile((ROWS, 16), getattr(nl, KIND))
        nisa.dma_copy(data[:, 0:8], x[:, 0:8])
        nisa.dma_copy(result, data)
        return stored(result[:, 0:columns])
    found = run_kernel(kernel, given, 8, chip="trn3", api="nki")
    assert found.tobytes() == np.ascontiguousarray(given[:, 0:8]).tobytes()
    with pytest.raises(ProgramError, match=r"and element .0, 8. of 'out', stored at"):
        run_kernel(kernel, given, 9, chip="trn3", api="nki")
